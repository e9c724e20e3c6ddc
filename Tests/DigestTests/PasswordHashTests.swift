import Testing

@testable import Digest

@Suite struct PasswordHashTests {
    @Test func `a stored hash matches its password and no other`() throws {
        let line = try #require(PasswordHash("correct horse")).text
        let hash = try #require(PasswordHash(text: line))
        #expect(hash.matches("correct horse"))
        #expect(!hash.matches("correct horsf"))
        #expect(!hash.matches(""))
        #expect(line.hasPrefix("scrypt 32768 8 1 "))
        #expect(!line.contains("horse"))
    }

    @Test func `two hashes of the same password have different salts`() {
        #expect(PasswordHash("one")?.text != PasswordHash("one")?.text)
    }

    /// RFC 7914, section 12: the first 32 bytes of the example's 64.
    @Test func `the key equals that in the RFC`() throws {
        let hash = try #require(
            PasswordHash(
                "pleaseletmein", salt: Array("SodiumChloride".utf8), cost: 16384, blockSize: 8,
                parallelization: 1))
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
    func `a malformed line is rejected`(text: String) { #expect(PasswordHash(text: text) == nil) }
}
