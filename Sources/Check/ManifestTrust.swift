package import Crawl
package import Digest
internal import System
internal import TUF
internal import Web

/// The key that signed a manifest, and its signature.
package struct ManifestSigner: Sendable, Equatable {
    /// The public key as minisign's text, `RW…`.
    package let key: String
    /// The text of the signature, as in a `.minisig` file.
    package let signature: String

    package init(key: String, signature: String) {
        self.key = key
        self.signature = signature
    }
}

/// The keys that may sign a manifest, and the decision whether a manifest is accepted. `ManifestLoader` loads the manifest
/// and its signature.
///
/// Without trusted keys, every manifest is accepted, and its signature is not looked for. With them:
///
/// | the manifest | decision |
/// | --- | --- |
/// | has a signature by a trusted key, of these bytes | accepted |
/// | has none, or an unreadable one | refused |
/// | is signed by another key, even one that the manifest names | refused |
/// | has other bytes than were signed | refused |
/// | was signed under another file name (`file:` in the trusted comment) | refused |
///
/// Minisign itself ignores `file:`. Here it counts, because a publisher may sign the manifests of several apps with one
/// key: without it, a server could send the manifest and the signature of one app in place of those of another. A trusted
/// comment without `file:` is accepted for every name.
package struct ManifestTrust: Sendable, Equatable {
    /// The trusted keys. The signature of any one of them suffices.
    package let keys: [MinisignPublicKey]
    /// The trusted certificates, for code signing of Expo Updates (`ExpoCodeSigning`).
    let certificates: [CodeSigningCertificate]
    /// Whether the key that the manifest itself names is trusted, because none is known yet.
    package let acceptsNamedKey: Bool

    /// Accepts every manifest.
    package static let anyone = ManifestTrust(keys: [], acceptsNamedKey: false)

    private init(
        keys: [MinisignPublicKey], certificates: [CodeSigningCertificate] = [], acceptsNamedKey: Bool
    ) {
        (self.keys, self.certificates, self.acceptsNamedKey) = (keys, certificates, acceptsNamedKey)
    }

    /// Whether a manifest must be signed.
    package var requiresSignature: Bool { !keys.isEmpty || !certificates.isEmpty || acceptsNamedKey }

    /// The keys and certificates as they are stored with a site.
    package var storedTexts: [String] { keys.map(\.text) + certificates.map(\.storedText) }

    /// The keys and certificates as signers of manifests (`ManifestSigner.key`).
    package var signers: Set<String> { Set(keys.map(\.text) + certificates.map(\.signerText)) }

    /// The keys and certificates in messages.
    package var names: String {
        (keys.map(\.fingerprint) + certificates.map(\.name)).joined(separator: " or ")
    }

    /// Parses the keys that the user names. They replace the stored ones, which do not stay trusted: a key is usually
    /// changed because it is lost or stolen. To trust both for a while, the user names both.
    ///
    /// - Parameters:
    ///   - values: public keys (`RW…`), paths of files with one, `first-use` or `none`.
    ///   - storedKeys: the keys that are stored with the site of the manifest. They apply without a value, and
    ///     with `first-use`, which only replaces a missing key.
    /// - Throws: `LarderError` of kind `.input` for a value that is no key.
    package init(_ values: [String], storedKeys: [String]) throws(LarderError) {
        let words = values.filter { $0 == Self.firstUse || $0 == Self.none }
        if let word = words.first, values.count > 1 {
            throw LarderError(
                .input, "\"\(word)\" cannot be combined with other keys: name either keys or \"\(word)\"")
        }
        if words.first == Self.none {
            self = .anyone
            return
        }
        var keys: [MinisignPublicKey] = []
        var certificates: [CodeSigningCertificate] = []
        let areNamed = words.isEmpty && !values.isEmpty
        for text in areNamed ? values : storedKeys {
            if let certificate = try Self.certificate(text, mayBeFile: areNamed) {
                if !certificates.contains(certificate) { certificates.append(certificate) }
                continue
            }
            let key = try Self.key(text, mayBeFile: areNamed)
            if !keys.contains(key) { keys.append(key) }
        }
        let count = keys.count + certificates.count
        guard count <= Self.maxKeys else {
            throw LarderError(
                .input, "\(count) keys are named for one manifest: name at most \(Self.maxKeys)")
        }
        self.init(
            keys: keys, certificates: certificates, acceptsNamedKey: !words.isEmpty && count == 0)
    }

    /// The value for trusting the key that the first manifest names.
    package static let firstUse = "first-use"
    /// The value for accepting every manifest.
    package static let none = "none"
    /// The maximum number of trusted keys. More are an error.
    private static let maxKeys = 64

    /// Parses a stored certificate, or reads one from a PEM file; nil if the value is something else.
    private static func certificate(
        _ value: String, mayBeFile: Bool
    ) throws(LarderError) -> CodeSigningCertificate? {
        do throws(CodeSigningError) {
            if value.hasPrefix(CodeSigningCertificate.storedPrefix) {
                return try CodeSigningCertificate(storedText: value)
            }
            guard mayBeFile,
                let bytes = try? WholeFile.beginning(of: value, CodeSigningCertificate.maxTextBytes + 1)
            else { return nil }
            let text = String(decoding: bytes, as: UTF8.self)
            return CodeSigningCertificate.occurs(in: text) ? try CodeSigningCertificate(pem: text) : nil
        } catch {
            throw LarderError(
                .input,
                "the certificate \(value.prefix(200)) cannot be used: \(error); name a PEM file with one "
                    + "certificate")
        }
    }

    /// Parses a key, or reads it from a file. A file whose name is a key does not take the place of that key.
    private static func key(_ value: String, mayBeFile: Bool) throws(LarderError) -> MinisignPublicKey {
        do throws(MinisignError) { return try MinisignPublicKey(value) } catch {
            guard mayBeFile, WholeFile.exists(value) else {
                let isPath =
                    mayBeFile && !value.isEmpty && (!value.hasPrefix("RW") || value.hasSuffix(".pub"))
                throw LarderError(
                    .input,
                    !isPath
                        ? "the key \"\(value)\" cannot be used: \(error); name a public key (RW…) or the path of its .pub file"
                        : "the file \(value) of a key does not exist; name a public key (RW…), the path of its .pub file, "
                            + "\"\(firstUse)\" or \"\(none)\"")
            }
        }
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try WholeFile.beginning(of: value, MinisignSignature.maxBytes + 1)
        } catch {
            throw LarderError(
                .input, "cannot read the key \(value): \(error.reason); name a public key (RW…) or its file")
        }
        do throws(MinisignError) {
            return try MinisignPublicKey(String(decoding: bytes, as: UTF8.self))
        } catch {
            let isRoot = (try? TUFClient.versionOfTrustedRoot(bytes)) != nil
            throw LarderError(
                .input,
                isRoot
                    ? "\(value) is the trusted root of a TUF repository, not a key; name the repository in place of the "
                        + "manifest, such as tuf+https://example.com/metadata/"
                    : "\(value) is \(error); name the file of the public key, which ends in .pub")
        }
    }

    /// A signature as a loader found it.
    package enum FoundSignature: Sendable {
        /// The text of the signature, and the bytes that it should sign.
        case text(String, of: [UInt8])
        /// No signature exists: the place where it would be.
        case missing(String)
        /// The file or response in its place is no signature: the reason.
        case unreadable(String)
    }

    /// Decides whether a manifest is accepted.
    ///
    /// - Parameters:
    ///   - name: the file name of the manifest, for `file:` in the trusted comment.
    ///   - namedKey: the key that the manifest itself names. Ignored unless it is trusted on first use.
    /// - Returns: The signer; nil if the manifest need not be signed.
    package func verify(
        _ found: FoundSignature, as name: String, namedKey: MinisignPublicKey?
    ) throws(ManifestRefusal) -> ManifestSigner? {
        guard requiresSignature else { return nil }
        let text: String
        let bytes: [UInt8]
        switch found {
        case .missing(let place): throw .unsigned(place)
        case .unreadable(let reason): throw .damaged(reason)
        case .text(let signatureText, let signedBytes): (text, bytes) = (signatureText, signedBytes)
        }
        let signature: MinisignSignature
        do throws(MinisignError) { signature = try MinisignSignature(text) } catch {
            throw .damaged(error.description)
        }
        let candidates = try trustedKeys(namedKey).filter { $0.keyID == signature.keyID }
        guard !candidates.isEmpty else { throw .otherKey(Self.beginning(ofKey: signature.keyID)) }
        // Two keys may have the same ID, by accident or by an attacker's choice.
        guard let key = candidates.first(where: { (try? $0.verify(signature, of: bytes)) != nil }) else {
            throw .changed(candidates[0].fingerprint)
        }
        if let file = Self.fileName(in: signature.trustedComment), file != name {
            throw .otherFile(file, name)
        }
        return ManifestSigner(key: key.text, signature: text)
    }

    private func trustedKeys(_ namedKey: MinisignPublicKey?) throws(ManifestRefusal) -> [MinisignPublicKey] {
        guard acceptsNamedKey else { return keys }
        guard let namedKey else { throw .namesNoKey }
        return [namedKey]
    }

    /// The name of the signed file in a trusted comment; nil if it has none. Minisign separates the fields by tabs.
    static func fileName(in trustedComment: String) -> String? {
        let prefix = "file:"
        let field = trustedComment.utf8.split(separator: 0x09).first { $0.starts(with: prefix.utf8) }
        return field.map { String(decoding: $0.dropFirst(prefix.utf8.count), as: UTF8.self) }
    }

    /// The beginning of the text of a key of which only the ID is known.
    private static func beginning(ofKey id: [UInt8]) -> String {
        // "Ed" and the ID are 80 bits, and a character of base64 is 6.
        Base64.encode(Array("Ed".utf8) + id).prefix(13) + "…"
    }
}

