import Testing

@testable import Web

struct CachePolicyActionTests {
    private static let tag = "ETag: \"1\""
    private static let asked: HTTPFields = ["If-None-Match": "\"1\""]
    private static let pastAll: HTTPFields = ["Cache-Control": "no-cache", "Pragma": "no-cache"]
    private static let endToEnd: HTTPFields = ["If-None-Match": "\"1\"", "Cache-Control": "max-age=0"]

    private static let fresh = entry(head("Cache-Control: max-age=60", tag))
    private static let stale = entry(head("Cache-Control: max-age=0", tag))
    private static let staleWithoutValidator = entry(head("Cache-Control: max-age=0"))
    private static let part = CacheEntry(
        status: 206, fields: fresh.fields, freshness: fresh.freshness, isPart: true)

    @Test(
        "every policy decides about fresh, stale and missing responses",
        arguments: [
            (.protocol, .serve(.fresh), .validate(with: asked), .load(adding: [:])),
            (.preferCache, .serve(.fresh), .serve(.stale), .load(adding: [:])),
            (.offline, .serve(.fresh), .serve(.stale), .miss),
            (.reload, .load(adding: [:]), .load(adding: [:]), .load(adding: [:])),
            (.reloadEndToEnd, .load(adding: pastAll), .load(adding: pastAll), .load(adding: pastAll)),
            (.revalidate, .validate(with: endToEnd), .validate(with: endToEnd), .load(adding: [:])),
            (
                .refreshBehind, .serveAndRefresh(.fresh, with: asked), .serveAndRefresh(.stale, with: asked),
                .load(adding: [:])
            ),
            (.auto, .serve(.fresh), .validate(with: asked), .load(adding: [:])),
        ] as [(CachePolicy, CacheAction, CacheAction, CacheAction)])
    func actions(policy: CachePolicy, fresh: CacheAction, stale: CacheAction, missing: CacheAction) {
        func action(_ entry: CacheEntry?, _ request: CacheRequest = .get()) -> CacheAction {
            policy.action(for: request, entry: entry, now: noon)
        }
        #expect(action(Self.fresh) == fresh)
        #expect(action(Self.stale) == stale)
        #expect(action(nil) == missing)
        #expect(action(Self.part) == missing, "a part is not the whole")
        let head = CacheRequest(method: "HEAD", url: webURL("https://example.com/page"))
        #expect(action(Self.fresh, head) == fresh)
        #expect(action(nil, head) == missing)
    }

    @Test(
        "every policy decides about an origin that did not answer a moment ago",
        arguments: [
            (.protocol, .serve(.fresh), .validate(with: asked), .load(adding: [:])),
            (.preferCache, .serve(.fresh), .serve(.stale), .load(adding: [:])),
            (.offline, .serve(.fresh), .serve(.stale), .miss),
            (.reload, .load(adding: [:]), .load(adding: [:]), .load(adding: [:])),
            (.reloadEndToEnd, .load(adding: pastAll), .load(adding: pastAll), .load(adding: pastAll)),
            (.revalidate, .validate(with: endToEnd), .validate(with: endToEnd), .load(adding: [:])),
            (.refreshBehind, .serve(.fresh), .serve(.stale), .load(adding: [:])),
            (.auto, .serve(.fresh), .serve(.stale), .miss),
        ] as [(CachePolicy, CacheAction, CacheAction, CacheAction)])
    func outOfReach(policy: CachePolicy, fresh: CacheAction, stale: CacheAction, missing: CacheAction) {
        func action(_ entry: CacheEntry?) -> CacheAction {
            policy.action(for: .get(), entry: entry, isOriginSilent: true, now: noon)
        }
        #expect(action(Self.fresh) == fresh)
        #expect(action(Self.stale) == stale)
        #expect(action(nil) == missing)
    }

