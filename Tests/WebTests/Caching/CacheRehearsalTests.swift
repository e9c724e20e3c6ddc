import Testing

@testable import Web

/// Sequences of requests to a reverse proxy, each with the response that the origin would send.
struct CacheRehearsalTests {
    struct Step: Sendable {
        var after: Int64
        var method = "GET"
        var path = "/page"
        var request: HTTPFields = [:]
        /// The status of the origin's response; nil if the origin is unreachable.
        var status: Int?
        var response: HTTPFields = [:]
        var source: RehearsedCache.Source
        var answer = 200
    }

    struct Scene: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]

        init(_ description: String, _ steps: Step...) { (testDescription, self.steps) = (description, steps) }
    }

    private static func first(_ response: HTTPFields, _ request: HTTPFields = [:], _ status: Int = 200)
        -> Step
    {
        Step(after: 0, request: request, status: status, response: response, source: .network, answer: status)
    }

    private static func then(
        _ after: Int64, _ source: RehearsedCache.Source, _ answer: Int = 200, _ request: HTTPFields = [:],
        origin: Int? = 200, _ response: HTTPFields = [:]
    ) -> Step {
        Step(
            after: after, request: request, status: origin, response: response, source: source, answer: answer
        )
    }

    private static func change(
        _ method: String, _ status: Int, _ response: HTTPFields = [:], after: Int64 = 1
    ) -> Step {
        Step(
            after: after, method: method, status: status, response: response, source: .network, answer: status
        )
    }

    private static func other(_ path: String, _ after: Int64, _ source: RehearsedCache.Source) -> Step {
        Step(
            after: after, path: path, status: 200, response: head("Cache-Control: max-age=60"), source: source
        )
    }

    private static let minute = head("Cache-Control: max-age=60", "ETag: \"1\"")

    @Test(arguments: [
        Scene(
            "fresh, then stale and confirmed, then fresh again", first(minute), then(59, .hit),
            then(60, .validated, origin: 304, minute), then(119, .hit),
            then(120, .validated, origin: 304, minute)),
        Scene("stale and changed", first(minute), then(60, .network, origin: 200, minute), then(119, .hit)),
        Scene("nothing said, no validator: asked each time", first([:]), then(1, .network)),
        Scene("no-store", first(head("Cache-Control: no-store, max-age=60")), then(1, .network)),
        Scene("private", first(head("Cache-Control: private, max-age=60")), then(1, .network)),
        Scene(
            "no-cache is stored and validated", first(head("Cache-Control: no-cache", "ETag: \"1\"")),
            then(1, .validated, origin: 304)),
        Scene("Expires in the past", first(head("Expires: @-9", "Date: @+0")), then(0, .network)),
        Scene("Age beyond max-age", first(head("Age: 90", "Cache-Control: max-age=60")), then(0, .network)),
        Scene(
            "s-maxage overrides max-age", first(head("Cache-Control: max-age=60, s-maxage=1")),
            then(1, .network)),
        Scene(
            "CDN-Cache-Control overrides both",
            first(head("CDN-Cache-Control: max-age=60", "Cache-Control: no-store")),
            then(59, .hit), then(60, .network)),
        Scene(
            "CDN-Cache-Control: private",
            first(head("CDN-Cache-Control: private", "Cache-Control: max-age=60")),
            then(1, .network)),
        Scene(
            "a heuristic lifetime from Last-Modified", first(head("Last-Modified: @-1000", "Date: @+0")),
            then(99, .hit),
            then(100, .validated, origin: 304, head("Last-Modified: @-1000"))),
        Scene("no guess for 503", first(head("Last-Modified: @-1000"), [:], 503), then(1, .network)),
        Scene("a guess for 404", first(head("Last-Modified: @-1000"), [:], 404), then(1, .hit, 404)),
        Scene("503 that says how long", first(minute, [:], 503), then(1, .hit, 503), then(60, .network)),
        Scene("Authorization", first(minute, head("Authorization: x")), then(1, .network)),
        Scene(
            "Authorization and public",
            first(head("Cache-Control: public, max-age=60"), head("Authorization: x")),
            then(1, .hit)),
        Scene("unreachable, stale", first(minute), then(60, .stale, origin: nil)),
        Scene("503, stale", first(minute), then(60, .stale, origin: 503), then(61, .validated, origin: 304)),
        Scene(
            "unreachable, must-revalidate", first(head("Cache-Control: max-age=60, must-revalidate")),
            then(59, .hit, origin: nil), then(60, .timeout, 504, origin: nil)),
        Scene(
            "unreachable, proxy-revalidate", first(head("Cache-Control: max-age=60, proxy-revalidate")),
            then(60, .timeout, 504, origin: nil)),
        Scene(
            "unreachable, s-maxage", first(head("Cache-Control: s-maxage=60")),
            then(60, .timeout, 504, origin: nil)),
        Scene(
            "unreachable, no-cache", first(head("Cache-Control: max-age=60, no-cache")),
            then(1, .timeout, 504, origin: nil)),
        Scene(
            "stale-while-revalidate refreshes in the background within its window",
            first(head("Cache-Control: max-age=1, stale-while-revalidate=4", "ETag: \"1\"")),
            then(5, .refreshing, origin: 304, head("ETag: \"1\"")), then(5, .hit),
            then(11, .validated, origin: 304, head("ETag: \"1\""))),
        Scene(
            "a background refresh stores a new version",
            first(head("Cache-Control: max-age=1, stale-while-revalidate=9")),
            then(5, .refreshing, origin: 200, minute), then(6, .hit)),
        Scene(
            "stale-if-error, within its window", first(head("Cache-Control: max-age=60, stale-if-error=10")),
            then(70, .stale, origin: 502), then(71, .network, 502, origin: 502),
            then(71, .timeout, 504, origin: nil)),
        Scene(
            "only-if-cached", then(0, .timeout, 504, head("Cache-Control: only-if-cached")), first(minute),
            then(1, .hit, 200, head("Cache-Control: only-if-cached"))),
        Scene(
            "a reload", first(minute), then(1, .validated, 200, head("Cache-Control: no-cache"), origin: 304)),
        Scene(
            "Pragma of a request", first(minute),
            then(1, .validated, 200, head("Pragma: no-cache"), origin: 304)),
        Scene(
            "two variants are stored side by side",
            first(head("Vary: Foo", "Cache-Control: max-age=60"), head("Foo: 1")),
            then(1, .network, 200, head("Foo: 2"), head("Vary: Foo", "Cache-Control: max-age=60")),
            then(2, .hit, 200, head("Foo: 1")), then(2, .hit, 200, head("Foo: 2")), then(2, .network)),
        Scene("Vary: *", first(head("Vary: *", "Cache-Control: max-age=60")), then(1, .network)),
        Scene(
            "POST that succeeds", first(minute), change("POST", 200),
            then(2, .validated, origin: 304, minute),
            then(3, .hit)),
        Scene("DELETE that fails", first(minute), change("DELETE", 500), then(2, .hit)),
        Scene("a method that nobody knows", first(minute), change("M-SEARCH", 200), then(2, .network)),
        Scene("OPTIONS changes nothing", first(minute), change("OPTIONS", 200), then(2, .hit)),
        Scene(
            "Location of a POST", other("/a", 0, .network), other("/b", 0, .network), other("/a", 1, .hit),
            change("POST", 201, head("Location: /a", "Content-Location: b")), other("/a", 2, .network),
            other("/b", 2, .network)),
        Scene(
            "Location on another origin", first(minute), other("/a", 0, .network),
            change("POST", 201, head("Location: https://evil.example/a")), other("/a", 2, .hit)),
        Scene(
            "a HEAD response with a new version", first(minute),
            change("HEAD", 200, head("ETag: \"2\"", "Cache-Control: max-age=60"), after: 60),
            then(61, .network)),
        Scene(
            "a HEAD response with the same version", first(minute), change("HEAD", 200, minute, after: 60),
            then(61, .hit)),
        Scene(
            "the stored response to GET answers HEAD", first(minute),
            Step(after: 1, method: "HEAD", status: 200, source: .hit)),
        Scene(
            "a client's condition on a fresh response", first(minute),
            then(1, .hit, 304, head("If-None-Match: W/\"1\"")),
            then(1, .hit, 200, head("If-None-Match: \"2\"")),
            then(1, .hit, 304, head("If-None-Match: \"1\"", "If-Modified-Since: @-9"))),
        Scene(
            "a client's condition on a stale response", first(minute),
            then(60, .validated, 304, head("If-None-Match: \"1\""), origin: 304, minute)),
        Scene(
            "a 304 that names another version", first(minute),
            then(60, .network, origin: 304, head("ETag: \"2\"", "Cache-Control: max-age=9")), then(61, .hit)),
        Scene(
            "an error does not replace a good response", first(minute), then(60, .stale, origin: 503, minute),
            then(61, .stale, origin: 500), then(62, .validated, origin: 304)),
        Scene(
            "a 410 replaces the stored response", first(minute), then(60, .network, 410, origin: 410, minute),
            then(61, .hit, 410)),
    ]) func `a reverse proxy serves, validates or loads`(scene: Scene) {
        var cache = RehearsedCache()
        for (index, step) in scene.steps.enumerated() {
            let request = CacheRequest(
                method: step.method, url: webURL("https://example.com\(step.path)"), fields: step.request)
            let found = cache.answer(
                request, at: noon.adding(seconds: step.after),
                origin: step.status.map { ($0, step.response) })
            #expect(found.source == step.source, "step \(index)")
            if step.source != .network { #expect(found.status == step.answer, "step \(index)") }
        }
    }

    @Test func `a response from the store has its age and the origin's date`() {
        var cache = RehearsedCache()
        let response = head("Age: 30", "Date: @-40", "Expires: @+600", "X: 1")
        _ = cache.answer(.get(), at: noon, origin: (200, response))
        let found = cache.answer(.get(), at: noon.adding(seconds: 3), origin: nil)
        #expect(found.fields == head("Age: 43", "Date: @-40", "Expires: @+600", "X: 1"))
    }

    @Test func `a 304 has the fields for caches and none about the body`() {
        let stored = entry(
            head(
                "ETag: \"1\"", "Content-Type: text/html", "Content-Length: 5", "Vary: A",
                "Cache-Control: max-age=9"))
        func answer(_ fields: HTTPFields, _ entry: CacheEntry = stored) -> (status: Int, fields: HTTPFields) {
            entry.servedHead(to: .get(fields), at: noon, as: .origin)
        }
        let unmodified = answer(head("If-None-Match: \"1\""))
        #expect(unmodified.status == 304)
        #expect(unmodified.fields == head("ETag: \"1\"", "Vary: A", "Cache-Control: max-age=9", "Age: 0"))
        #expect(answer(head("If-Match: \"2\"")).status == 412)
        #expect(answer(head("If-None-Match: \"2\"")).status == 200)
        let gone = entry(head("ETag: \"1\""), status: 410)
        #expect(answer(head("If-None-Match: \"1\""), gone).status == 410)
    }

    @Test func `a request to the origin has the fields that select the variant`() {
        var cache = RehearsedCache()
        let request = CacheRequest.get(head("Abc: 123", "If-None-Match: \"9\""))
        _ = cache.answer(
            request, at: noon, origin: (200, head("Vary: Abc", "ETag: \"1\"", "Cache-Control: max-age=1")))
        let found = cache.answer(request, at: noon.adding(seconds: 1), origin: (304, head("ETag: \"1\"")))
        #expect(found.sent == head("Abc: 123", "If-None-Match: \"1\""))
        #expect(found.source == .validated)
    }
}
