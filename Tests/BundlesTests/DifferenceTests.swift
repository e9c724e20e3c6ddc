import Bundles
import Testing

@Suite struct DifferenceTests {
    @Test(arguments: [
        ("abc", "abd", 2, 1, 3, "it first differs at line 1, column 3, byte 2"),
        ("a\nb\nc", "a\nb\nd", 4, 3, 1, "it first differs at line 3, column 1, byte 4"),
        ("a\r\nb", "a\r\nc", 3, 2, 1, "it first differs at line 2, column 1, byte 3"),
        ("a\r\nb", "a\rb", 2, 2, 1, "it first differs at line 2, column 1, byte 2"),
        ("é=1", "é=2", 3, 1, 3, "it first differs at line 1, column 3, byte 3"),
        ("aé", "aè", 2, 1, 2, "it first differs at line 1, column 2, byte 2"),
        ("ab", "a", 1, 1, 2, "it ends early, at line 1, column 2, byte 1"),
        ("a", "ab", 1, 1, 2, "it continues after the end of the expected one, at line 1, column 2, byte 1"),
        ("", "x", 0, 1, 1, "it continues after the end of the expected one, at line 1, column 1, byte 0"),
    ])
    func `the first difference has its offset, line and column`(
        expected: String, found: String, offset: Int, line: Int, column: Int, text: String
    ) {
        let difference = Difference.first(expected: Array(expected.utf8), found: Array(found.utf8))
        #expect(difference?.offset == offset)
        #expect(difference?.line == line)
        #expect(difference?.column == column)
        #expect(difference?.description == text)
    }

    @Test func `equal bodies have no difference, and binary ones have no line`() {
        #expect(Difference.first(expected: Sample.body, found: Sample.body) == nil)
        #expect(Difference.first(expected: [], found: []) == nil)
        let difference = Difference.first(expected: [0, 1, 10, 2], found: [0, 1, 10, 3])
        #expect(difference?.offset == 3 && difference?.line == nil)
        #expect(difference?.expected == 2 && difference?.found == 3)
        #expect(difference?.description == "it first differs at byte 3")
    }

    @Test func `pieces of any size give the same difference`() {
        let expected = Array("one\r\ntwo\nthree é four".utf8)
        var found = expected
        found[expected.count - 3] ^= 1
        let whole = Difference.first(expected: expected, found: found)
        for left in 1...7 {
            for right in 1...7 {
                var one = Pieces(expected, of: left)
                var two = Pieces(found, of: right)
                #expect(Difference.first(expected: { one.next() }, found: { two.next() }) == whole)
            }
        }
    }

    @Test func `a body that cannot be read stops the comparison`() {
        struct Gone: Error {}
        #expect(throws: Gone.self) {
            try Difference.first(
                expected: { () throws(Gone) in [1] }, found: { () throws(Gone) in throw Gone() })
        }
    }

    /// Splits a body into pieces, some of them empty.
    private struct Pieces {
        private var rest: ArraySlice<UInt8>
        private let size: Int
        private var isEmptyNext = false

        init(_ bytes: [UInt8], of size: Int) {
            rest = bytes[...]
            self.size = size
        }

        mutating func next() -> [UInt8]? {
            isEmptyNext.toggle()
            if isEmptyNext { return [] }
            guard !rest.isEmpty else { return nil }
            defer { rest = rest.dropFirst(size) }
            return Array(rest.prefix(size))
        }
    }
}
