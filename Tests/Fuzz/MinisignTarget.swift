internal import Digest

/// The parsers of keys and signatures of minisign.
struct MinisignTarget: Target {
    let name = "minisign"
    let suffixes = [".minisign"]
    let pieces = [
        "untrusted comment:", "untrusted comment: ", "trusted comment: ", "timestamp:", "timestamp:-1",
        "99999999999999999999", "\t", "\r\n", "\n", "\n\n", " ", "RW", "RU", "RWQf", "=", "==", "A", "+", "/",
        "é",
        "\u{85}",
    ]
    private static let message = Array("message".utf8)

    func fault(_ input: [UInt8]) -> String? {
        let text = String(decoding: input, as: UTF8.self)
        return publicKeyFault(text) ?? signatureFault(text) ?? privateKeyFault(text)
    }

    /// A key that is written must be read as the same one.
    private func publicKeyFault(_ text: String) -> String? {
        guard let key = try? MinisignPublicKey(text) else { return nil }
        guard key.text.utf8.count == 56, key.text.hasPrefix("RW"), key.fingerprint.count == 25 else {
            return "a key's text: \(key.text)"
        }
        let isSame =
            (try? MinisignPublicKey(key.text)) == key && (try? MinisignPublicKey(key.fileText)) == key
        return isSame ? nil : "a public key: \(key.text)"
    }

    /// A signature that is written must be read as the same one.
    private func signatureFault(_ text: String) -> String? {
        guard let signature = try? MinisignSignature(text) else { return nil }
        guard (try? MinisignSignature(signature.text)) == signature else {
            return "a signature: \(signature)"
        }
        _ = signature.timestamp
        return nil
    }

    /// A key without a passphrase must sign, and be read as the same one after it is written. Keys with a passphrase are only
    /// parsed, since deriving a key takes seconds.
    private func privateKeyFault(_ text: String) -> String? {
        guard let file = try? MinisignKeyFile(text), !file.needsPassphrase, let key = try? file.unlock(nil)
        else {
            return nil
        }
        let signature = key.sign(Self.message, trustedComment: "timestamp:1")
        guard (try? key.publicKey.verify(signature, of: Self.message)) != nil else {
            return "a key that signs: \(key.publicKey)"
        }
        let again = try? MinisignKeyFile(key.fileText(passphrase: nil)).unlock(nil)
        return again?.publicKey == key.publicKey ? nil : "a secret key: \(key.publicKey)"
    }
}
