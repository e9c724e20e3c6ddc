import Testing

@testable import Markup

@Suite struct LocationReadTests {
    private static let bare = "self[self.larder$||'location']"
    private static let read = "[window.larder$||\"location\"]"

    @Test(arguments: [
        ("window.location.href", "window\(read).href"),
        ("a\nwindow.location='x'", "a\nwindow\(read)='x'"),
        ("let{pathname:a}=e.location;", "let{pathname:a}=e[e.larder$||\"location\"];"),
        ("`${window.location.hash}`", "`${window\(read).hash}`"),
        ("t=$_.location", "t=$_[$_.larder$||\"location\"]"),
        ("!window.location||n(window.location)", "!window\(read)||n(window\(read))"),
        ("f()\nlocation.href='x'", "f()\n\(bare).href='x'"),
        (
            "typeof location!=='undefined'&&location . pathname",
            "typeof location!=='undefined'&&\(bare) . pathname"
        ),
        (
            "a({location:e.location}),location['hash']",
            "a({location:e[e.larder$||\"location\"]}),\(bare)['hash']"
        ),
    ])
    func `reads of the page's location are replaced`(script: String, changed: String) {
        let bytes = Array(script.utf8)
        let changes = LocationReads.changes(in: bytes.span)
        let text = Patch(changes, of: bytes.count).apply(to: bytes)
        #expect(String(decoding: text, as: UTF8.self) == changed)
        #expect(LocationReads.removingChanges(text) == bytes)
    }

    @Test(arguments: [
        "this.location", "a.b.location", "a?.location", "f().location", "a[0].location", "location",
        "location='x'",
        "function f(location){return location.href}", "const{location}=r;location.pathname",
        "location=>location.x",
        "let location;location.x", "this.#location.href", "go(location,location.href)", "case location:",
        "({location(){}}),location.x",
        "parent.location", "top.location", "'window.location'", "/window.location/", "// window.location",
        "window.locations", "({location:1})", "...location", "#a.location", "1..location", ".location", "",
        "import.meta.location", "window .location", "\u{E9}.location", "`window.location`",
    ])
    func `other uses of the name location are unchanged`(script: String) {
        #expect(LocationReads.changes(in: Array(script.utf8).span).isEmpty)
        #expect(LocationReads.removingChanges(Array(script.utf8)) == Array(script.utf8))
    }

    @Test(arguments: [
        ".larder$||\"location\"]", "a.larder$||\"location\"]", "[.larder$||\"location\"", "[[[",
    ])
    func `removing changes from a script without changes is harmless`(script: String) {
        _ = LocationReads.removingChanges(Array(script.utf8))
    }
}
