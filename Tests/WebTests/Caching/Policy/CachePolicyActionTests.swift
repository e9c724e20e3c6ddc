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
        "every policy has an answer to what is fresh, stale and missing",
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
        for reachability in [Reachability.reachable, .unknown] {
            func action(_ entry: CacheEntry?, _ request: CacheRequest = .get()) -> CacheAction {
                policy.action(for: request, entry: entry, reachability: reachability, now: noon)
            }
            #expect(action(Self.fresh) == fresh)
            #expect(action(Self.stale) == stale)
            #expect(action(nil) == missing)
            #expect(action(Self.part) == missing, "a part is not the whole")
            let head = CacheRequest(method: "HEAD", url: webURL("https://example.com/page"))
            #expect(action(Self.fresh, head) == fresh)
            #expect(action(nil, head) == missing)
        }
    }

    @Test(
        "every policy has an answer when the origin is known to be out of reach",
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
            policy.action(for: .get(), entry: entry, reachability: .unreachable, now: noon)
        }
        #expect(action(Self.fresh) == fresh)
        #expect(action(Self.stale) == stale)
        #expect(action(nil) == missing)
    }

    @Test(
        "no policy uses the network for a request that forbids it",
        arguments: [
            (.protocol, .serve(.fresh), .miss), (.preferCache, .serve(.fresh), .serve(.stale)),
            (.offline, .serve(.fresh), .serve(.stale)), (.reload, .miss, .miss), (.reloadEndToEnd, .miss, .miss),
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
        "what changes something is never sent behind, and answered from the store only where it was recorded",
        arguments: [
            (.protocol, .load(adding: [:]), .load(adding: [:])), (.preferCache, .serve(.fresh), .load(adding: [:])),
            (.offline, .serve(.fresh), .miss), (.reload, .load(adding: [:]), .load(adding: [:])),
            (.reloadEndToEnd, .load(adding: pastAll), .load(adding: pastAll)),
            (.revalidate, .load(adding: [:]), .load(adding: [:])), (.refreshBehind, .serve(.fresh), .load(adding: [:])),
            (.auto, .load(adding: [:]), .load(adding: [:])),
        ] as [(CachePolicy, CacheAction, CacheAction)])
    func post(policy: CachePolicy, recorded: CacheAction, missing: CacheAction) {
        let request = CacheRequest(method: "POST", url: webURL("https://example.com/api"), isRecorded: true)
        #expect(policy.action(for: request, entry: Self.fresh, now: noon) == recorded)
        #expect(policy.action(for: request, entry: nil, now: noon) == missing)
        if policy == .auto {
            let far = policy.action(for: request, entry: Self.fresh, reachability: .unreachable, now: noon)
            #expect(far == .serve(.fresh))
        }
    }

    @Test(
        "the protocol weighs what response and request say",
        arguments: [
            // response, request, seconds later, what to do
            ("max-age=60", "", 59, .serve(.fresh)), ("max-age=60", "", 60, .validate(with: asked)),
            ("max-age=60, no-cache", "", 0, .validate(with: asked)),
            ("max-age=60, no-cache=\"set-cookie\"", "", 0, .serve(.fresh)),
            ("max-age=60", "no-cache", 0, .validate(with: asked)), ("max-age=60", "no-store", 0, .serve(.fresh)),
            ("max-age=60", "max-age=0", 1, .validate(with: asked)), ("max-age=60", "max-age=10", 10, .serve(.fresh)),
            ("max-age=60", "max-age=10", 11, .validate(with: asked)),
            ("max-age=60, immutable", "max-age=0", 9, .serve(.fresh)),
            ("max-age=60, immutable", "no-cache", 9, .validate(with: asked)),
            ("max-age=60, immutable", "", 60, .validate(with: asked)),
            ("max-age=60", "min-fresh=50", 10, .serve(.fresh)),
            ("max-age=60", "min-fresh=50", 11, .validate(with: asked)),
            ("max-age=60", "min-fresh=50", 70, .validate(with: asked)),
            ("max-age=60", "max-stale", 9999, .serve(.stale)), ("max-age=60", "max-stale=10", 70, .serve(.stale)),
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
        let now = noon.advanced(bySeconds: later)
        #expect(CachePolicy.protocol.action(for: request, entry: stored, now: now) == expected)
        #expect(CachePolicy.auto.action(for: request, entry: stored, now: now) == expected)
    }

    @Test func `a shared cache keeps what is marked for it from getting stale`() {
        func action(_ text: String, _ wish: String) -> CacheAction {
            let stored = entry(head("Cache-Control: \(text)", Self.tag), profile: .reverseProxy)
            return CachePolicy.protocol.action(
                for: .get(["Cache-Control": wish]), entry: stored, now: noon.advanced(bySeconds: 61))
        }
        #expect(action("s-maxage=60", "max-stale") == .validate(with: Self.asked))
        #expect(action("max-age=60, proxy-revalidate", "max-stale") == .validate(with: Self.asked))
        #expect(
            action("s-maxage=60, stale-while-revalidate=9", "x") == .serveAndRefresh(.stale, with: Self.asked))
    }

    @Test func `what was invalidated is asked about although it is fresh`() {
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

    @Test func `what has no validator is loaded again`() {
        func action(_ policy: CachePolicy) -> CacheAction {
            policy.action(for: .get(), entry: Self.staleWithoutValidator, now: noon)
        }
        #expect(action(.protocol) == .load(adding: [:]))
        #expect(action(.revalidate) == .load(adding: ["Cache-Control": "max-age=0"]))
        #expect(action(.refreshBehind) == .serveAndRefresh(.stale, with: [:]))
    }

    @Test func `what cannot change is not refreshed behind while it is fresh`() {
        let settled = entry(head("Cache-Control: max-age=60, immutable", Self.tag))
        let later = noon.advanced(bySeconds: 60)
        #expect(CachePolicy.refreshBehind.action(for: .get(), entry: settled, now: noon) == .serve(.fresh))
        #expect(
            CachePolicy.refreshBehind.action(for: .get(), entry: settled, now: later)
                == .serveAndRefresh(.stale, with: Self.asked))
    }

    @Test func `the names are those of the command and the portal`() {
        #expect(
            CachePolicy.allCases.map(\.rawValue) == [
                "protocol", "prefer-cache", "offline", "reload", "reload-end-to-end", "revalidate", "refresh-behind",
                "auto",
            ])
        #expect(StoragePolicy.allCases.map(\.rawValue) == ["allowed", "memory-only", "not-allowed"])
    }

    @Test func `what goes to the server carries our conditions and not the client's`() {
        let request = CacheRequest.get(
            head(
                "Accept: */*", "If-None-Match: \"9\"", "If-Modified-Since: @-5", "Range: bytes=0-1", "If-Range: \"9\"",
                "Connection: keep-alive, x-hop", "X-Hop: 1", "TE: trailers", "Cookie: a=b"))
        #expect(
            request.upstreamFields(Self.asked) == ["Accept": "*/*", "Cookie": "a=b", "If-None-Match": "\"1\""])
        #expect(
            request.upstreamFields([:], keepingRange: true)
                == ["Accept": "*/*", "Range": "bytes=0-1", "If-Range": "\"9\"", "Cookie": "a=b"])
        #expect(request.upstreamFields([:], keepingConditions: true).contains("If-None-Match"))
        let put = CacheRequest(method: "PUT", url: request.url, fields: head("If-Match: \"9\""))
        #expect(put.upstreamFields([:]) == ["If-Match": "\"9\""])
    }
}
