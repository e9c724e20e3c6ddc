public import Check
internal import Digest
internal import Glibc
internal import System
package import TUF
internal import Web

/// The four roles of a TUF repository, which sign different metadata.
public enum TUFRole: String, Sendable, CaseIterable {
    /// Names the keys of all roles.
    case root
    /// Lists the files.
    case targets
    /// Names the current version of the targets.
    case snapshot
    /// Names the current snapshot. It is renewed often, so that clients notice if they are offered old metadata.
    case timestamp

    var role: RepositoryRole {
        switch self {
        case .root: .root
        case .targets: .targets
        case .snapshot: .snapshot
        case .timestamp: .timestamp
        }
    }
}

/// A public key of a TUF repository.
public struct TUFPublicKey: Sendable {
    package let key: TUFKey

    /// The key id: the SHA-256 of the key in canonical JSON.
    public var id: String { key.id }

    /// The public key of a secret key.
    public init(of key: ManifestKey) {
        self.key = TUFKey(key.publicKey.key.key)
    }

    /// Reads a file with a public key in the format of minisign.
    public init(file path: String) throws(LarderError) {
        key = TUFKey(try ManifestPublicKey(file: path).key.key)
    }

    /// A key that a user names: the path of a file, the key as text (`RW…`), or the 64 hexadecimal digits of an
    /// Ed25519 key.
    public init(_ text: String) throws(LarderError) {
        if WholeFile.exists(text) {
            key = TUFKey(try ManifestPublicKey(file: text).key.key)
        } else if let key = try? MinisignPublicKey(text) {
            self.key = TUFKey(key.key)
        } else if let key = Hex.decode(text).flatMap({ Ed25519PublicKey($0) }) {
            self.key = TUFKey(key)
        } else {
            throw LarderError(
                .input,
                "\"\(text)\" is not a public key; name a file of one, its text (RW…), or 64 hexadecimal digits"
            )
        }
    }
}

extension TUFRepository {
    /// Makes one key per role: `ROLE.key`, which only this user can read, and `ROLE.pub`. A key that is there is used.
    ///
    /// - Parameter passphrase: the passphrase that protects the new key of a role; nil for none.
    /// - Throws: `LarderError` of kind `.machine` if a file cannot be written, `.input` for a file that is no key.
    public static func createKeys(
        for roles: [TUFRole], in folder: String, passphrase: (TUFRole) throws -> String?
    ) throws -> [TUFRole: [TUFPublicKey]] {
        do throws(SystemError) { try Folder.make(folder) } catch { throw LarderError(error) }
        var keys: [TUFRole: [TUFPublicKey]] = [:]
        for role in roles {
            let (file, publicFile) = ("\(folder)/\(role.rawValue).key", "\(folder)/\(role.rawValue).pub")
            if !WholeFile.exists(publicFile) {
                let key = try ManifestKey.new()
                try key.write(to: file, publicKeyFile: publicFile, passphrase: try passphrase(role))
            }
            keys[role] = [try TUFPublicKey(file: publicFile)]
        }
        return keys
    }
}
