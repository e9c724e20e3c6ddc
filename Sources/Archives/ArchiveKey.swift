package import Digest
internal import Glibc
package import Store
internal import System

/// The key with which a store signs archives: a file in its folder that is nobody else's to read.
package enum ArchiveKey {
    private static let name = "signing.key"

    /// The store's key, made where there is none yet.
    package static func open(in folder: StoreFolder) throws(ArchiveError) -> SigningKey {
        let path = "\(folder.path)/\(name)"
        if access(path, F_OK) != 0 {
            guard let made = SigningKey() else {
                throw ArchiveError(.machine, "a key to sign with cannot be made: OpenSSL has no curve P-384")
            }
            try ArchiveError.wrapping { () throws(SystemError) in
                let draft = try WholeFile.temporary(in: folder.path, named: "signing", made.stored)
                defer { unlink(draft) }
                // Of two that make one at the same time, the second takes the first one's.
                guard link(draft, path) == 0 || errno == EEXIST else { throw SystemError(errno, doing: "write", path) }
            }
        }
        let bytes = try ArchiveError.wrapping { () throws(SystemError) in try WholeFile.read(path, atMost: 64 << 10) }
        guard let key = SigningKey(stored: bytes) else {
            throw ArchiveError(.input, "\(path) is no key to sign with; remove it and have a new one made")
        }
        return key
    }
}
