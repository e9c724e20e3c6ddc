import Testing

@testable import Digest

@Suite struct PasswordHashTests {
    @Test func `a password matches what is kept of it, and no other does`() throws {
        let kept = try #require(PasswordHash("correct horse")).text
        let hash = try #require(PasswordHash(text: kept))
        #expect(hash.matches("correct horse"))
        #expect(!hash.matches("correct horsf"))
        #expect(!hash.matches(""))
        #expect(kept.hasPrefix("scrypt 32768 8 1 "))
        #expect(!kept.contains("horse"))
    }

    @Test func `the same password is kept differently each time`() {
        #expect(PasswordHash("one")?.text != PasswordHash("one")?.text)
    }

    /// RFC 7914, section 12, by its first 32 bytes.
    @Test func `the key is the one of the standard`() throws {
        let hash = try #require(
            PasswordHash(
                "pleaseletmein", salt: Array("SodiumChloride".utf8), cost: 16384, blockSize: 8, lanes: 1))
        let key = "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
        #expect(hash.text.hasSuffix(key))
    }

    @Test(arguments: [
        "", "scrypt", "scrypt 32768 8 1 00 00", "md5 32768 8 1 0011223344556677 00",
        "scrypt 3 8 1 0011223344556677 " + String(repeating: "00", count: 32),
        "scrypt 16777216 64 16 0011223344556677 " + String(repeating: "00", count: 32),
        "scrypt 32768 8 1 0011223344556677 " + String(repeating: "0g", count: 32),
        "scrypt -2 8 1 0011223344556677 " + String(repeating: "00", count: 32),
    ])
    func `what is no such line is none`(text: String) { #expect(PasswordHash(text: text) == nil) }
}