    @Test(
        "no policy uses the network for a request that forbids it",
        arguments: [
            (.protocol, .serve(.fresh), .miss), (.preferCache, .serve(.fresh), .serve(.stale)),
            (.offline, .serve(.fresh), .serve(.stale)), (.reload, .miss, .miss),
            (.reloadEndToEnd, .miss, .miss),
            (.revalidate, .miss, .miss), (.refreshBehind, .serve(.fresh), .serve(.stale)),
            (.auto, .serve(.fresh), .miss),
        ] as [(CachePolicy, CacheAction, CacheAction)])
    func onlyIfCached(policy: CachePolicy, fresh: CacheAction, stale: CacheAction) {
        let request = CacheRequest.get(head("Cache-Control: only-if-cached"))
        #expect(policy.action(for: request, entry: Self.fresh, now: noon) == fresh)
        #expect(policy.action(for: request, entry: Self.stale, now: noon) == stale)
        #expect(policy.action(for: request, entry: nil, now: noon) == .miss)
    }

    @Test(
        "an unsafe request is never sent in the background, and answered only by its recorded response",
        arguments: [
            (.protocol, .load(adding: [:]), .load(adding: [:])),
            (.preferCache, .serve(.fresh), .load(adding: [:])),
            (.offline, .serve(.fresh), .miss), (.reload, .load(adding: [:]), .load(adding: [:])),
            (.reloadEndToEnd, .load(adding: pastAll), .load(adding: pastAll)),
            (.revalidate, .load(adding: [:]), .load(adding: [:])),
            (.refreshBehind, .serve(.fresh), .load(adding: [:])),
            (.auto, .load(adding: [:]), .load(adding: [:])),
        ] as [(CachePolicy, CacheAction, CacheAction)])
    func post(policy: CachePolicy, recorded: CacheAction, missing: CacheAction) {
        let request = CacheRequest(method: "POST", url: webURL("https://example.com/api"), isRecorded: true)
        #expect(policy.action(for: request, entry: Self.fresh, now: noon) == recorded)
        #expect(policy.action(for: request, entry: nil, now: noon) == missing)
        if policy == .auto {
            let far = policy.action(for: request, entry: Self.fresh, isOriginSilent: true, now: noon)
            #expect(far == .serve(.fresh))
        }
    }

    @Test(
        "the protocol policy combines the directives of response and request",
        arguments: [
            // Cache-Control of the response and of the request, seconds between them, action
            ("max-age=60", "", 59, .serve(.fresh)), ("max-age=60", "", 60, .validate(with: asked)),
            ("max-age=60, no-cache", "", 0, .validate(with: asked)),
            ("max-age=60, no-cache=\"set-cookie\"", "", 0, .serve(.fresh)),
            ("max-age=60", "no-cache", 0, .validate(with: asked)),
            ("max-age=60", "no-store", 0, .serve(.fresh)),
            ("max-age=60", "max-age=0", 1, .validate(with: asked)),
            ("max-age=60", "max-age=10", 10, .serve(.fresh)),
            ("max-age=60", "max-age=10", 11, .validate(with: asked)),
            ("max-age=60, immutable", "max-age=0", 9, .serve(.fresh)),
            ("max-age=60, immutable", "no-cache", 9, .validate(with: asked)),
            ("max-age=60, immutable", "", 60, .validate(with: asked)),
            ("max-age=60", "min-fresh=50", 10, .serve(.fresh)),
            ("max-age=60", "min-fresh=50", 11, .validate(with: asked)),
            ("max-age=60", "min-fresh=50", 70, .validate(with: asked)),
            ("max-age=60", "max-stale", 9999, .serve(.stale)),
            ("max-age=60", "max-stale=10", 70, .serve(.stale)),
            ("max-age=60", "max-stale=10", 71, .validate(with: asked)),
            ("max-age=60", "max-stale=x", 61, .validate(with: asked)),
            ("max-age=60, must-revalidate", "max-stale", 61, .validate(with: asked)),
            ("max-age=60, must-revalidate", "", 59, .serve(.fresh)),
            ("max-age=60", "max-stale, max-age=65", 64, .serve(.stale)),
            ("max-age=60", "max-stale, max-age=65", 66, .validate(with: asked)),
            ("max-age=60, stale-while-revalidate=30", "", 60, .serveAndRefresh(.stale, with: asked)),
            ("max-age=60, stale-while-revalidate=30", "", 90, .serveAndRefresh(.stale, with: asked)),
            ("max-age=60, stale-while-revalidate=30", "", 91, .validate(with: asked)),
            ("max-age=60, stale-while-revalidate=30", "max-age=0", 61, .validate(with: asked)),
            ("max-age=60, stale-while-revalidate=30, must-revalidate", "", 61, .validate(with: asked)),
            ("max-age=60, stale-while-revalidate=x", "", 61, .validate(with: asked)),
        ] as [(String, String, Int64, CacheAction)])
    func byProtocol(response: String, request: String, later: Int64, expected: CacheAction) {
        let stored = entry(head("Cache-Control: \(response)", Self.tag))
        let request = CacheRequest.get(request.isEmpty ? [:] : ["Cache-Control": request])
        let now = noon.adding(seconds: later)
        #expect(CachePolicy.protocol.action(for: request, entry: stored, now: now) == expected)
        #expect(CachePolicy.auto.action(for: request, entry: stored, now: now) == expected)
    }

