import Testing

@testable import Markup

@Suite struct NamedFilesTests {
    private static func addresses(_ script: String) -> [String] {
        NamedFiles.addresses(in: Array(script.utf8).span).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [
        ("\"http://a.test/b.png\"", ["http://a.test/b.png"]),
        ("x='https://a.test/b.js';y=`//a.test/c.css`", ["https://a.test/b.js", "//a.test/c.css"]),
        (#""https:\/\/a.test\/b.png""#, ["https://a.test/b.png"]),
        (#""\/\/a.test\/b.png""#, ["//a.test/b.png"]),
        ("'//a.test/b.png''//a.test/b.png'", ["//a.test/b.png", "//a.test/b.png"]),
        ("\"word\"//a.test/b.png\"", ["//a.test/b.png"]),
        ("\"http://a.test/b.png", []), ("http://a.test/b.png\"", []), ("\"ftp://a.test/b.png\"", []),
        ("\"///a.test/b.png\"", []), ("\"/a.test/b.png\"", []), ("\"http://a.test/ b.png\"", []),
        ("\"http://a.test/${b}.png\"", []), ("\"http://a.test/b.png'", []), ("//", []), ("\"//", []),
        ("\"//\"", []),
        ("\\//", []), ("", []), ("\"http:/", []),
    ])
    func `absolute URLs of files in strings are found`(script: String, files: [String]) {
        #expect(Self.addresses(script) == files)
        for length in 0..<script.utf8.count {
            _ = Self.addresses(String(decoding: script.utf8.prefix(length), as: UTF8.self))
        }
    }
}