/// The reason why a manifest is refused although it could be loaded.
package enum ManifestRefusal: Error, Sendable, Equatable {
    /// The signature is not by a trusted certificate, or not of these bytes.
    case otherSigner
    /// The reason why a certificate is not accepted.
    case untrusted(String)
    /// No signature exists. The text names the place where it would be.
    case unsigned(String)
    /// The beginning of the key that signed, or claims to have signed.
    case otherKey(String)
    /// The bytes or the trusted comment are not those that this key signed.
    case changed(String)
    /// The signature cannot be read.
    case damaged(String)
    /// The name under which it was signed, and the name under which it was loaded.
    case otherFile(String, String)
    /// The manifest names no key that could be trusted on first use.
    case namesNoKey
}

extension LarderError {
    /// The error for a refused manifest: its name, the reason, and what to do.
    package init(_ refusal: ManifestRefusal, of manifest: String, _ trust: ManifestTrust) {
        let required = trust.names.isEmpty ? "the key that it names" : trust.names
        let reason: String
        var remedy: Remedy?
        switch refusal {
        case .unsigned(let place):
            reason =
                "it is not signed (\(place)), but must be signed by \(required): have its publisher sign it"
        case .otherKey(let key):
            reason =
                "it is signed by another key, \(key), not by \(required): if its publisher has changed the key, "
                + "compare the new one with what the publisher says elsewhere, and name it"
            remedy = .trust
        case .otherSigner:
            reason =
                "the signature is not by \(required), or it was changed after it was signed: have its publisher sign it "
                + "again, or if the certificate has changed, name the new one"
            remedy = .trust
        case .untrusted(let detail):
            reason =
                "\(detail); have its publisher sign it with a certificate that is valid, or name the one that it uses"
            remedy = .trust
        case .changed(let key):
            reason =
                "the signature by \(key) does not match: it was changed after it was signed, or another file was "
                + "signed; have its publisher sign it again"
        case .damaged(let detail):
            reason = "its signature is damaged: \(detail); have its publisher sign it again"
        case .otherFile(let signed, let name):
            reason =
                "it was signed as the file \"\(signed)\", not as \"\(name)\": have its publisher sign it under this name, "
                + "or without \"file:\" in the trusted comment"
        case .namesNoKey:
            reason = "it names no key that could be trusted on first use: name its key"
            remedy = .trust
        }
        self.init(.refused, "the manifest \(manifest) is refused: \(reason)", remedy: remedy)
    }
}

extension ManifestPlan {
    /// Returns the keys that are stored for this manifest: those of the plan itself, else those of a stored plan with the
    /// manifest from the same place. The same base is preferred, but another base needs the same signature.
    package func storedKeys(among plans: [ManifestPlan]) -> [String] {
        guard trustedKeys.isEmpty else { return trustedKeys }
        let known = plans.filter { $0.hasSamePlace(as: self) && !$0.trustedKeys.isEmpty }
        return (known.first { $0.hasSameLocation(as: self) } ?? known.first)?.trustedKeys ?? []
    }
}
