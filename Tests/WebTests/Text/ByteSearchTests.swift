import Testing
import Web

@Suite struct ByteSearchTests {
    @Test(arguments: [
        ("abcabc", "abc", 0..<6, 0), ("abcabc", "abc", 1..<6, 3), ("abcabc", "abc", 1..<5, nil),
        ("abcabc", "c", 3..<6, 5),
        ("abc", "abcd", 0..<3, nil), ("abc", "", 0..<3, nil), ("", "a", 0..<0, nil), ("abc", "a", 3..<3, nil),
        ("aaab", "aab", 0..<4, 1),
    ])
    func `the offset is that of the first occurrence in the range`(
        text: String, part: String, range: Range<Int>, expected: Int?
    ) {
        #expect(Array(text.utf8).firstOffset(of: Array(part.utf8), in: range) == expected)
    }

    @Test(arguments: [
        ("a-b-c", "-", "+", "a+b+c"), ("aaa", "aa", "b", "ba"), ("aaa", "a", "", ""),
        ("abc", "x", "y", "abc"),
        ("abc", "", "y", "abc"), ("", "a", "b", ""), ("abab", "ab", "abab", "abababab"),
    ])
    func `each occurrence is replaced, without searching the replacement`(
        text: String, part: String, replacement: String, expected: String
    ) {
        let bytes = Array(text.utf8).replacingAll(Array(part.utf8), with: Array(replacement.utf8))
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
    }
}
