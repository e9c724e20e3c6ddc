/// What a check found of a bundle that is held.
package struct BundleVerdict: Sendable, Equatable {
    package let href: String
    /// The body that was looked at; empty where there was none.
    package let sha256: [UInt8]
    /// In a word, such as "verified".
    package let name: String
    package let detail: String?
    package let isGood: Bool

    package init(href: String, sha256: [UInt8], name: String, detail: String?, isGood: Bool) {
        self.href = href
        self.sha256 = sha256
        self.name = name
        self.detail = detail
        self.isGood = isGood
    }
}

extension NoteBook {
    static let verdictTable = """
        CREATE TABLE IF NOT EXISTS verdict (
            id INTEGER PRIMARY KEY,
            href TEXT NOT NULL,
            sha256 BLOB NOT NULL,
            name TEXT NOT NULL,
            detail TEXT,
            good INTEGER NOT NULL,
            UNIQUE (href, sha256)
        ) STRICT;

        """

    /// Of how many versions of a bundle what was found is remembered.
    private static let mostVersions = 8

    /// In place of what was found of the same bodies at the same addresses before.
    package func note(verdicts: [BundleVerdict]) throws(StoreError) {
        let add = try connection.prepare(
            "INSERT OR REPLACE INTO verdict (href, sha256, name, detail, good) VALUES (?, ?, ?, ?, ?)")
        let forget = try connection.prepare(
            """
            DELETE FROM verdict WHERE href = ?1 AND id NOT IN (
                SELECT id FROM verdict WHERE href = ?1 ORDER BY id DESC LIMIT ?2)
            """)
        try connection.transaction { () throws(StoreError) in
            for verdict in verdicts {
                try add.run(
                    .text(verdict.href), .blob(verdict.sha256), .text(verdict.name), .optional(verdict.detail),
                    .integer(verdict.isGood ? 1 : 0))
                try forget.run(.text(verdict.href), .integer(Int64(Self.mostVersions)))
            }
        }
    }

    /// What was found at an address, of whichever bodies it had.
    package func verdicts(of href: String) throws(StoreError) -> [BundleVerdict] {
        var verdicts: [BundleVerdict] = []
        try connection.prepare("SELECT sha256, name, detail, good FROM verdict WHERE href = ? ORDER BY id")
            .each(.text(href)) { row in
                verdicts.append(
                    BundleVerdict(
                        href: href, sha256: row.blob(0), name: row.text(1), detail: row.optionalText(2),
                        isGood: row.integer(3) != 0))
            }
        return verdicts
    }
}
