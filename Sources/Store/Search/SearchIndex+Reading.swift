package import Database
package import Web

/// The properties of a text that results show or the ranking uses.
package struct TextFacts: Sendable, Equatable {
    package let title: String
    package let description: String
    package let language: String
    /// The titles of its sections, one per line.
    package let headings: String
    /// The searchable form of its URLs, one per line.
    package let address: String
    /// The quality of the text, which does not depend on the query.
    package let prior: Double
}

extension SearchIndex {
    /// Returns the properties of a text; nil if it was removed.
    package func facts(of id: Int64) throws(StoreError) -> TextFacts? {
        try statement(
            """
            SELECT page.title, text.description, text.language, page.headings, page.address, text.prior
            FROM text JOIN page ON page.rowid = text.id WHERE text.id = ?
            """
        ).first(.integer(id)) { row in
            TextFacts(
                title: row.text(0), description: row.text(1), language: row.text(2), headings: row.text(3),
                address: row.text(4), prior: row.real(5))
        }
    }

    /// Returns at most the first `maxBytes` bytes of the text, which has one line for each block.
    package func body(of id: Int64, maxBytes: Int) throws(StoreError) -> [UInt8] {
        try statement("SELECT body FROM page WHERE rowid = ?").first(.integer(id)) {
            $0.utf8(0, atMost: maxBytes)
        }
            ?? []
    }

    /// Returns the text with the next higher id; nil after the last one.
    package func text(after id: Int64) throws(StoreError) -> (id: Int64, title: String, body: [UInt8])? {
        try statement("SELECT rowid, title, body FROM page WHERE rowid > ? ORDER BY rowid LIMIT 1")
            .first(.integer(id)) { ($0.integer(0), $0.text(1), $0.utf8(2)) }
    }

    /// Returns the sections of a text in their order.
    package func sections(of id: Int64) throws(StoreError) -> [DocumentText.Section] {
        let lines = try statement("SELECT sections FROM text WHERE id = ?").first(.integer(id)) { $0.text(0) }
        return Self.sections(of: lines ?? "")
    }

    /// Returns the bodies that have the text.
    package func bodies(of id: Int64) throws(StoreError) -> [(sha256: [UInt8], form: String)] {
        var bodies: [(sha256: [UInt8], form: String)] = []
        try statement("SELECT sha256, form FROM body WHERE text = ?").each(.integer(id)) { row in
            bodies.append((row.blob(0), row.text(1)))
        }
        return bodies
    }

    /// Returns the number of indexed bodies, with or without text.
    package func bodyCount() throws(StoreError) -> Int {
        try statement("SELECT count(*) FROM body").first { Int($0.integer(0)) } ?? 0
    }

    /// Returns the number of bodies that the last run left to the next one.
    package func unreadCount() throws(StoreError) -> Int {
        try statement("SELECT pages FROM unread").first { Int($0.integer(0)) } ?? 0
    }
}
