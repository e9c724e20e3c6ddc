import Testing
import Web

@Suite struct PageRequestTests {
    @Test(
        "The form of a page that a script requests consists of the fields that select it",
        arguments: [
            ([("Accept", "application/json")], "accept: application/json"),
            (
                [("accept", "text/html; q=1"), ("HX-Request", "true"), ("HX-Current-URL", "http://a/")],
                "hx-request"
            ),
            (
                [("X-Requested-With", "XMLHttpRequest"), ("X-CSRF-Token", "1"), ("Accept", "*/*")],
                "x-requested-with: XMLHttpRequest"
            ),
            ([("Turbo-Frame", "list"), ("X-Turbo-Request-Id", "7")], "turbo-frame: list"),
            ([("X-Inertia", "true"), ("X-Inertia-Version", "a")], "x-inertia\nx-inertia-version"),
            ([("Accept", "*/*"), ("Authorization", "Bearer 1"), ("X-Sec-Purpose", "prefetch")], nil),
            ([("Referer", "http://a/"), ("User-Agent", "b"), ("Cookie", "c=d")], nil),
        ] as [([(String, String)], String?)])
    func requestedForm(fields: [(String, String)], form: String?) {
        var all = HTTPFields(fields.map { .init(name: $0.0, value: $0.1) })
        all.append("Sec-Fetch-Dest", "empty")
        #expect(all.requestedForm == form)
        all.set("Sec-Fetch-Dest", "document")
        #expect(all.requestedForm == nil)
    }

    @Test(
        "Requests by fetch and XMLHttpRequest are read by a script",
        arguments: [
            ([("Sec-Fetch-Dest", "empty")], true), ([("Sec-Fetch-Dest", "image")], false),
            ([("Accept", "*/*")], true), ([("Accept", "image/avif,*/*")], false), ([], false),
            ([("Accept", "*/*"), ("Upgrade-Insecure-Requests", "1")], false),
        ] as [([(String, String)], Bool)])
    func isReadByScript(fields: [(String, String)], isRead: Bool) throws {
        let request = PageRequest(
            url: try #require(WebURL("http://a/")),
            fields: HTTPFields(fields.map { .init(name: $0.0, value: $0.1) }))
        #expect(request.isReadByScript == isRead)
    }
}
