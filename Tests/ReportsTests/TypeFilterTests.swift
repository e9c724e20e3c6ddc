import Reports
import Testing

@Suite struct TypeFilterTests {
    @Test(arguments: [
        ("js", "text/javascript", true), ("js", "application/x-javascript", true),
        ("js", "application/json", false),
        ("css", "text/css", true), ("image", "image/avif", true), ("image", "text/html", false),
        ("font", "font/woff2", true), ("font", "application/vnd.ms-fontobject", true),
        ("html", "application/xhtml+xml", true), ("HTML", "text/html", true), ("xml", "image/svg+xml", false),
        ("text/*", "text/plain", true), ("TEXT/HTML", "text/html", true), ("*/*", "text/plain", true),
    ])
    func `a filter matches media types by short name, type or pattern`(
        filter: String, type: String, isWanted: Bool
    ) {
        #expect(TypeFilter(filter)?.matches(type) == isWanted)
    }

    @Test func `a response without a type matches only the pattern for all types`() {
        #expect(TypeFilter("image")?.matches(nil) == false)
        #expect(TypeFilter("*/*")?.matches(nil) == true)
    }

    @Test(arguments: ["", "pictures", "text/", "/html", "*/html", "a b/c", "text/html; charset=utf-8"])
    func `a text that is neither a media type nor a short name is rejected`(text: String) {
        #expect(TypeFilter(text) == nil)
    }

    @Test func `every short name is a filter`() {
        for name in TypeFilter.names { #expect(TypeFilter(name) != nil) }
    }
}
