internal import Web

/// A private key in the format of minisign, which signs files.
///
///     let key = MinisignPrivateKey()
///     let file = try key?.fileText(passphrase: "correct horse")
///     let signature = key?.sign(bytes, trustedComment: "timestamp:1700000000").text
package struct MinisignPrivateKey: Sendable {
    package let keyID: [UInt8]
    package let key: Ed25519PrivateKey

    /// The maximum length of a passphrase: minisign reads no longer one.
    static let maxPassphraseBytes = 1023

    /// Generates a new key with a random ID; nil if OpenSSL fails.
    package init?() {
        guard let key = Ed25519PrivateKey() else { return nil }
        self.init(keyID: Self.randomBytes(8), key: key)
    }

    fileprivate init(keyID: [UInt8], key: Ed25519PrivateKey) {
        self.keyID = keyID
        self.key = key
    }

    package var publicKey: MinisignPublicKey { MinisignPublicKey(keyID: keyID, key: key.publicKey) }

    /// Signs the hash of the bytes, and the trusted comment. The signature is the same for the same arguments.
    ///
    /// - Parameter trustedComment: a text without line breaks and other control characters, but for tabs.
    package func sign(_ bytes: [UInt8], trustedComment: String) -> MinisignSignature {
        let signature = key.sign(BLAKE2b.hash512(bytes))
        return MinisignSignature(
            keyID: keyID, signature: signature, isPrehashed: true, trustedComment: trustedComment,
            commentSignature: key.sign(signature + Array(trustedComment.utf8)),
            untrustedComment: "signature by the key \(MinisignText.name(of: keyID))")
    }

    // MARK: Files

    /// Returns the contents of a file with the key, encrypted with a passphrase, or as plain text if that is nil.
    /// Minisign reads it too.
    package func fileText(passphrase: String?) throws(MinisignError) -> String {
        try fileText(passphrase: passphrase, limits: .ofNewFiles)
    }

    func fileText(passphrase: String?, limits: ScryptLimits) throws(MinisignError) -> String {
        var secret = keyID + key.seed + key.publicKey.bytes
        secret += MinisignKeyFile.checksum(of: secret)
        var salt = [UInt8](repeating: 0, count: MinisignKeyFile.saltBytes)
        var derivation = MinisignKeyFile.noDerivation
        var cost = ScryptLimits.zero
        if let passphrase {
            (salt, derivation, cost) = (Self.randomBytes(salt.count), MinisignKeyFile.scrypt, limits)
            secret = try limits.apply(to: secret, passphrase: passphrase, salt: salt)
        }
        let parts = [
            MinisignText.algorithm, derivation, MinisignKeyFile.checksumAlgorithm, salt, cost.bytes, secret,
        ]
        let kind = passphrase == nil ? "unencrypted" : "encrypted"
        let line = Base64.encode(Array(parts.joined()))
        return "\(MinisignText.commentPrefix) minisign \(kind) secret key\n\(line)\n"
    }

    private static func randomBytes(_ count: Int) -> [UInt8] {
        var source = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0 ... .max, using: &source) }
    }
}

/// The contents of a file with a private key, which may be encrypted.
package struct MinisignKeyFile: Sendable {
    /// Whether `unlock` needs a passphrase.
    package let needsPassphrase: Bool
    private let salt: [UInt8]
    private let limits: ScryptLimits
    /// The ID, the seed, the public key and their checksum.
    private let secret: [UInt8]

    /// The maximum size of the file in bytes. A loader reads one byte more, so that the parser notices a larger one.
    package static let maxBytes = MinisignText.maxBytes

    fileprivate static let saltBytes = 32
    private static let secretBytes = 8 + 32 + 32 + checksumBytes
    private static let checksumBytes = 32
    fileprivate static let scrypt = Array("Sc".utf8)
    fileprivate static let noDerivation: [UInt8] = [0, 0]
    fileprivate static let checksumAlgorithm = Array("B2".utf8)

    /// Parses the contents of the file: a comment, and the key in base64.
    ///
    /// - Throws: `MinisignError.malformed`, also for a key that needs more memory or time than minisign's own.
    package init(_ text: String) throws(MinisignError) {
        let lines = try MinisignText(text, of: .privateKey).lines
        guard lines.count == 2, lines[0].utf8.starts(with: MinisignText.commentPrefix.utf8) else {
            throw .malformed(
                .privateKey, "expected an \"\(MinisignText.commentPrefix)\" and a second line with the key")
        }
        let bytes = try MinisignText.decode(
            lines[1], byteCount: 6 + Self.saltBytes + ScryptLimits.byteCount + Self.secretBytes,
            of: .privateKey)
        guard bytes.starts(with: MinisignText.algorithm) else {
            throw .malformed(.privateKey, "it is not for Ed25519, the only algorithm of minisign")
        }
        guard bytes[4..<6].elementsEqual(Self.checksumAlgorithm) else {
            throw .malformed(.privateKey, "its checksum is not BLAKE2b, the only one of minisign")
        }
        needsPassphrase = bytes[2..<4].elementsEqual(Self.scrypt)
        guard needsPassphrase || bytes[2..<4].elementsEqual(Self.noDerivation) else {
            throw .malformed(.privateKey, "it is not encrypted with scrypt, as minisign's are")
        }
        let afterSalt = bytes[6...].dropFirst(Self.saltBytes)
        salt = Array(bytes[6..<afterSalt.startIndex])
        limits = ScryptLimits(afterSalt.prefix(ScryptLimits.byteCount))
        secret = Array(afterSalt.dropFirst(ScryptLimits.byteCount))
        if needsPassphrase, !limits.isAcceptable {
            throw .malformed(
                .privateKey,
                "its passphrase needs \(limits.memoryBytes) bytes of memory and \(limits.operationCount) "
                    + "operations; the limits are those of minisign, \(ScryptLimits.upper.memoryBytes) and "
                    + "\(ScryptLimits.upper.operationCount)")
        }
    }

    /// Returns the private key. Takes up to some seconds and 1 GiB of memory if the file is encrypted.
    ///
    /// - Parameter passphrase: ignored if the file is not encrypted.
    /// - Throws: `MinisignError` for a missing or wrong passphrase, for a damaged key, or for lack of memory.
    package func unlock(_ passphrase: String?) throws(MinisignError) -> MinisignPrivateKey {
        var secret = secret
        if needsPassphrase {
            guard let passphrase else { throw .needsPassphrase }
            secret = try limits.apply(to: secret, passphrase: passphrase, salt: salt)
        }
        let content = Array(secret.dropLast(Self.checksumBytes))
        let checksum = Array(secret.suffix(Self.checksumBytes))
        // Minisign leaves the checksum of a key that it does not encrypt empty. The halves of the key still have to match.
        let hasChecksum = needsPassphrase || checksum.contains { $0 != 0 }
        guard !hasChecksum || PasswordHash.isEqualInConstantTime(Self.checksum(of: content), checksum) else {
            if needsPassphrase { throw .wrongPassphrase }
            throw .malformed(.privateKey, "its checksum does not match; it is damaged")
        }
        guard let key = Ed25519PrivateKey(seed: Array(content[8..<40])),
            key.publicKey.bytes.elementsEqual(content[40...])
        else {
            throw .malformed(.privateKey, "its public half belongs to another key")
        }
        return MinisignPrivateKey(keyID: Array(content[..<8]), key: key)
    }

    /// The checksum of the ID and the key, by which a wrong passphrase is noticed.
    fileprivate static func checksum(of content: [UInt8]) -> [UInt8] {
        BLAKE2b.hash(MinisignText.algorithm + content, byteCount: checksumBytes)
    }
}

