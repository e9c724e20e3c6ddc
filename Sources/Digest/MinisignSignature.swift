internal import Web

/// A detached signature in the format of minisign, usually in a file whose name ends in `.minisig`.
///
/// It signs the bytes of a file, and a trusted comment together with that signature. Verify it before you use any of its parts:
/// see ``MinisignPublicKey/verify(_:of:)``.
package struct MinisignSignature: Hashable, Sendable {
    /// The ID of the key that signed, or claims to have signed.
    package let keyID: [UInt8]
    /// A text that the key signed too. `larder` and minisign write the time and the name of the file.
    package let trustedComment: String
    /// Whether the signature is one of the BLAKE2b-512 hash of the bytes, not of the bytes themselves.
    let isPrehashed: Bool
    let signature: [UInt8]
    /// The signature of the signature's bytes followed by the trusted comment.
    let commentSignature: [UInt8]
    private let untrustedComment: String

    init(
        keyID: [UInt8], signature: [UInt8], isPrehashed: Bool, trustedComment: String,
        commentSignature: [UInt8], untrustedComment: String
    ) {
        self.keyID = keyID
        self.signature = signature
        self.isPrehashed = isPrehashed
        self.trustedComment = trustedComment
        self.commentSignature = commentSignature
        self.untrustedComment = untrustedComment
    }

    /// The suffix of the names of detached signatures.
    package static let fileSuffix = ".minisig"
    /// The maximum size of a signature's text in bytes. A loader reads one byte more, so that the parser notices a larger one.
    package static let maxBytes = MinisignText.maxBytes

    private static let byteCount = 2 + 8 + Ed25519PrivateKey.signatureByteCount

    /// Parses the contents of a signature's file: two comments, each followed by a signature in base64.
    package init(_ text: String) throws(MinisignError) {
        let lines = try MinisignText(text, of: .signature).lines
        guard lines.count == 4 else {
            throw .malformed(.signature, "expected 4 lines, found \(lines.count)")
        }
        guard lines[0].utf8.starts(with: MinisignText.commentPrefix.utf8) else {
            throw .malformed(.signature, "expected \"\(MinisignText.commentPrefix)\" at its beginning")
        }
        guard lines[2].utf8.starts(with: MinisignText.trustedPrefix.utf8) else {
            throw .malformed(.signature, "expected \"\(MinisignText.trustedPrefix)\" in line 3")
        }
        // They could hide a part of the comment on a terminal.
        guard !(lines[0] + lines[2]).unicodeScalars.contains(where: Self.isControl) else {
            throw .malformed(.signature, "a comment has a control character")
        }
        let bytes = try MinisignText.decode(lines[1], byteCount: Self.byteCount, of: .signature)
        let isPrehashed = bytes.starts(with: MinisignText.hashedAlgorithm)
        guard isPrehashed || bytes.starts(with: MinisignText.algorithm) else {
            throw .malformed(.signature, "it is not made by Ed25519, the only algorithm of minisign")
        }
        self.init(
            keyID: Array(bytes[2..<10]), signature: Array(bytes[10...]), isPrehashed: isPrehashed,
            trustedComment: String(
                decoding: lines[2].utf8.dropFirst(MinisignText.trustedPrefix.utf8.count), as: UTF8.self),
            commentSignature: try MinisignText.decode(
                lines[3], byteCount: Ed25519PrivateKey.signatureByteCount, of: .signature),
            untrustedComment: MinisignText.trimmed(
                String(
                    decoding: lines[0].utf8.dropFirst(MinisignText.commentPrefix.utf8.count), as: UTF8.self)))
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 && scalar != "\t" || (0x7F...0x9F).contains(scalar.value)
    }

    /// The ID of the key as minisign prints it.
    package var keyName: String { MinisignText.name(of: keyID) }

    /// The time of the signature in seconds since 1970, from the trusted comment; nil if that has no `timestamp:`.
    package var timestamp: Int? {
        for field in trustedComment.utf8.split(separator: 0x09) where field.starts(with: "timestamp:".utf8) {
            let digits = field.dropFirst("timestamp:".utf8.count)
            guard digits.allSatisfy(\.isASCIIDigit) else { return nil }
            return Int(String(decoding: digits, as: UTF8.self))
        }
        return nil
    }

    /// Returns a trusted comment in the form of minisign's.
    ///
    /// - Parameters:
    ///   - timestamp: the time in seconds since 1970.
    ///   - file: the name of the file, whose control characters are left out; nil if it has none yet. Programs that
    ///     verify the signature may require that name.
    package static func trustedComment(timestamp: Int64, file: String?) -> String {
        guard let file else { return "timestamp:\(timestamp)\thashed" }
        var name = ""
        for scalar in file.unicodeScalars where !isControl(scalar) && scalar != "\t" {
            name.unicodeScalars.append(scalar)
        }
        return "timestamp:\(timestamp)\tfile:\(name)\thashed"
    }

    /// The contents of the signature's file.
    package var text: String {
        let algorithm = isPrehashed ? MinisignText.hashedAlgorithm : MinisignText.algorithm
        return """
            \(MinisignText.commentPrefix) \(untrustedComment)
            \(Base64.encode(algorithm + keyID + signature))
            \(MinisignText.trustedPrefix)\(trustedComment)
            \(Base64.encode(commentSignature))

            """
    }
}
