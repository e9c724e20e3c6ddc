internal import Digest

/// The address of a PostgreSQL server, with the schema that a store has there.
package struct PostgreSQLAddress: Sendable, Hashable {
    /// The connection strings for libpq: one for readers and one for writers. If there are several servers,
    /// readers may use any of them, but writers need one that accepts writes.
    let words: String
    let writerWords: String
    /// The address without its password, for messages.
    package let shown: String
    package let schema: String
    /// The reason why the address is invalid, or nil if it is valid. `check` throws it.
    package let fault: String?
    /// Whether the address contains a password or something that may be one. libpq repeats it in error
    /// messages.
    let hasSecret: Bool

    package init(
        words: String, writerWords: String, shown: String, schema: String, fault: String?, hasSecret: Bool
    ) {
        (self.words, self.writerWords) = (words, writerWords)
        (self.shown, self.schema) = (shown, schema)
        (self.fault, self.hasSecret) = (fault, hasSecret)
    }

    /// Throws if the address is not valid.
    package func check() throws(StoreError) {
        if let fault {
            throw StoreError(
                .request, doing: "open", path: shown, detail: fault,
                advice: "write it as postgres://USER@HOST/DATABASE?schema=larder")
        }
    }

    /// Derives a number for this store from a number for a purpose. Advisory locks of PostgreSQL have a name
    /// space for the whole database, so that stores in several schemas need different numbers.
    package func key(_ number: Int64) -> Int64 {
        let digest = DigestStream.digest(.sha256, of: "larder \(schema) \(number)".utf8.span)
        return digest.bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }

    /// The schema name in quotes, because it may be a keyword of SQL.
    package var quotedSchema: String { "\"\(schema)\"" }

    /// The name of the channel on which sessions notify each other of changes.
    var channel: String { "larder_\(schema)" }
}
