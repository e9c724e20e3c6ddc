import Glibc
import System
import TestOrigin
import Testing
import Web

@testable import Codings

/// The codings dcz and dcb (RFC 9842, sections 4 and 5).
@Suite struct DictionaryCodingTests {
    /// A script of about a megabyte, and the same script with one changed line.
    static let (old, new): ([UInt8], [UInt8]) = {
        var lines: [String] = []
        var state: UInt64 = 7
        for number in 0..<12_000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            lines.append("function f\(number)() { return '\(String(state, radix: 36))-plum jam and bread' }")
        }
        let old = lines.joined(separator: "\n")
        lines[7000] = "function changed() { return 1 }"
        return (Array(old.utf8), Array(lines.joined(separator: "\n").utf8))
    }()

    static func dictionary(_ bytes: [UInt8], digit: UInt8 = 1) throws -> CompressionDictionary {
        try #require(CompressionDictionary(bytes, sha256: [UInt8](repeating: digit, count: 32)))
    }

    /// Decodes a body in pieces of a size. Throws the `CodingError`.
    private func decode(
        _ body: [UInt8], _ coding: String = "dcz", with dictionary: CompressionDictionary?,
        pieceSize: Int = 4096
    ) throws -> [UInt8] {
        let decoder = try #require(try BodyDecoder(["Content-Encoding": coding], dictionary: dictionary))
        var output: [UInt8] = []
        for start in stride(from: 0, to: body.count, by: pieceSize) {
            try body[start..<min(body.count, start + pieceSize)].withUnsafeBytes { piece in
                try decoder.decode(piece) { (bytes) throws(CodingError) in
                    output.append(contentsOf: bytes)
                } wrapping: {
                    $0
                }
            }
        }
        if let truncation = decoder.truncation { throw truncation }
        return output
    }

    private func delta(_ body: [UInt8] = new, from old: [UInt8] = old) throws -> [UInt8] {
        try #require(DictionaryEncoder.dcz(body, with: try Self.dictionary(old), maxBytes: .max))
    }

    @Test(arguments: [1, 7, 4096, 1 << 22])
    func `a megabyte with one changed line takes less than a thousandth, and decodes in pieces of any size`(
        pieceSize: Int
    ) throws {
        let delta = try delta()
        #expect(delta.count < Self.new.count / 1000)
        let dictionary = try Self.dictionary(Self.old)
        #expect(try decode(delta, with: dictionary, pieceSize: pieceSize) == Self.new)
    }

    @Test(arguments: [[], [7], Array("a short text".utf8), old, Array(new[..<300_000])])
    func `any body decodes to itself, with related and unrelated dictionaries`(body: [UInt8]) throws {
        for old in [Self.old, Array("something else".utf8)] {
            let dictionary = try Self.dictionary(old)
            #expect(try decode(try delta(body, from: old), with: dictionary) == body)
        }
    }

    @Test func `dcz may be inside another coding`() throws {
        let encoder = try #require(ZstdEncoder(level: 1))
        var whole: [UInt8] = []
        try delta().withUnsafeBytes { bytes in encoder.compress(bytes) { whole += $0 } }
        encoder.finish { whole += $0 }
        #expect(try decode(whole, "dcz, zstd", with: try Self.dictionary(Self.old)) == Self.new)
    }

    @Test func `a dictionary that begins like a trained one is used as plain bytes`() throws {
        let old: [UInt8] = [0x37, 0xA4, 0x30, 0xEC] + Self.old[..<5000]
        let body = Array(Self.old[1000..<4000])
        #expect(try decode(try delta(body, from: old), with: try Self.dictionary(old)) == body)
    }

    @Test func `a body is not encoded beyond the limits`() throws {
        let dictionary = try Self.dictionary(Self.old)
        #expect(DictionaryEncoder.dcz(Self.new, with: dictionary, maxBytes: 100) == nil)
        let large = [UInt8](repeating: 1, count: DictionaryEncoder.maxBodyBytes + 1)
        #expect(DictionaryEncoder.dcz(large, with: dictionary, maxBytes: .max) == nil)
        let tooLarge = [UInt8](repeating: 1, count: CompressionDictionary.maxBytes + 1)
        #expect(CompressionDictionary(tooLarge, sha256: [UInt8](repeating: 0, count: 32)) == nil)
        #expect(CompressionDictionary([], sha256: [UInt8](repeating: 0, count: 32)) == nil)
    }

    @Test func `a missing dictionary, or one with another digest, is an error`() throws {
        let delta = try delta()
        #expect(throws: CodingError.unsupported("dcz")) { try decode(delta, with: nil) }
        let other = try Self.dictionary(Self.old, digit: 2)
        #expect(throws: CodingError.invalidData("dcz")) { try decode(delta, with: other) }
    }

    @Test func `a dictionary with the right digest and other bytes is an error`() throws {
        var bytes = Self.old
        bytes[500_000] ^= 1
        let wrong = try Self.dictionary(bytes)
        #expect(throws: CodingError.invalidData("dcz")) { try decode(try delta(), with: wrong) }
    }

    @Test func `damage anywhere in a delta never changes the body, and a cut at any place is an error`()
        throws
    {
        let delta = try delta()
        let dictionary = try Self.dictionary(Self.old)
        for index in delta.indices {
            var damaged = delta
            damaged[index] ^= 0x10
            // zstd ignores a few unused bits.
            let decoded = try? decode(damaged, with: dictionary)
            #expect(decoded == nil || index >= 40 && decoded == Self.new, "byte \(index)")
        }
        for count in 1..<delta.count {
            #expect(throws: CodingError.truncated("dcz")) {
                try decode(Array(delta[..<count]), with: dictionary)
            }
        }
    }

    @Test func `bytes that are no delta are an error`() throws {
        let dictionary = try Self.dictionary(Self.old)
        for body in [Self.new, Array("<html>".utf8), Array("\u{FF}DCB".utf8)] {
            #expect(throws: CodingError.invalidData("dcz")) { try decode(body, with: dictionary) }
        }
    }

    @Test func `dcb is decoded only if the brotli library can use dictionaries`() throws {
        let isAvailable = CodingLibrary.brotli?.attachDictionary != nil
        #expect(DictionaryCoding.available == (isAvailable ? [.dcb, .dcz] : [.dcz]))
        guard !isAvailable else { return }
        #expect(throws: CodingError.unsupported("dcb")) {
            try decode([0xFF], "dcb", with: try Self.dictionary(Self.old))
        }
    }

    @Test func `a decoded body may be four times its dictionary, and beyond that needs enough encoded bytes`()
    {
        let limit = ExpansionLimit()
        func isExceeded(_ decoded: Int, _ encoded: Int) -> Bool {
            limit.isExceeded(byteCount: decoded, encodedByteCount: encoded, dictionaryByteCount: 2 << 20)
        }
        #expect(!isExceeded(8 << 20, 100))
        #expect(isExceeded(8 << 20 + 1, 100))
        #expect(!isExceeded(9 << 20, 100_000))
    }

    // MARK: - The zstd command

    private static let zstd = "/usr/bin/zstd"

    private func run(_ arguments: [String]) throws {
        let ending = try ChildProcess(Self.zstd, arguments).wait()
        guard ending.status == 0 else { throw TestError("zstd: \(ending.errors)") }
    }

    @Test(.enabled(if: access(zstd, X_OK) == 0, "zstd is not installed"))
    func `the zstd command decodes a whole dcz body, with its header`() throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.old, to: "old")
        try folder.write(try delta(), to: "delta.zst")
        for (number, option) in [["-D", folder.file("old")], ["--patch-from=\(folder.file("old"))"]]
            .enumerated()
        {
            let output = folder.file("new\(number)")
            try run(["-q", "-d"] + option + [folder.file("delta.zst"), "-o", output])
            #expect(try WholeFile.read(output, atMost: 1 << 22) == Self.new)
        }
    }

    @Test(.enabled(if: access(zstd, X_OK) == 0, "zstd is not installed"))
    func
        `frames of the zstd command decode, and those with a larger window than the dictionary allows do not`()
        throws
    {
        let folder = try TemporaryFolder()
        try folder.write(Self.old, to: "old")
        try folder.write(Self.new, to: "new")
        let dictionary = try Self.dictionary(Self.old)
        let header = DictionaryCoding.dcz.magic + dictionary.sha256
        for (number, options) in [
            ["--patch-from=\(folder.file("old"))"], ["-D", folder.file("old")],
            ["-19", "-D", folder.file("old")],
        ].enumerated() {
            let output = folder.file("frame\(number)")
            try run(["-q"] + options + [folder.file("new"), "-o", output])
            let frame = try WholeFile.read(output, atMost: 1 << 22)
            #expect(try decode(header + frame, with: dictionary) == Self.new)
            #expect(try decode(header + frame + frame, with: dictionary) == Self.new + Self.new)
        }
        // From a pipe, the size is unknown, so that the window is declared.
        let program =
            "zstd -q --long=27 -D \(folder.file("old")) < \(folder.file("new")) > \(folder.file("long"))"
        #expect(try ChildProcess("/bin/sh", ["-c", program]).wait().status == 0)
        let long = try WholeFile.read(folder.file("long"), atMost: 1 << 22)
        #expect(throws: CodingError.invalidData("dcz")) { try decode(header + long, with: dictionary) }
    }
}
