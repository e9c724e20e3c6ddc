import Testing

@testable import Web

struct HTTPValuesFuzzTests {
    private static let seeds = [
        "text/html; charset=\"utf-8\\\"\"; a=b", "Sunday, 06-Nov-94 08:49:37 +0100 (x)",
        "1994-11-06T08:49:37.5+01:00",
        "max-age=60, no-cache=\"a, b\", private", "<a,b>; rel=\"x y\"; title*=UTF-8''%41, </c>;d",
        "5; url='a b'",
        "attachment; filename*=UTF-8''%e2%82%ac; filename=\"a\\\"b\"", "W/\"a,b\", \"c\", *",
        "bytes 0-99/1234",
        "a=1.5, b=:aGk=:;c, d=(1 \"x\");e, f=%\"%c3%bc\", g=@5", "SHA-256=aGk=,md5=aGk=",
        "A: b\r\n c\r\nD: e\n",
    ]

    @Test(arguments: seeds.indices) func `any bytes are read without harm`(index: Int) {
        var random = TestRandom(seed: UInt64(index))
        let alphabet = Array("\"\\;,=<>*'%:()/ \t\r\n0aZ-".utf8) + [0, 0x7F, 0x80, 0xC3, 0xFF]
        let seed = Array(Self.seeds[index].utf8)
        for _ in 0..<1500 {
            var bytes = seed
            for _ in 0..<Int.random(in: 1...6, using: &random) where !bytes.isEmpty {
                let at = Int.random(in: bytes.indices, using: &random)
                let byte = alphabet[Int.random(in: alphabet.indices, using: &random)]
                switch UInt8.random(in: 0...3, using: &random) {
                case 0: bytes[at] = byte
                case 1: bytes.insert(byte, at: at)
                case 2: bytes.remove(at: at)
                default: bytes.removeLast(Int.random(in: 0...min(3, bytes.count), using: &random))
                }
            }
            check(HTTPGrammar.text(bytes), bytes)
        }
    }

    /// Checks what holds for all input: a parsed value survives a round trip, and ranges are within the text.
    private func check(_ text: String, _ bytes: [UInt8]) {
        let type = MediaType(text)
        #expect(type.map { MediaType($0.description) == $0 } != false, "\(text)")
        let date = HTTPDate(text)
        #expect(date.map { HTTPDate($0.text) == $0 } != false, "\(text)")
        let stamp = HTTPDate(iso8601: text)
        #expect(stamp.map { HTTPDate(iso8601: $0.iso8601) == $0 } != false, "\(text)")
        let tag = EntityTag(text)
        #expect(tag.map { EntityTag($0.text) == $0 } != false, "\(text)")
        let range = ContentRange(text)
        #expect(range.map { ContentRange($0.text) == $0 } != false, "\(text)")
        let fields = HTTPFields(block: bytes.span)
        #expect(
            HTTPFields(block: Array(fields.block.utf8).span).list.map(\.name) == fields.list.map(\.name),
            "\(text)")
        #expect(LinkField.parse(text).allSatisfy { $0.targetRange.upperBound <= text.utf8.count }, "\(text)")
        #expect((RefreshDirective(text)?.urlRange?.upperBound ?? 0) <= text.utf8.count, "\(text)")
        #expect(
            FieldDigest.parseStructured(text).allSatisfy { FieldDigest.parseStructured($0.text) == [$0] },
            "\(text)")
        #expect((CacheDirectives(text).maxAge ?? 0) <= 1 << 31, "\(text)")
        #expect(FieldDigest.parseLegacy(text).allSatisfy { !$0.algorithm.isEmpty }, "\(text)")
    }
}
