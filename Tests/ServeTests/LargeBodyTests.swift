import TestOrigin
import Testing

@testable import Serve

@Suite struct LargeBodyTests {
    @Test func `a large page is put together on its way out, whole and in parts`() throws {
        let line =
            "<p><a href=\"https://cdn.test/x?a&amp;b\">one</a> <a href=/local>two</a> and words beside them</p>\n"
        let page = "<!doctype html><head><script>1</script>" + String(repeating: line, count: 20_000)
        let store = try StockedStore([.init(href: "https://example.test/", text: page)])
        var options = MirrorOptions()
        options.hasShim = false
        let server = try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, options: options)
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        let host = "example-test.localhost:\(server.port)"
        let expected = Array(
            page.replacing("https://cdn.test/x?", with: "http://cdn-test.localhost:\(server.port)/x?").utf8)
        for _ in 0..<2 {
            let answer = try client.get("/", host: host, within: .seconds(60))
            #expect(answer.status == 200)
            #expect(answer.body == expected)
        }
        let head = try client.get("/", method: "HEAD", host: host, within: .seconds(60))
        #expect(head["Content-Length"] == "\(expected.count)")
        let part = try client.get(
            "/", host: host, fields: [("Range", "bytes=1000000-1300000")], within: .seconds(60))
        #expect(part.status == 206)
        #expect(part.body == Array(expected[1_000_000...1_300_000]))
        let parts = try client.get("/", host: host, fields: [("Range", "bytes=0-9,-9")], within: .seconds(60))
        #expect(parts["Content-Type"]?.hasPrefix("multipart/byteranges") == true)
        #expect(parts.text.contains("</p>"))
    }
}
