internal import Digest

/// The address of a PostgreSQL server, with the schema that contains a store. `PostgreSQLStoreAddress` parses it.
package struct PostgreSQLAddress: Sendable, Hashable {
    /// The connection string for libpq, for readers. If it names several servers, readers may use any of them.
    let connectionString: String
    /// The connection string for writers, which need a server that accepts writes.
    let writerConnectionString: String
    /// The address without its password, for messages.
    package let shown: String
    /// The schema of the store's tables.
    package let schema: String
    /// The reason why the address is invalid, or nil if it is valid. `check` throws it.
    package let fault: String?
    /// Whether the address contains a password or something that may be one. libpq repeats it in error
    /// messages.
    let hasSecret: Bool

    package init(
        connectionString: String, writerConnectionString: String, shown: String, schema: String,
        fault: String?, hasSecret: Bool
    ) {
        (self.connectionString, self.writerConnectionString) = (connectionString, writerConnectionString)
        (self.shown, self.schema) = (shown, schema)
        (self.fault, self.hasSecret) = (fault, hasSecret)
    }

    /// Throws an error of reason `.request` if the address is not valid.
    package func check() throws(StoreError) {
        if let fault {
            throw StoreError(
                .request, doing: "open", path: shown, detail: fault,
                advice: "write it as postgres://USER@HOST/DATABASE?schema=larder")
        }
    }

    /// Returns the number of an advisory lock of this store, derived from a number for its purpose. Advisory locks have
    /// one name space for the whole database, so stores in several schemas need different numbers.
    package func lockKey(_ number: Int64) -> Int64 {
        let digest = DigestStream.digest(.sha256, of: "larder \(schema) \(number)".utf8.span)
        return digest.bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }

    /// The schema name in quotes, because it may be a keyword of SQL.
    package var quotedSchema: String { "\"\(schema)\"" }

    /// The name of the channel (LISTEN and NOTIFY) on which sessions notify each other of changes of the store.
    var channel: String { "larder_\(schema)" }
}
