internal import Database
internal import Digest
internal import Glibc
internal import Synchronization
internal import System
package import Web

/// The key by which a store hashes the secrets of requests, in a file of its own.
///
/// The file is as secret as a password. Copies of the database, of its journal and of archives do not contain
/// the key, so that no attacker can test which API key belongs to a hash. For the same reason a store on a
/// PostgreSQL server has its key in the local folder of each machine and not in a table. Machines that share
/// such a store recognise each other's variants if they have the same file.
extension StoreFolder {
    var secretKeyFile: String { path + "/secret-key" }

    private static let secretKeyByteCount = 32

    /// Returns the hasher of this store, which reads the key when it is first needed. Without a key it
    /// returns nil for all messages.
    ///
    /// - Parameter createsKey: whether to create the key if there is none. A reader does not need one then,
    ///   because nothing in the store is hashed.
    package func secretHasher(createsKey: Bool) -> SecretHasher {
        let cache = SecretKeyCache()
        return SecretHasher { message in
            guard let key = cache.key(of: self, creates: createsKey) else { return nil }
            return DigestStream.hmac(key, message.span).bytes
        }
    }

    /// The key, or nil if there is none or it cannot be read.
    var secretKey: [UInt8]? {
        guard let text = try? WholeFile.read(secretKeyFile, atMost: 1024) else { return nil }
        return Digest(.sha256, hex: String(decoding: text.filter { $0 != 0x0A }, as: UTF8.self))?.bytes
    }

    static func newSecretKey() -> [UInt8] {
        var source = SystemRandomNumberGenerator()
        return (0..<secretKeyByteCount).map { _ in UInt8.random(in: 0 ... .max, using: &source) }
    }

    /// Stores a key if the store has none yet. Returns the key of the store.
    func storeSecretKeyIfMissing(_ key: [UInt8]) throws(StoreError) -> [UInt8] {
        if let stored = secretKey { return stored }
        guard let digest = Digest(.sha256, bytes: key) else {
            preconditionFailure("a secret key has 32 bytes")
        }
        try Self.makeFolders(path)
        try StoreError.wrapping { () throws(SystemError) in
            let file = try File(temporaryIn: path, named: "secret-key")
            defer { unlink(file.path) }
            try file.write(Array((digest.hex + "\n").utf8))
            try file.sync()
            // Unlike a rename, a link never replaces a key that another process has created in the meantime.
            guard link(file.path, secretKeyFile) == 0 || errno == EEXIST else {
                throw SystemError(errno, doing: "create", secretKeyFile)
            }
        }
        guard let stored = secretKey else {
            throw StoreError(
                .unusable, doing: "read", path: secretKeyFile, detail: "it is not the key of a store",
                advice: "remove it; responses that vary by a secret are then fetched again")
        }
        return stored
    }
}

/// A key that is read when it is first needed. Any thread may use it.
private final class SecretKeyCache: Sendable {
    private let key = Mutex<[UInt8]?>(nil)

    func key(of folder: StoreFolder, creates: Bool) -> [UInt8]? {
        key.withLock { key in
            // Without a key, the response is not reused for other requests, which is safe.
            if key == nil { key = folder.secretKey }
            if key == nil, creates { key = try? folder.storeSecretKeyIfMissing(StoreFolder.newSecretKey()) }
            return key
        }
    }
}

extension StoreWriter {
    /// Hashes the secrets that earlier versions stored as plain text, and marks their responses as private.
    /// This happens once: when the store gets its key.
    ///
    /// Values of `Cookie` and `Authorization` had hashes without a key. These are removed, and from then on
    /// the responses match no other request.
    func hashSecretsOfEarlierVersions() throws(StoreError) {
        guard folder.secretKey == nil else { return }
        // The file is written last: if this run is killed, the next one starts again.
        let key = StoreFolder.newSecretKey()
        try replaceSecrets(by: SecretHasher { message in DigestStream.hmac(key, message.span).bytes })
        _ = try folder.storeSecretKeyIfMissing(key)
    }

    private func replaceSecrets(by secrets: SecretHasher) throws(StoreError) {
        var rows: [(place: [SQLValue], variant: String, hadSecret: Bool)] = []
        try prepare("SELECT url, snapshot, request, variant FROM response WHERE variant LIKE '%: %'").each {
            row in
            let old = row.text(3)
            var hadSecret = false
            let new = VaryKey.hashingSecrets(of: old, secrets, hadSecret: &hadSecret) ?? VaryKey.never
            guard new != old else { return }
            let place: [SQLValue] = [
                .integer(row.integer(0)), .integer(row.integer(1)), .text(row.text(2)), .text(old),
            ]
            rows.append((place, new, hadSecret))
        }
        guard !rows.isEmpty else { return }
        try executeInSQLite("PRAGMA secure_delete = ON", doing: "remove secrets from")
        try transaction { () throws(StoreError) in
            let remove = try prepare(
                "DELETE FROM response WHERE url = ?1 AND snapshot = ?2 AND request = ?3 AND variant = ?4")
            let change = try prepare(
                """
                UPDATE response SET variant = ?5, flags = flags | ?6
                    WHERE url = ?1 AND snapshot = ?2 AND request = ?3 AND variant = ?4
                """)
            for row in rows {
                try remove.run(
                    Array(row.place.dropLast()) + [.text(row.variant)], doing: "remove secrets from")
                let flags = row.hadSecret ? Int64(ResponseFlags.isPrivate.rawValue) : 0
                try change.run(
                    row.place + [.text(row.variant), .integer(flags)], doing: "remove secrets from")
            }
            try deleteCounts()
        }
        try executeInSQLite("PRAGMA secure_delete = OFF", doing: "remove secrets from")
        try updateStoredCounts()
        try rewriteJournal()
        truncateLog()
    }
}
