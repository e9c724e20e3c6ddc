import Testing

@testable import Web

struct CachePolicyConclusionTests {
    private static let later = noon.advanced(bySeconds: 100)
    private static let stored = entry(head("Cache-Control: max-age=60", "ETag: \"1\"", "X: old", "Content-Length: 5"))

    private static func answer(_ status: Int, _ fields: HTTPFields) -> CacheAnswer {
        CacheAnswer(status: status, fields: fields, requestTime: later, responseTime: later)
    }

    private static func conclude(
        _ policy: CachePolicy = .protocol, _ outcome: CacheOutcome, _ entry: CacheEntry? = stored,
        request: CacheRequest = .get(), wasConditional: Bool = true, profile: CacheProfile = .private,
        rules: CacheRules = CacheRules()
    ) -> CacheConclusion {
        policy.conclusion(
            of: outcome, for: request, entry: entry, wasConditional: wasConditional, profile: profile, rules: rules,
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
        "every policy has an answer when the origin fails or is not reached, and keeps what is stored",
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
        "what the server forbids decides whether a stale answer may stand in",
        arguments: [
            // response's directives, request's, 503, unreachable; by `auto` unreachable and 503 both count as offline
            ("max-age=60", "", .stored, .stored), ("max-age=60, must-revalidate", "", .received, .gatewayTimeout),
            ("max-age=60, no-cache", "", .received, .gatewayTimeout),
            ("max-age=60, stale-if-error=40", "", .stored, .stored),
            ("max-age=60, stale-if-error=39", "", .received, .gatewayTimeout),
            ("max-age=60, stale-if-error=39", "stale-if-error=40", .stored, .stored),
            ("max-age=60, stale-if-error=99, must-revalidate", "", .received, .gatewayTimeout),
            ("max-age=60", "no-cache", .received, .gatewayTimeout), ("max-age=60", "max-age=0", .stored, .stored),
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
        "a shared cache serves nothing stale that is marked for it",
        arguments: [
            ("s-maxage=60", false), ("max-age=60, proxy-revalidate", false), ("s-maxage=60, stale-if-error=90", true),
            ("max-age=60, proxy-revalidate, stale-if-error=90", false), ("max-age=60", true),
        ]) func shared(text: String, isServed: Bool)
    {
        let stored = entry(head("Cache-Control: \(text)"), profile: .reverseProxy)
        let found = Self.conclude(.protocol, .unreachable, stored, profile: .reverseProxy)
        #expect(found.reply == (isServed ? .stored(stored, .stale) : .gatewayTimeout))
        // What a client would accept does not lift what the server said.
        let patient = Self.conclude(
            .protocol, .unreachable, stored, request: .get(head("Cache-Control: stale-if-error=90")),
            profile: .reverseProxy)
        #expect(patient.reply == found.reply)
    }

    @Test func `what was invalidated stands in for nothing, unless the policy is to serve it however old`() {
        var doubtful = Self.stored
        doubtful.isInvalidated = true
        #expect(Self.conclude(.protocol, .unreachable, doubtful).reply == .gatewayTimeout)
        #expect(Self.conclude(.protocol, .answered(Self.answer(503, [:])), doubtful).reply == .received)
        #expect(Self.conclude(.auto, .unreachable, doubtful).reply == .stored(doubtful, .stale))
        #expect(Self.conclude(.preferCache, .unreachable, doubtful).reply == .stored(doubtful, .stale))
    }

    @Test func `a 304 brings the stored head up to date and its freshness with it`() {
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
                    "Content-Length: 5", "ETag: \"1\"", "X: new", "Y: 1", "Y: 2", "Cache-Control: max-age=90",
                    "Date: @+100"))
        #expect(updated.freshness.isFresh(at: Self.later.advanced(bySeconds: 89)))
        #expect(updated.freshness.age(at: Self.later) == 0)
    }