    @Test func `a shared cache does not serve stale responses with s-maxage`() {
        func action(_ text: String, _ wish: String) -> CacheAction {
            let stored = entry(head("Cache-Control: \(text)", Self.tag), profile: .reverseProxy)
            return CachePolicy.protocol.action(
                for: .get(["Cache-Control": wish]), entry: stored, now: noon.adding(seconds: 61))
        }
        #expect(action("s-maxage=60", "max-stale") == .validate(with: Self.asked))
        #expect(action("max-age=60, proxy-revalidate", "max-stale") == .validate(with: Self.asked))
        #expect(
            action("s-maxage=60, stale-while-revalidate=9", "x") == .serveAndRefresh(.stale, with: Self.asked)
        )
    }

    @Test func `an invalidated response is validated although it is fresh`() {
        var doubtful = Self.fresh
        doubtful.isInvalidated = true
        func action(_ policy: CachePolicy) -> CacheAction {
            policy.action(for: .get(), entry: doubtful, now: noon)
        }
        #expect(action(.protocol) == .validate(with: Self.asked))
        #expect(action(.auto) == .validate(with: Self.asked))
        #expect(action(.offline) == .serve(.stale))
        #expect(action(.refreshBehind) == .serveAndRefresh(.stale, with: Self.asked))
    }

    @Test func `a stale response without a validator is loaded again`() {
        func action(_ policy: CachePolicy) -> CacheAction {
            policy.action(for: .get(), entry: Self.staleWithoutValidator, now: noon)
        }
        #expect(action(.protocol) == .load(adding: [:]))
        #expect(action(.revalidate) == .load(adding: ["Cache-Control": "max-age=0"]))
        #expect(action(.refreshBehind) == .serveAndRefresh(.stale, with: [:]))
    }

    @Test func `a fresh immutable response is not refreshed in the background`() {
        let settled = entry(head("Cache-Control: max-age=60, immutable", Self.tag))
        let later = noon.adding(seconds: 60)
        #expect(CachePolicy.refreshBehind.action(for: .get(), entry: settled, now: noon) == .serve(.fresh))
        #expect(
            CachePolicy.refreshBehind.action(for: .get(), entry: settled, now: later)
                == .serveAndRefresh(.stale, with: Self.asked))
    }

    @Test func `the raw values are the names in the command and the portal`() {
        #expect(
            CachePolicy.allCases.map(\.rawValue) == [
                "protocol", "prefer-cache", "offline", "reload", "reload-end-to-end", "revalidate",
                "refresh-behind",
                "auto",
            ])
        #expect(StoragePolicy.allCases.map(\.rawValue) == ["allowed", "memory-only", "not-allowed"])
    }

    @Test func `a request to the origin has Larder's conditions instead of the client's`() {
        let request = CacheRequest.get(
            head(
                "Accept: */*", "If-None-Match: \"9\"", "If-Modified-Since: @-5", "Range: bytes=0-1",
                "If-Range: \"9\"",
                "Connection: keep-alive, x-hop", "X-Hop: 1", "TE: trailers", "Cookie: a=b"))
        #expect(
            request.upstreamFields(Self.asked) == [
                "Accept": "*/*", "Cookie": "a=b", "If-None-Match": "\"1\"",
            ])
        #expect(
            request.upstreamFields([:], keepingRange: true)
                == ["Accept": "*/*", "Range": "bytes=0-1", "If-Range": "\"9\"", "Cookie": "a=b"])
        #expect(request.upstreamFields([:], keepingConditions: true).contains("If-None-Match"))
        let put = CacheRequest(method: "PUT", url: request.url, fields: head("If-Match: \"9\""))
        #expect(put.upstreamFields([:]) == ["If-Match": "\"9\""])
    }
}

