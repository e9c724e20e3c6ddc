internal import COpenSSL
internal import Web

/// The salted scrypt hash of a password (RFC 7914), for storing. Guessing the password costs 32 MiB of memory
/// and about a tenth of a second per guess.
///
///     let line = PasswordHash("correct horse")?.text
///     let isRight = line.flatMap { PasswordHash(text: $0) }?.matches("correct horse")
package struct PasswordHash: Sendable, Equatable {
    // The parameters N, r and p of RFC 7914. A hash needs 128 * cost * blockSize bytes of memory.
    private let cost: UInt64
    private let blockSize: UInt64
    private let parallelization: UInt64
    private let salt: [UInt8]
    private let key: [UInt8]

    private static let name = "scrypt"
    private static let keySize = 32
    /// The maximum length of the salt. A line with a longer one is rejected.
    private static let maxSaltBytes = 128
    /// The maximum memory for checking a password against a parsed line. A line that needs more is rejected.
    private static let maxMemoryBytes: UInt64 = 256 << 20

    /// Hashes a new password with a random salt; nil if OpenSSL fails, usually for lack of memory.
    package init?(_ password: String) {
        var source = SystemRandomNumberGenerator()
        let salt = (0..<16).map { _ in UInt8.random(in: 0 ... .max, using: &source) }
        self.init(password, salt: salt, cost: 1 << 15, blockSize: 8, parallelization: 1)
    }

    init?(_ password: String, salt: [UInt8], cost: UInt64, blockSize: UInt64, parallelization: UInt64) {
        guard
            let key = Self.key(
                of: password, salt: salt, cost: cost, blockSize: blockSize, parallelization: parallelization)
        else { return nil }
        (self.cost, self.blockSize, self.parallelization) = (cost, blockSize, parallelization)
        (self.salt, self.key) = (salt, key)
    }

    /// Parses a line that `text` returned; nil if it is malformed or its parameters exceed the limits.
    package init?(text: String) {
        let words = text.split(whereSeparator: { $0 == " " || $0 == "\n" }).map(String.init)
        guard words.count == 6, words[0] == Self.name, let cost = UInt64(words[1]),
            let blockSize = UInt64(words[2]), let parallelization = UInt64(words[3]), cost > 1,
            cost & (cost - 1) == 0,
            cost <= 1 << 24, (1...64).contains(blockSize), (1...16).contains(parallelization),
            128 * cost * blockSize <= Self.maxMemoryBytes, let salt = Hex.decode(words[4]),
            let key = Hex.decode(words[5]), (8...Self.maxSaltBytes).contains(salt.count),
            key.count == Self.keySize
        else { return nil }
        (self.cost, self.blockSize, self.parallelization) = (cost, blockSize, parallelization)
        (self.salt, self.key) = (salt, key)
    }

    /// The line to store: the parameters, the salt and the hash.
    package var text: String {
        "\(Self.name) \(cost) \(blockSize) \(parallelization) \(Hex.encode(salt)) \(Hex.encode(key))"
    }

    /// Whether the password is right. Takes the same time wherever the hashes differ.
    package func matches(_ password: String) -> Bool {
        guard
            let tried = Self.key(
                of: password, salt: salt, cost: cost, blockSize: blockSize, parallelization: parallelization)
        else { return false }
        return Self.isEqualInConstantTime(tried, key)
    }

    /// Compares two arrays in constant time, so that the time does not reveal where they differ.
    package static func isEqualInConstantTime(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
    }

    private static func key(
        of password: String, salt: [UInt8], cost: UInt64, blockSize: UInt64, parallelization: UInt64
    ) -> [UInt8]? {
        Scrypt.key(
            of: password, salt: salt, cost: cost, blockSize: blockSize, parallelization: parallelization,
            byteCount: keySize)
    }
}

/// The key derivation function scrypt (RFC 7914).
enum Scrypt {
    /// The maximum memory. A derivation that needs more fails.
    private static let maxMemoryBytes: UInt64 = 2 << 30

    /// Derives a key from a password; nil if OpenSSL fails, usually for lack of memory.
    ///
    /// - Parameters:
    ///   - cost: the parameter N, a power of two. `128 * cost * blockSize` bytes of memory are needed.
    ///   - blockSize: the parameter r.
    ///   - parallelization: the parameter p.
    ///   - byteCount: the length of the key.
    static func key(
        of password: String, salt: [UInt8], cost: UInt64, blockSize: UInt64, parallelization: UInt64,
        byteCount: Int
    ) -> [UInt8]? {
        var key = [UInt8](repeating: 0, count: byteCount)
        var password = password
        let result = password.withUTF8 { password in
            password.withMemoryRebound(to: CChar.self) { password in
                EVP_PBE_scrypt(
                    password.baseAddress, password.count, salt, salt.count, cost, blockSize, parallelization,
                    maxMemoryBytes, &key, key.count)
            }
        }
        return result == 1 ? key : nil
    }
}