    @Test(
        "a 304 that names another version confirms nothing",
        arguments: [
            // stored, confirmed
            (head("ETag: \"1\""), head("ETag: \"1\""), true), (head("ETag: \"1\""), head("ETag: \"2\""), false),
            (head("ETag: \"1\""), head("ETag: W/\"1\""), true), (head("ETag: W/\"1\""), head("ETag: \"1\""), false),
            (head("ETag: W/\"1\""), head("ETag: W/\"1\""), true), (head("ETag: \"1\""), head(), true),
            (head("Last-Modified: @-9"), head("Last-Modified: @-9"), true),
            (head("Last-Modified: @-9"), head("Last-Modified: @-8"), false),
            (head("Last-Modified: @-9"), head("Last-Modified: @-10"), false),
            (head("Last-Modified: @-9"), head(), true), (head("Last-Modified: @-9"), head("ETag: \"1\""), false),
        ] as [(HTTPFields, HTTPFields, Bool)])
    func confirmation(stored: HTTPFields, answer: HTTPFields, isConfirmed: Bool) {
        let found = Self.conclude(.protocol, .answered(Self.answer(304, answer)), entry(stored))
        #expect((found.reply == .loadAgain) == !isConfirmed)
        if !isConfirmed { #expect(found.change == .none) }
    }

    @Test func `a 304 to the client's own conditions is the client's`() {
        let request = CacheRequest.get(head("If-None-Match: \"1\""))
        let outcome = CacheOutcome.answered(Self.answer(304, head("ETag: \"1\"")))
        #expect(
            Self.conclude(.protocol, outcome, nil, request: request, wasConditional: false)
                == CacheConclusion(.received))
        // One that nobody asked for is a server's mistake.
        #expect(
            Self.conclude(.protocol, outcome, wasConditional: false) == CacheConclusion(.stored(Self.stored, .stale)))
    }

    @Test func `a new version takes the place of the stored one, and what may not be stored does not`() {
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

    @Test(arguments: [(404, true), (410, true), (301, true), (403, false), (429, false), (500, false), (503, false)])
    func `what speaks of the resource takes the place of a good copy, what speaks of the moment does not`(
        status: Int, isStored: Bool
    ) {
        let found = Self.conclude(.reload, .answered(Self.answer(status, [:])), wasConditional: false)
        #expect(found.reply == .received)
        #expect((found.change != .none) == isStored)
    }

    @Test func `a failure may be stored where there is nothing better, if the server says for how long`() {
        let failure = CacheOutcome.answered(Self.answer(503, head("Cache-Control: max-age=9")))
        #expect(Self.conclude(.protocol, failure, nil).change != .none)
        #expect(Self.conclude(.protocol, failure, entry([:], status: 502)).change != .none)
        #expect(Self.conclude(.protocol, failure).change == .none)
    }

    @Test(
        "a HEAD brings what is stored up to date or shows that it is not",
        arguments: [
            (200, head("X: new"), true), (200, head("ETag: \"1\"", "Content-Length: 5"), true),
            (200, head("ETag: \"2\""), false), (200, head("Content-Length: 6"), false),
            (200, head("Last-Modified: @-5"), false), (404, head(), false), (410, head(), false), (302, head(), nil),
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
        #expect(Self.conclude(.protocol, .answered(Self.answer(200, [:])), nil, request: request).change == .none)
    }

    @Test func `an unsafe request makes what is stored doubtful, unless it failed`() {
        let request = CacheRequest(method: "DELETE", url: webURL("https://example.com/page"))
        let done = Self.conclude(.protocol, .answered(Self.answer(204, [:])), nil, request: request)
        #expect(done == CacheConclusion(.received, invalidated: [request.url]))
        let failed = Self.conclude(.protocol, .answered(Self.answer(500, [:])), nil, request: request)
        #expect(failed == CacheConclusion(.received))
        #expect(
            Self.conclude(.protocol, .unreachable, Self.stored, request: request) == CacheConclusion(.gatewayTimeout))
    }

    @Test func `a part joins parts of its version and never displaces a whole`() {
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
        let whole = first.completed(byteCount: 10)
        #expect(whole.status == 200 && !whole.isPart)
        #expect(whole.fields == head("ETag: \"1\"", "X: new", "Date: @+100", "Content-Length: 10"))
    }

    @Test func `rules decide where an answer is kept and for how long`() throws {
        let rules = CacheRules([
            try CacheRules.Rule("/page type=text/css memory-only max-age=600"),
            try CacheRules.Rule("/page not-allowed"),
        ])
        let style = CacheOutcome.answered(Self.answer(200, head("Content-Type: text/css", "Cache-Control: no-store")))
        guard case .store(let new, .memoryOnly) = Self.conclude(.protocol, style, nil, rules: rules).change else {
            Issue.record("a rule was overlooked")
            return
        }
        #expect(new.freshness.lifetime == 600)
        let page = CacheOutcome.answered(Self.answer(200, head("Content-Type: text/html")))
        #expect(Self.conclude(.protocol, page, nil, rules: rules).change == .none)
    }
}