struct CachePolicyConclusionTests {
    private static let later = noon.adding(seconds: 100)
    private static let stored = entry(
        head("Cache-Control: max-age=60", "ETag: \"1\"", "X: old", "Content-Length: 5"))

    private static func answer(_ status: Int, _ fields: HTTPFields) -> OriginResponse {
        OriginResponse(status: status, fields: fields, requestTime: later, responseTime: later)
    }

    private static func conclude(
        _ policy: CachePolicy = .protocol, _ outcome: CacheOutcome, _ entry: CacheEntry? = stored,
        request: CacheRequest = .get(), wasConditional: Bool = true, profile: CacheProfile = .private,
        rules: CacheRules = CacheRules()
    ) -> CacheConclusion {
        policy.conclusion(
            of: outcome, for: request, entry: entry, wasConditional: wasConditional, profile: profile,
            rules: rules,
            now: later)
    }

    enum Reply: Sendable, Equatable { case received, stored, gatewayTimeout, other }

    private static func kind(_ conclusion: CacheConclusion) -> Reply {
        switch conclusion.reply {
        case .received: .received
        case .stored(let entry, .stale): entry == stored ? .stored : .other
        case .stored, .loadAgain: .other
        case .gatewayTimeout: .gatewayTimeout
        }
    }

    @Test(
        "every policy decides about failed requests, and never discards the stored response",
        arguments: [
            // 503, 500, unreachable
            (.protocol, .stored, .stored, .stored), (.preferCache, .stored, .stored, .stored),
            (.offline, .stored, .stored, .stored), (.reload, .received, .received, .gatewayTimeout),
            (.reloadEndToEnd, .received, .received, .gatewayTimeout),
            (.revalidate, .received, .received, .gatewayTimeout), (.refreshBehind, .stored, .stored, .stored),
            (.auto, .stored, .stored, .stored),
        ] as [(CachePolicy, Reply, Reply, Reply)])
    func failures(policy: CachePolicy, unavailable: Reply, broken: Reply, unreachable: Reply) {
        let cases: [(CacheOutcome, Reply)] = [
            (.answered(Self.answer(503, head("Cache-Control: max-age=60"))), unavailable),
            (.answered(Self.answer(500, [:])), broken), (.unreachable, unreachable),
        ]
        for (outcome, expected) in cases {
            let found = Self.conclude(policy, outcome)
            #expect(Self.kind(found) == expected)
            #expect(found.change == .none)
        }
        #expect(Self.kind(Self.conclude(policy, .unreachable, nil)) == .gatewayTimeout)
        #expect(Self.kind(Self.conclude(policy, .answered(Self.answer(503, [:])), nil)) == .received)
    }

