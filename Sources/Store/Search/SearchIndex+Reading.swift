package import Web

/// What is shown of a text beside its words.
package struct TextFacts: Sendable, Equatable {
    package let title: String
    package let description: String
    package let language: String
    package let headings: String
    package let address: String
    /// What speaks for it whatever the question.
    package let prior: Double
}

extension SearchIndex {
    /// Nil for a text that is gone meanwhile.
    package func facts(of id: Int64) throws(StoreError) -> TextFacts? {
        try prepared(
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

    /// What the text says, a line for each block, no more than so many bytes of it.
    package func body(of id: Int64, atMost most: Int) throws(StoreError) -> [UInt8] {
        try prepared("SELECT body FROM page WHERE rowid = ?").first(.integer(id)) { $0.utf8(0, atMost: most) }
            ?? []
    }

    /// The text with the next number; nil behind the last.
    package func text(after id: Int64) throws(StoreError) -> (id: Int64, title: String, body: [UInt8])? {
        try prepared("SELECT rowid, title, body FROM page WHERE rowid > ? ORDER BY rowid LIMIT 1")
            .first(.integer(id)) { ($0.integer(0), $0.text(1), $0.utf8(2)) }
    }

    package func sections(of id: Int64) throws(StoreError) -> [DocumentText.Section] {
        let lines = try prepared("SELECT sections FROM text WHERE id = ?").first(.integer(id)) { $0.text(0) }
        return Self.sections(of: lines ?? "")
    }

    /// The bodies that have the text.
    package func bodies(of id: Int64) throws(StoreError) -> [(sha256: [UInt8], form: String)] {
        var bodies: [(sha256: [UInt8], form: String)] = []
        try prepared("SELECT sha256, form FROM body WHERE text = ?").each(.integer(id)) { row in
            bodies.append((row.blob(0), row.text(1)))
        }
        return bodies
    }

    /// How many bodies were read, with a text or without.
    package func bodyCount() throws(StoreError) -> Int {
        try prepared("SELECT count(*) FROM body").first { Int($0.integer(0)) } ?? 0
    }

    /// How many bodies an indexing left for the next one.
    package func unreadCount() throws(StoreError) -> Int {
        try prepared("SELECT pages FROM unread").first { Int($0.integer(0)) } ?? 0
    }
}
