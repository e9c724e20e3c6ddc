internal import Web

/// A public key in the format of minisign, with which anyone verifies signatures of its private key.
///
///     let key = try MinisignPublicKey("RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3")
///     try key.verify(MinisignSignature(signatureText), of: bytes)
package struct MinisignPublicKey: Hashable, Sendable, CustomStringConvertible {
    /// Eight bytes that name the key in its signatures. Anyone can make a key with the same ones, so they prove nothing.
    package let keyID: [UInt8]
    package let key: Ed25519PublicKey

    init(keyID: [UInt8], key: Ed25519PublicKey) {
        self.keyID = keyID
        self.key = key
    }

    /// Parses the key as text (`RW…`), or the contents of a file with a comment and the key.
    package init(_ text: String) throws(MinisignError) {
        let lines = try MinisignText(text, of: .publicKey).lines
        let keys = lines.count { $0.utf8.starts(with: "RW".utf8) }
        guard keys <= 1 else {
            throw .malformed(
                .publicKey, "it contains \(keys) keys, but only one is expected; name each of them on its own"
            )
        }
        guard let line = lines.last, (1...2).contains(lines.count),
            lines.count == 1 || lines[0].utf8.starts(with: MinisignText.commentPrefix.utf8)
        else {
            throw .malformed(
                .publicKey, "expected a line that begins with RW, alone or after an \"untrusted comment:\"")
        }
        let bytes = try MinisignText.decode(
            MinisignText.trimmed(line), byteCount: 2 + 8 + Ed25519PublicKey.byteCount, of: .publicKey)
        guard bytes.starts(with: MinisignText.algorithm),
            let key = Ed25519PublicKey(Array(bytes[10...]))
        else {
            throw .malformed(.publicKey, "it is not for Ed25519, the only algorithm of minisign")
        }
        self.init(keyID: Array(bytes[2..<10]), key: key)
    }

    /// The key as text, 56 characters that begin with `RW`.
    package var text: String { Base64.encode(MinisignText.algorithm + keyID + key.bytes) }

    package var description: String { text }

    /// The contents of a file with the key, which minisign reads.
    package var fileText: String {
        "\(MinisignText.commentPrefix) minisign public key \(MinisignText.name(of: keyID))\n\(text)\n"
    }

    /// The text without its middle, for messages.
    ///
    /// An attacker can choose the first 13 characters of a key freely. The other characters have 64 bits, too many to find
    /// a second key with the same fingerprint by trial.
    package var fingerprint: String { "\(text.prefix(16))…\(text.suffix(8))" }

    /// The key's ID as minisign prints it.
    package var keyName: String { MinisignText.name(of: keyID) }

    /// Verifies that the key signed the bytes and the trusted comment of the signature.
    ///
    /// - Throws: `MinisignError` if it did not.
    package func verify(_ signature: MinisignSignature, of bytes: [UInt8]) throws(MinisignError) {
        guard signature.keyID == keyID else {
            throw .otherKey(MinisignText.name(of: signature.keyID), expected: keyName)
        }
        let message = signature.isPrehashed ? BLAKE2b.hash512(bytes) : bytes
        guard key.verifies(signature.signature, of: message) else { throw .wrongSignature }
        let comment = Array(signature.trustedComment.utf8)
        guard key.verifies(signature.commentSignature, of: signature.signature + comment) else {
            throw .wrongComment
        }
    }
}

/// The reason why a minisign key or signature cannot be used. The message does not name the file, which only the caller knows.
package enum MinisignError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of a text.
    package enum Subject: String, Sendable {
        case publicKey = "public key"
        case privateKey = "secret key"
        case signature = "signature"
    }

    /// The text does not have minisign's format, or exceeds a limit.
    case malformed(Subject, String)
    case needsPassphrase
    case wrongPassphrase
    /// The passphrase is empty, too long or has a NUL, so that minisign could not use the key.
    case unusablePassphrase
    /// Deriving a key from the passphrase needs so much memory, in bytes.
    case outOfMemory(Int)
    /// The IDs of the keys as minisign prints them.
    case otherKey(String, expected: String)
    /// The signature is not one of these bytes by this key.
    case wrongSignature
    /// The signature is right, but its trusted comment was changed.
    case wrongComment

    package var description: String {
        switch self {
        case .malformed(let subject, let detail): "not a minisign \(subject.rawValue): \(detail)"
        case .needsPassphrase: "the secret key is protected by a passphrase"
        case .wrongPassphrase: "the passphrase of the secret key is wrong"
        case .unusablePassphrase:
            "the passphrase must have from 1 to \(MinisignPrivateKey.maxPassphraseBytes) bytes, and no NUL"
        case .outOfMemory(let bytes):
            "the passphrase of the secret key needs \(bytes >> 20) MiB of memory; free some memory"
        case .otherKey(let found, let expected):
            "it is signed by the key \(found), not by the key \(expected)"
        case .wrongSignature:
            "the signature does not match: the contents were changed, or it signs something else"
        case .wrongComment: "the trusted comment of the signature was changed"
        }
    }
}

/// The lines of a text in one of minisign's formats, without line ends.
struct MinisignText {
    let lines: [String]

    /// The maximum size of a text. Minisign's comments have at most 1,024 and 8,192 bytes.
    static let maxBytes = 16 * 1024

    /// Splits a text into lines, which end with LF or CRLF. Blank lines at the end are ignored.
    init(_ text: String, of subject: MinisignError.Subject) throws(MinisignError) {
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.maxBytes else {
            throw .malformed(
                subject, "expected at most \(Self.maxBytes) bytes, found \(bytes.count)")
        }
        // Not by `Character`: "\r\n" is a single one.
        var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
            .map { String(decoding: $0.last == 0x0D ? $0.dropLast() : $0, as: UTF8.self) }
        while let last = lines.last, Self.trimmed(last).isEmpty { lines.removeLast() }
        self.lines = lines
    }

    /// The bytes that name Ed25519 in keys, and signatures of the message itself.
    static let algorithm = Array("Ed".utf8)
    /// The bytes that name signatures of the message's hash.
    static let hashedAlgorithm = Array("ED".utf8)
    static let commentPrefix = "untrusted comment:"
    static let trustedPrefix = "trusted comment: "

    /// Decodes a line in base64.
    ///
    /// - Throws: `MinisignError` unless it has as many bytes, and is the only way to write them.
    static func decode(
        _ line: String, byteCount: Int, of subject: MinisignError.Subject
    ) throws(MinisignError) -> [UInt8] {
        guard let bytes = Base64.decode(line) else {
            throw .malformed(subject, "expected a line in base64")
        }
        guard bytes.count == byteCount else {
            throw .malformed(subject, "expected \(byteCount) bytes in base64, found \(bytes.count)")
        }
        return bytes
    }

    /// The line without spaces and tabs at its ends.
    static func trimmed(_ line: String) -> String {
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let rest = Array(line.utf8.drop(while: isSpace))
        let end = rest.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? 0
        return String(decoding: rest[..<end], as: UTF8.self)
    }

    /// An ID of a key as minisign prints it: the digits of a little-endian number.
    static func name(of keyID: [UInt8]) -> String { Hex.encode(keyID.reversed()).uppercased() }
}
