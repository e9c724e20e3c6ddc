package import Digest
internal import Glibc
internal import System
internal import Web

/// A key that verifies signatures of manifests, in the format of minisign.
public struct ManifestPublicKey: Sendable, Hashable, CustomStringConvertible {
    package let key: MinisignPublicKey

    package init(_ key: MinisignPublicKey) {
        self.key = key
    }

    /// Reads a file with a public key.
    ///
    /// - Throws: `LarderError` of kind `.input` if the file cannot be read or contains something else.
    public init(file path: String) throws(LarderError) {
        let text = try ManifestKeyFile.text(of: path)
        do throws(MinisignError) {
            key = try MinisignPublicKey(text)
        } catch {
            throw LarderError(.input, "cannot read the key \(path): \(error)")
        }
    }

    /// The key as text, which begins with `RW`.
    public var text: String { key.text }

    /// The text without its middle. It is long enough that no other key has the same one.
    public var fingerprint: String { key.fingerprint }

    /// The ID of the key, as minisign prints it.
    public var id: String { key.keyName }

    public var description: String { text }
}

/// A secret key that signs manifests, in the format of minisign.
///
///     let key = try ManifestKey.new()
///     try key.write(to: "release.key", publicKeyFile: "release.pub", passphrase: "correct horse")
///     let signed = try report.signed(by: key, .inside)
public struct ManifestKey: Sendable {
    package let key: MinisignPrivateKey

    package init(_ key: MinisignPrivateKey) {
        self.key = key
    }

    /// Generates a key.
    public static func new() throws(LarderError) -> ManifestKey {
        guard let key = MinisignPrivateKey() else {
            throw LarderError(.machine, "cannot make a key: OpenSSL failed; free some memory and try again")
        }
        return ManifestKey(key)
    }

    /// The key for those who verify signatures.
    public var publicKey: ManifestPublicKey { ManifestPublicKey(key.publicKey) }

    /// Writes the key to a file that only this user can read, and its public key to another file. Blocks for about a second if
    /// there is a passphrase.
    ///
    /// - Parameters:
    ///   - passphrase: protects the key; nil stores it as plain text.
    ///   - replacesFiles: whether existing files are replaced.
    /// - Throws: `LarderError` of kind `.input` for an unusable passphrase and for existing files, `.machine` if the files cannot
    ///   be written.
    public func write(
        to path: String, publicKeyFile: String, passphrase: String?, replacesFiles: Bool = false
    ) throws(LarderError) {
        for file in [path, publicKeyFile] where !replacesFiles && Self.exists(file) {
            throw LarderError(
                .input,
                "\(file) exists, and a lost key cannot be made again; name another file, or replace it",
                remedy: .replaceFile)
        }
        let text: String
        do throws(MinisignError) {
            text = try key.fileText(passphrase: passphrase)
        } catch {
            throw LarderError(.input, "cannot protect the key: \(error)")
        }
        do throws(SystemError) {
            if replacesFiles {
                try WholeFile.replace(path, with: text)
            } else {
                // Fails if another process has made the file in the meantime.
                let file = try File(path, O_WRONLY | O_CREAT | O_EXCL)
                try file.write(Array(text.utf8))
                try file.sync()
                try file.close()
            }
            try WholeFile.replace(publicKeyFile, with: key.publicKey.fileText, mode: 0o644)
        } catch {
            throw LarderError(error)
        }
    }

    private static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}

/// A file with a secret key, which may be protected by a passphrase.
public struct ManifestKeyFile: Sendable {
    private let path: String
    private let file: MinisignKeyFile

    /// Reads a file with a secret key.
    ///
    /// - Throws: `LarderError` of kind `.input` if the file cannot be read or contains something else.
    public init(_ path: String) throws(LarderError) {
        self.path = path
        let text = try Self.text(of: path)
        do throws(MinisignError) {
            file = try MinisignKeyFile(text)
        } catch {
            throw LarderError(
                .input, "cannot read the key \(path): \(error); make a key with: larder key new")
        }
    }

    /// Whether `unlock` needs a passphrase.
    public var needsPassphrase: Bool { file.needsPassphrase }

    /// Returns the key. Blocks for up to some seconds if there is a passphrase.
    ///
    /// - Throws: `LarderError` of kind `.input` for a missing or wrong passphrase and a damaged key, `.machine` for lack of
    ///   memory.
    public func unlock(_ passphrase: String?) throws(LarderError) -> ManifestKey {
        do throws(MinisignError) {
            return ManifestKey(try file.unlock(passphrase))
        } catch {
            var kind = LarderError.Kind.input
            if case .outOfMemory = error { kind = .machine }
            throw LarderError(kind, "cannot use the key \(path): \(error)")
        }
    }

    /// Reads a small file that the user has named.
    fileprivate static func text(of path: String) throws(LarderError) -> String {
        do throws(SystemError) {
            return String(
                decoding: try WholeFile.read(path, atMost: MinisignKeyFile.maxBytes), as: UTF8.self)
        } catch {
            throw LarderError(.input, "\(error.problem); name the file of a key")
        }
    }
}

/// A key that was made or shown, with its files.
public struct ManifestKeyReport: Sendable, Equatable {
    /// The public key.
    public let publicKey: ManifestPublicKey
    /// The file that was written or read.
    public let file: String
    /// The file that the public key was written to; nil if none was.
    public let publicKeyFile: String?
    /// Whether a passphrase protects the file; nil for the file of a public key.
    public let isProtected: Bool?

    public init(publicKey: ManifestPublicKey, file: String, publicKeyFile: String?, isProtected: Bool?) {
        self.publicKey = publicKey
        self.file = file
        self.publicKeyFile = publicKeyFile
        self.isProtected = isProtected
    }

    /// The report as JSON.
    public var json: String {
        let members: JSONMembers = [
            "publicKey": publicKey.text, "fingerprint": publicKey.fingerprint, "id": publicKey.id,
            "file": file, "publicKeyFile": publicKeyFile, "protected": isProtected,
        ]
        return members.text()
    }
}