    @Test(
        "directives determine whether a stale response may replace a failed one",
        arguments: [
            // Directives of the response and of the request, result for 503 and if unreachable; for `auto`, both count as
            // offline
            ("max-age=60", "", .stored, .stored),
            ("max-age=60, must-revalidate", "", .received, .gatewayTimeout),
            ("max-age=60, no-cache", "", .received, .gatewayTimeout),
            ("max-age=60, stale-if-error=40", "", .stored, .stored),
            ("max-age=60, stale-if-error=39", "", .received, .gatewayTimeout),
            ("max-age=60, stale-if-error=39", "stale-if-error=40", .stored, .stored),
            ("max-age=60, stale-if-error=99, must-revalidate", "", .received, .gatewayTimeout),
            ("max-age=60", "no-cache", .received, .gatewayTimeout),
            ("max-age=60", "max-age=0", .stored, .stored),
        ] as [(String, String, Reply, Reply)])
    func staleIfError(response: String, request: String, unavailable: Reply, unreachable: Reply) {
        let stored = entry(head("Cache-Control: \(response)", "ETag: \"1\""))
        let request = CacheRequest.get(request.isEmpty ? [:] : ["Cache-Control": request])
        func kind(_ policy: CachePolicy, _ outcome: CacheOutcome) -> Reply {
            let reply = Self.conclude(policy, outcome, stored, request: request).reply
            if reply == .stored(stored, .stale) { return .stored }
            return reply == .received ? .received : reply == .gatewayTimeout ? .gatewayTimeout : .other
        }
        let failure = CacheOutcome.answered(Self.answer(503, [:]))
        #expect(kind(.protocol, failure) == unavailable)
        #expect(kind(.protocol, .unreachable) == unreachable)
        #expect(kind(.auto, failure) == .stored)
        #expect(kind(.auto, .unreachable) == .stored)
        #expect(kind(.auto, .answered(Self.answer(500, [:]))) == unavailable)
    }

    @Test(
        "a shared cache serves no stale response with s-maxage",
        arguments: [
            ("s-maxage=60", false), ("max-age=60, proxy-revalidate", false),
            ("s-maxage=60, stale-if-error=90", true),
            ("max-age=60, proxy-revalidate, stale-if-error=90", false), ("max-age=60", true),
        ]) func shared(text: String, isServed: Bool)
    {
        let stored = entry(head("Cache-Control: \(text)"), profile: .reverseProxy)
        let found = Self.conclude(.protocol, .unreachable, stored, profile: .reverseProxy)
        #expect(found.reply == (isServed ? .stored(stored, .stale) : .gatewayTimeout))
        // The request cannot override the directives of the response.
        let patient = Self.conclude(
            .protocol, .unreachable, stored, request: .get(head("Cache-Control: stale-if-error=90")),
            profile: .reverseProxy)
        #expect(patient.reply == found.reply)
    }

    @Test
    func `an invalidated response does not replace a failed one, except under policies that ignore age`() {
        var doubtful = Self.stored
        doubtful.isInvalidated = true
        #expect(Self.conclude(.protocol, .unreachable, doubtful).reply == .gatewayTimeout)
        #expect(Self.conclude(.protocol, .answered(Self.answer(503, [:])), doubtful).reply == .received)
        #expect(Self.conclude(.auto, .unreachable, doubtful).reply == .stored(doubtful, .stale))
        #expect(Self.conclude(.preferCache, .unreachable, doubtful).reply == .stored(doubtful, .stale))
    }

