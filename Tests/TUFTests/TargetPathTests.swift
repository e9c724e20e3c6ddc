import TUF
import Testing

@Suite struct TargetPathTests {
    @Test(arguments: [
        ("a.js", "a.js", "HASH.a.js"), ("dir/sub/a.js", "dir/sub/a.js", "dir/sub/HASH.a.js"),
        ("a b#1?.js", "a%20b%231%3F.js", "HASH.a b#1?.js"), ("50%.txt", "50%25.txt", "HASH.50%.txt"),
        ("a:b/c", "a%3Ab/c", "a:b/HASH.c"), ("ü.js", "%C3%BC.js", "HASH.ü.js"),
        ("*.[x]", "%2A.%5Bx%5D", "HASH.*.[x]"), ("a\\b\n", "a%5Cb%0A", "HASH.a\\b\n"),
        ("@scope/x+y.js", "@scope/x+y.js", "@scope/HASH.x+y.js"),
        ("a/\u{308}b", "a/%CC%88b", "a/HASH.\u{308}b"),
    ])
    func `a file's path becomes a part of a URL, and its name gets the digest`(
        file: String, path: String, stored: String
    ) throws {
        let target = try TargetPath(ofFile: file)
        #expect(target.text == path)
        #expect(target.filePath == file)
        #expect(target.storedPath(digest: "HASH") == stored)
        #expect(try TargetPath(path) == target)
    }

    @Test(arguments: [
        "", "/a", "a//b", "a/", "../a", "a/./b", "a/..", String(repeating: "x", count: 191),
        String(repeating: "d/", count: 3000) + "x",
    ])
    func `paths that leave the folder or are too long are refused`(path: String) {
        #expect(throws: TargetPathError.self) { try TargetPath(ofFile: path) }
        #expect(throws: TargetPathError.self) { try TargetPath(path) }
    }

    @Test(arguments: ["%2E%2E/a", "a/%2e", "a%2F%2Fb", "%2Fetc", "a%00b"])
    func `escapes in metadata do not lead out of the folder`(path: String) {
        #expect(throws: TargetPathError.self) { try TargetPath(path) }
    }
}
