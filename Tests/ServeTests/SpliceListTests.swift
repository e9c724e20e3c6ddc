import Glibc
import TestOrigin
import Testing

@testable import Serve

@Suite struct SpliceListTests {
    private typealias Edit = (range: Range<Int>, text: [UInt8])

    private static func applied(_ edits: [Edit], to bytes: [UInt8]) -> [UInt8] {
        var output = bytes
        for edit in edits.reversed() { output.replaceSubrange(edit.range, with: edit.text) }
        return output
    }

    @Test(
        arguments: [
            [], [(0, 0, "start")], [(0, 3, "")], [(97, 100, "end")], [(100, 100, "behind")],
            [(10, 60, "x")], [(10, 11, String(repeating: "long", count: 20))],
            [(5, 5, "a"), (5, 9, "b"), (9, 9, "c"), (9, 30, "")], [(0, 100, "all")], [(0, 50, ""), (50, 100, "")],
            [(1, 2, "same"), (4, 7, "same"), (20, 90, "same")],
        ] as [[(Int, Int, String)]])
    func `every part is the one of the body with its replacements`(edits: [(Int, Int, String)]) throws {
        let scratch = try TemporaryFolder()
        let bytes = (0..<100).map { UInt8($0) }
        let path = try scratch.write(bytes, to: "body")
        let file = open(path, O_RDONLY)
        defer { close(file) }
        let edits: [Edit] = edits.map { ($0.0..<$0.1, Array($0.2.utf8)) }
        let list = SpliceList(edits, of: bytes.count)
        let expected = Self.applied(edits, to: bytes)
        #expect(list.byteCount == expected.count)
        for start in expected.indices {
            for end in start..<expected.count {
                let part = list.part(start..<end + 1, of: file)
                #expect(part == Array(expected[start...end]), "\(start)...\(end)")
            }
        }
    }

    @Test func `a file that became shorter gives nothing`() throws {
        let scratch = try TemporaryFolder()
        let file = open(try scratch.write(Array("0123".utf8), to: "body"), O_RDONLY)
        defer { close(file) }
        let list = SpliceList([(2..<3, Array("x".utf8))], of: 10)
        #expect(list.part(0..<4, of: file) == Array("01x3".utf8))
        #expect(list.part(0..<10, of: file) == nil)
    }

    @Test func `what would reach into another is left out`() {
        let list = SpliceList([(2..<5, [1]), (4..<6, [2]), (9..<12, [3])], of: 10)
        #expect(list.byteCount == 8)
    }

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