    @Test func `a 304 updates the stored header fields and the freshness`() {
        let found = Self.conclude(
            .protocol,
            .answered(
                Self.answer(
                    304,
                    head(
                        "ETag: \"1\"", "X: new", "Y: 1", "Y: 2", "Content-Length: 0", "Connection: z", "Z: 1",
                        "Content-Encoding: gzip", "Cache-Control: max-age=90"))))
        guard case .stored(let updated, .validated) = found.reply else {
            Issue.record("\(found.reply)")
            return
        }
        #expect(found.change == .update(updated))
        #expect(updated.status == 200)
        #expect(
            updated.fields
                == head(
                    "Cache-Control: max-age=90", "ETag: \"1\"", "X: new", "Content-Length: 5", "Y: 1", "Y: 2",
                    "Date: @+100"))
        #expect(updated.freshness.isFresh(at: Self.later.adding(seconds: 89)))
        #expect(updated.freshness.age(at: Self.later) == 0)
    }

    @Test(
        "a 304 for another version does not confirm the stored one",
        arguments: [
            // stored, confirmed
            (head("ETag: \"1\""), head("ETag: \"1\""), true),
            (head("ETag: \"1\""), head("ETag: \"2\""), false),
            (head("ETag: \"1\""), head("ETag: W/\"1\""), true),
            (head("ETag: W/\"1\""), head("ETag: \"1\""), true),
            (head("ETag: W/\"1\""), head("ETag: \"2\""), false),
            (head("ETag: W/\"1\""), head("ETag: W/\"1\""), true), (head("ETag: \"1\""), head(), true),
            (head("Last-Modified: @-9"), head("Last-Modified: @-9"), true),
            (head("Last-Modified: @-9"), head("Last-Modified: @-8"), false),
            (head("Last-Modified: @-9"), head("Last-Modified: @-10"), false),
            (head("Last-Modified: @-9"), head(), true),
            (head("Last-Modified: @-9"), head("ETag: \"1\""), false),
        ] as [(HTTPFields, HTTPFields, Bool)])
    func confirmation(stored: HTTPFields, answer: HTTPFields, isConfirmed: Bool) {
        let found = Self.conclude(.protocol, .answered(Self.answer(304, answer)), entry(stored))
        #expect((found.reply == .loadAgain) == !isConfirmed)
        if !isConfirmed { #expect(found.change == .none) }
    }

    @Test func `a 304 to the client's own conditions is passed on`() {
        let request = CacheRequest.get(head("If-None-Match: \"1\""))
        let outcome = CacheOutcome.answered(Self.answer(304, head("ETag: \"1\"")))
        #expect(
            Self.conclude(.protocol, outcome, nil, request: request, wasConditional: false)
                == CacheConclusion(.received))
        // A 304 to an unconditional request is an error of the server.
        #expect(
            Self.conclude(.protocol, outcome, wasConditional: false)
                == CacheConclusion(.stored(Self.stored, .stale)))
    }

    @Test func `a new version replaces the stored one unless it may not be stored`() {
        let plain = Self.conclude(.protocol, .answered(Self.answer(200, head("X: 1", "Connection: close"))))
        guard case .store(let new, .allowed) = plain.change else {
            Issue.record("\(plain.change)")
            return
        }
        #expect(plain.reply == .received)
        #expect(new.fields == head("X: 1", "Date: @+100"))
        let secret = Self.conclude(.protocol, .answered(Self.answer(200, head("Cache-Control: no-store"))))
        #expect(secret == CacheConclusion(.received))
        let quiet = CacheRequest.get(head("Cache-Control: no-store"))
        #expect(
            Self.conclude(.protocol, .answered(Self.answer(304, [:])), request: quiet).change == .none)
    }

    @Test(arguments: [
        (404, true), (410, true), (301, true), (403, false), (429, false), (500, false), (503, false),
    ])
    func `only a status about the resource, not a temporary one, replaces a good response`(
        status: Int, isStored: Bool
    ) {
        let found = Self.conclude(.reload, .answered(Self.answer(status, [:])), wasConditional: false)
        #expect(found.reply == .received)
        #expect((found.change != .none) == isStored)
    }

    @Test func `an error with a lifetime is stored if there is no good response`() {
        let failure = CacheOutcome.answered(Self.answer(503, head("Cache-Control: max-age=9")))
        #expect(Self.conclude(.protocol, failure, nil).change != .none)
        #expect(Self.conclude(.protocol, failure, entry([:], status: 502)).change != .none)
        #expect(Self.conclude(.protocol, failure).change == .none)
    }

    @Test(
        "a HEAD response updates or invalidates the stored response",
        arguments: [
            (200, head("X: new"), true), (200, head("ETag: \"1\"", "Content-Length: 5"), true),
            (200, head("ETag: \"2\""), false), (200, head("Content-Length: 6"), false),
            (200, head("Last-Modified: @-5"), false), (404, head(), false), (410, head(), false),
            (302, head(), nil),
            (403, head(), nil),
        ] as [(Int, HTTPFields, Bool?)])
    func byHead(status: Int, fields: HTTPFields, isConfirmed: Bool?) {
        let request = CacheRequest(method: "HEAD", url: webURL("https://example.com/page"))
        let found = Self.conclude(
            .protocol, .answered(Self.answer(status, fields)), request: request, wasConditional: false)
        #expect(found.reply == .received)
        switch found.change {
        case .update(let updated): #expect(updated.isInvalidated == !(isConfirmed ?? true))
        case .none: #expect(isConfirmed == nil)
        case .store, .extend: Issue.record("a HEAD has no body")
        }
        if isConfirmed == true { #expect(found.change != .none) }
        #expect(
            Self.conclude(.protocol, .answered(Self.answer(200, [:])), nil, request: request).change == .none)
    }

    @Test func `a successful unsafe request invalidates the stored response`() {
        let request = CacheRequest(method: "DELETE", url: webURL("https://example.com/page"))
        let done = Self.conclude(.protocol, .answered(Self.answer(204, [:])), nil, request: request)
        #expect(done == CacheConclusion(.received, invalidated: [request.url]))
        let failed = Self.conclude(.protocol, .answered(Self.answer(500, [:])), nil, request: request)
        #expect(failed == CacheConclusion(.received))
        #expect(
            Self.conclude(.protocol, .unreachable, Self.stored, request: request)
                == CacheConclusion(.gatewayTimeout))
    }

    @Test func `a part extends parts of its version and never replaces a complete body`() {
        var profile = CacheProfile.private
        profile.storesParts = true
        let part = head("Content-Range: bytes 5-9/10", "ETag: \"1\"", "X: new")
        func change(_ fields: HTTPFields, _ stored: CacheEntry?) -> CacheConclusion.Change {
            Self.conclude(.protocol, .answered(Self.answer(206, fields)), stored, profile: profile).change
        }
        var held = Self.stored
        held.isPart = true
        guard case .extend(let joined) = change(part, held), case .update = change(part, Self.stored),
            case .store(let first, _) = change(part, nil),
            case .store = change(head("Content-Range: bytes 5-9/10", "ETag: \"2\""), held)
        else {
            Issue.record("a part was not stored as it should")
            return
        }
        #expect(joined.isPart && first.isPart)
        #expect(joined.fields["X"] == "new")
        #expect(change(head("Content-Range: bytes 5-9/10", "ETag: \"2\""), Self.stored) == .none)
        let whole = first.completing(byteCount: 10)
        #expect(whole.status == 200 && !whole.isPart)
        #expect(whole.fields == head("ETag: \"1\"", "X: new", "Date: @+100", "Content-Length: 10"))
    }

    @Test func `rules decide where and for how long a response is stored`() throws {
        let rules = CacheRules([
            try CacheRules.Rule("/page type=text/css memory-only max-age=600"),
            try CacheRules.Rule("/page not-allowed"),
        ])
        let style = CacheOutcome.answered(
            Self.answer(200, head("Content-Type: text/css", "Cache-Control: no-store")))
        guard case .store(let new, .memoryOnly) = Self.conclude(.protocol, style, nil, rules: rules).change
        else {
            Issue.record("a rule was overlooked")
            return
        }
        #expect(new.freshness.lifetime == 600)
        let page = CacheOutcome.answered(Self.answer(200, head("Content-Type: text/html")))
        #expect(Self.conclude(.protocol, page, nil, rules: rules).change == .none)
    }
}
