package import Web

/// A text that a question found.
package struct TextMatch: Sendable, Equatable {
    package let id: Int64
    /// By BM25: the higher, the better.
    package let score: Double
}

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
    /// Hands over the texts that an expression of FTS5 finds, the best first, until `take` says false.
    package func eachMatch(
        of expression: String, atMost most: Int, _ take: (TextMatch) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let search = try prepared("SELECT rowid, rank FROM page WHERE page MATCH ? ORDER BY rank LIMIT ?")
        let outcome = try search.first(.text(expression), .integer(Int64(most))) {
            row -> Result<Void, StoreError>? in
            let match = TextMatch(id: row.integer(0), score: -row.real(1))
            do throws(StoreError) {
                return try take(match) ? nil : .success(())
            } catch {
                return .failure(error)
            }
        }
        try outcome?.get()
    }

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

    /// In how many texts a word stands, as it is after being cut.
    package func textCount(of word: String) throws(StoreError) -> Int {
        try prepared("SELECT doc FROM word WHERE term = ?").first(.text(word)) { Int($0.integer(0)) } ?? 0
    }

    package func textCount() throws(StoreError) -> Int {
        try prepared("SELECT count(*) FROM text").first { Int($0.integer(0)) } ?? 0
    }

    /// How many bodies were read, with a text or without.
    package func bodyCount() throws(StoreError) -> Int {
        try prepared("SELECT count(*) FROM body").first { Int($0.integer(0)) } ?? 0
    }

    /// How many bodies an indexing left for the next one.
    package func unreadCount() throws(StoreError) -> Int {
        try prepared("SELECT pages FROM unread").first { Int($0.integer(0)) } ?? 0
    }

    /// What limits a question to the texts of a site; part of an expression.
    package static func expression(ofSite name: String) -> String { "place : \(word(ofSite: name))" }

    /// A word in an expression whose inflections are looked for as well.
    package static func inflecting(_ word: String) -> String { SearchTokenizer.inflecting + word }
}