/// The cost of deriving a key from a passphrase by scrypt, as libsodium and minisign express it.
struct ScryptLimits: Sendable, Equatable {
    let operationCount: UInt64
    let memoryBytes: UInt64

    /// The cost for new files: a quarter of minisign's, so that a small machine in CI can sign. It is still twice what OWASP
    /// recommends for passwords.
    static let ofNewFiles = ScryptLimits(operationCount: 1 << 23, memoryBytes: 1 << 28)
    /// The cost that minisign chooses. Files that cost more are rejected.
    static let upper = ScryptLimits(operationCount: 1 << 25, memoryBytes: 1 << 30)
    /// The minima of libsodium. Lower values would make up for less memory by more blocks.
    private static let lower = ScryptLimits(operationCount: 1 << 15, memoryBytes: 1 << 24)
    /// For files without encryption.
    static let zero = ScryptLimits(operationCount: 0, memoryBytes: 0)

    init(operationCount: UInt64, memoryBytes: UInt64) {
        self.operationCount = operationCount
        self.memoryBytes = memoryBytes
    }

    /// Decodes `byteCount` bytes.
    init(_ bytes: some Collection<UInt8>) {
        func number(_ bytes: some Collection<UInt8>) -> UInt64 {
            bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        self.init(operationCount: number(bytes.prefix(8)), memoryBytes: number(bytes.dropFirst(8)))
    }

    static let byteCount = 16

    /// Both numbers in eight bytes each, the lowest byte first.
    var bytes: [UInt8] {
        [operationCount, memoryBytes].flatMap { number in
            (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        }
    }

    var isAcceptable: Bool {
        (Self.lower.operationCount...Self.upper.operationCount).contains(operationCount)
            && (Self.lower.memoryBytes...Self.upper.memoryBytes).contains(memoryBytes)
    }

    private static let blockSize: UInt64 = 8

    /// The parameters N and p of scrypt. As libsodium chooses them: the largest power of two for N that the memory
    /// allows, or the operations if these allow less.
    ///
    /// - Precondition: the limits are acceptable.
    var parameters: (cost: UInt64, parallelization: UInt64) {
        let isBoundByOperations = operationCount < memoryBytes / 32
        let maxCost =
            isBoundByOperations ? operationCount / (Self.blockSize * 4) : memoryBytes / (Self.blockSize * 128)
        let cost: UInt64 = 1 << UInt64(63 - maxCost.leadingZeroBitCount)
        return (cost, isBoundByOperations ? 1 : operationCount / 4 / cost / Self.blockSize)
    }

    /// Encrypts or decrypts bytes: both combine them with a key stream by exclusive or.
    func apply(
        to bytes: [UInt8], passphrase: String, salt: [UInt8]
    ) throws(MinisignError) -> [UInt8] {
        precondition(isAcceptable, "scrypt would need too much memory")
        // Minisign reads passphrases as C strings.
        guard (1...MinisignPrivateKey.maxPassphraseBytes).contains(passphrase.utf8.count),
            !passphrase.utf8.contains(0)
        else { throw .unusablePassphrase }
        let (cost, parallelization) = parameters
        guard
            let stream = Scrypt.key(
                of: passphrase, salt: salt, cost: cost, blockSize: Self.blockSize,
                parallelization: parallelization, byteCount: bytes.count)
        else { throw .outOfMemory(Int(cost * Self.blockSize * 128)) }
        return zip(bytes, stream).map { $0 ^ $1 }
    }
}
