package import Database
internal import Digest
package import Web

extension SearchIndex {
    /// The maximum number of URLs of a text that are searchable. Further ones are not indexed.
    private static let maxURLs = 8
    /// The maximum number of bytes of a URL that are searchable. The rest is not indexed.
    private static let maxURLBytes = 1024

    /// Executes `body` in one transaction.
    package func withTransaction<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        try connection.transaction(body)
    }

    /// Stores the number of bodies that are left to the next run.
    package func recordUnread(_ count: Int) throws(StoreError) {
        try statement("UPDATE unread SET pages = ?").run(.integer(Int64(count)))
    }

    /// Returns whether all texts of a snapshot are in the index, so that it can be skipped.
    package func hasIndexed(_ snapshot: TextSnapshot) throws(StoreError) -> Bool {
        try statement("SELECT 1 FROM snapshot WHERE id = ? AND started = ?")
            .first(.integer(snapshot.id), .integer(snapshot.started)) { _ in true } ?? false
    }

    /// Records that all texts of a snapshot are in the index. Does nothing if the snapshot may still grow.
    package func recordIndexed(_ snapshot: TextSnapshot) throws(StoreError) {
        guard snapshot.isFinal else { return }
        try statement(
            "INSERT INTO snapshot VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET started = excluded.started"
        )
        .run(.integer(snapshot.id), .integer(snapshot.started))
    }

    /// Returns whether a body was indexed with all the sites that have it now. A site that was added since
    /// must be added to the text, so that searches restricted to that site find it.
    package func contains(_ body: IndexedBody) throws(StoreError) -> Bool {
        guard let text = try text(of: body) else { return false }
        guard text != 0 else { return true }
        let siteWords = try statement("SELECT place FROM page WHERE rowid = ?").first(.integer(text)) {
            $0.text(0)
        }
        guard let siteWords else { return false }
        let words = Set(siteWords.split(separator: " ").map { String($0) })
        return body.sites.allSatisfy { words.contains(Self.word(ofSite: $0)) }
    }

    /// Returns the id of a body's text: 0 if it has no text, nil if it was not indexed.
    private func text(of body: IndexedBody) throws(StoreError) -> Int64? {
        try statement("SELECT text FROM body WHERE sha256 = ? AND form = ?")
            .first(.blob(body.sha256), .text(body.form)) { $0.integer(0) }
    }

    /// Adds the text of a body. If the index has the same text, adds only the URLs and sites of the body to it.
    ///
    /// - Parameter prior: the quality of the text, which does not depend on the query; higher is better.
    ///   Values above 31 rank like 31.
    /// - Returns: whether the text is new.
    @discardableResult
    package func add(_ text: DocumentText, of body: IndexedBody, prior: Double) throws(StoreError) -> Bool {
        guard !text.isEmpty else {
            try store(body, text: 0)
            return false
        }
        let digest = Self.digest(of: text)
        let existing = try statement("SELECT id FROM text WHERE digest = ?").first(.blob(digest)) {
            $0.integer(0)
        }
        if let existing {
            try store(body, text: existing)
            try addURLsAndSites(of: body, toText: existing)
            return false
        }
        let id = try unusedID(quality: prior)
        try statement(
            "INSERT INTO text (id, digest, description, language, sections, prior) VALUES (?, ?, ?, ?, ?, ?)"
        ).run(
            .integer(id), .blob(digest), .text(text.description), .text(text.language),
            .text(Self.lines(of: text.sections)), .real(prior))
        let headings = text.sections.map(\.title).joined(separator: "\n")
        let (addresses, sites) = (Self.urlWords(body.hrefs), Self.siteWords(body.sites))
        try statement(
            "INSERT INTO page (rowid, title, headings, address, place, body, aside) VALUES (?, ?, ?, ?, ?, ?, ?)"
        ).run(
            .integer(id), .text(text.title), .text(headings), .text(addresses),
            .text(sites), .utf8(text.body), .utf8(text.aside))
        try statement("INSERT INTO name (rowid, title, address, place) VALUES (?, ?, ?, ?)")
            .run(.integer(id), .text(text.title), .text(addresses), .text(sites))
        try storeLength(of: id)
        try store(body, text: id)
        return true
    }

    /// Returns an unused id. Texts of higher quality have smaller ids, and searches go through the ids in
    /// ascending order. So if a search stops at its limit, it has seen the best texts.
    ///
    /// The quality is in the upper 32 bits, negated; the lower 32 bits count up from 1. For example, the first
    /// text of quality 2 has the id -2 * 2^32 + 1.
    private func unusedID(quality: Double) throws(StoreError) -> Int64 {
        let base = -(Int64(min(max(quality, 0), Self.maxQuality)) << 32)
        let last = try statement("SELECT max(id) FROM text WHERE id > ? AND id < ?")
            .first(.integer(base), .integer(base + (1 << 32))) { $0.optionalInteger(0) ?? base }
        return (last ?? base) + 1
    }

    /// Higher qualities rank like this one.
    private static let maxQuality = 31.0

    /// Returns the quality of a text, which is part of its id (see `unusedID`).
    static func quality(of id: Int64) -> Int { Int(-(id >> 32)) }

    /// Stores the length of a text. FTS5 has counted the words of each column, and stores them as varints of
    /// seven bits per byte.
    private func storeLength(of id: Int64) throws(StoreError) {
        let counts = try statement("SELECT sz FROM page_docsize WHERE id = ?").first(.integer(id)) {
            $0.blob(0)
        }
        var (sum, number) = (0, 0)
        for byte in counts ?? [] {
            number = number << 7 | Int(byte & 0x7F)
            if byte < 0x80 { (sum, number) = (sum + number, 0) }
        }
        let (block, index) = TextLengths.position(of: id)
        var sizes =
            try statement("SELECT sizes FROM length WHERE block = ?").first(.integer(block)) { $0.blob(0) }
            ?? []
        if sizes.count <= index { sizes += Array(repeating: 0, count: index + 1 - sizes.count) }
        sizes[index] = TextLengths.code(ofLength: sum)
        try statement("INSERT OR REPLACE INTO length (block, sizes) VALUES (?, ?)")
            .run(.integer(block), .blob(sizes))
    }

    /// Removes texts. They should be sorted, so that each block of lengths is written only once.
    private func removeTexts(_ ids: some Collection<Int64>) throws(StoreError) {
        var block: (number: Int64, sizes: [UInt8])?
        func writeBlock() throws(StoreError) {
            guard let block else { return }
            try statement("UPDATE length SET sizes = ? WHERE block = ?")
                .run(.blob(block.sizes), .integer(block.number))
        }
        for id in ids {
            try removeName(of: id)
            try statement("DELETE FROM page WHERE rowid = ?").run(.integer(id))
            try statement("DELETE FROM text WHERE id = ?").run(.integer(id))
            let (number, index) = TextLengths.position(of: id)
            if block?.number != number {
                try writeBlock()
                block = try statement("SELECT sizes FROM length WHERE block = ?").first(.integer(number)) {
                    (number, $0.blob(0))
                }
            }
            if let count = block?.sizes.count, index < count { block?.sizes[index] = 0 }
        }
        try writeBlock()
    }

    /// Removes a text from `name`. That table stores no content, so FTS5 needs the old values.
    private func removeName(of id: Int64) throws(StoreError) {
        let values = try statement("SELECT title, address, place FROM page WHERE rowid = ?").first(
            .integer(id)
        ) {
            [SQLValue.text($0.text(0)), .text($0.text(1)), .text($0.text(2))]
        }
        guard let values else { return }
        try statement("INSERT INTO name (name, rowid, title, address, place) VALUES ('delete', ?, ?, ?, ?)")
            .run([.integer(id)] + values, doing: "write to")
    }

    /// Records the text of a body; 0 if it has none.
    private func store(_ body: IndexedBody, text: Int64) throws(StoreError) {
        try statement("INSERT OR REPLACE INTO body (sha256, form, text) VALUES (?, ?, ?)")
            .run(.blob(body.sha256), .text(body.form), .integer(text))
    }

    /// Adds further URLs and sites to a text.
    private func addURLsAndSites(of body: IndexedBody, toText id: Int64) throws(StoreError) {
        let row = try statement("SELECT address, place FROM page WHERE rowid = ?").first(.integer(id)) {
            ($0.text(0), $0.text(1))
        }
        guard let (address, sites) = row else { return }
        var addresses = address.split(separator: "\n").map { String($0) }
        for line in Self.urlWords(body.hrefs).split(separator: "\n").map({ String($0) })
        where addresses.count < Self.maxURLs && !addresses.contains(line) {
            addresses.append(line)
        }
        var words = sites.split(separator: " ").map { String($0) }
        for site in body.sites.map(Self.word) where !words.contains(site) { words.append(site) }
        let (newAddress, newSites) = (addresses.joined(separator: "\n"), words.joined(separator: " "))
        guard newAddress != address || newSites != sites else { return }
        try removeName(of: id)
        try statement("UPDATE page SET address = ?, place = ? WHERE rowid = ?")
            .run(.text(newAddress), .text(newSites), .integer(id))
        try statement(
            """
            INSERT INTO name (rowid, title, address, place)
            SELECT rowid, title, address, place FROM page WHERE rowid = ?
            """
        ).run(.integer(id))
    }

    /// Removes bodies that are not in the store any more, and the texts that no other body has.
    ///
    /// - Returns: the number of removed texts.
    @discardableResult
    package func removeGoneTexts(_ reader: StoreReader) throws(StoreError) -> Int {
        var gone: [(sha256: [UInt8], form: String)] = []
        let findBody = try reader.prepare("SELECT 1 FROM body WHERE sha256 = ? AND form = ?")
        var failure: StoreError?
        // In the order of the store's index. Otherwise each look-up would read another page of that index.
        try connection.prepare("SELECT sha256, form FROM body ORDER BY sha256, form").each { row in
            let (sha256, form) = (row.blob(0), row.text(1))
            do throws(StoreError) {
                if try findBody.first(.blob(sha256), .text(form), read: { _ in true }) == nil {
                    gone.append((sha256, form))
                }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        if !gone.isEmpty {
            try withTransaction { () throws(StoreError) in
                for (sha256, form) in gone {
                    try statement("DELETE FROM body WHERE sha256 = ? AND form = ?").run(
                        .blob(sha256), .text(form))
                }
            }
        }
        // These include the texts that an interrupted run left. They are removed in batches, so that an
        // interruption loses little work.
        var texts: [Int64] = []
        try connection.prepare("SELECT id FROM text WHERE id NOT IN (SELECT text FROM body) ORDER BY id")
            .each { texts.append($0.integer(0)) }
        var rest = texts[...]
        while !rest.isEmpty {
            let part = rest.prefix(Self.maxTextsPerTransaction)
            try withTransaction { () throws(StoreError) in try removeTexts(part) }
            rest = rest.dropFirst(part.count)
        }
        return texts.count
    }

    /// The maximum number of texts that are removed in one transaction. More take several.
    private static let maxTextsPerTransaction = 8192

    /// Merges some segments of the tables and writes the log back to the database.
    package func mergeAndCheckpoint() throws(StoreError) {
        try connection.execute("INSERT INTO page (page, rank) VALUES ('merge', 200)")
        try connection.execute("INSERT INTO name (name, rank) VALUES ('merge', 100)")
        try connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    }

    /// Merges all segments of the tables, which removes the words of deleted texts from them.
    func optimize() throws(StoreError) {
        for table in ["page", "name"] {
            try connection.execute(
                "INSERT INTO \(table) (\(table)) VALUES ('optimize')", doing: "optimize")
        }
    }

    /// Returns unused space of the file to the disk, and empties its write-ahead log, which otherwise keeps the size
    /// that it had during the largest change. A reader that does not finish soon keeps the log as it is.
    func shrink() throws(StoreError) {
        connection.setBusyTimeout(milliseconds: 1000)
        defer { connection.setBusyTimeout(milliseconds: Connection.busyMilliseconds) }
        let free = try connection.integer("PRAGMA freelist_count")
        if try free > connection.integer("PRAGMA page_count") / Self.maxFreeShare {
            try connection.execute("VACUUM", doing: "shrink")
        }
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)", doing: "shrink")
    }

    /// The file is rewritten if more than this part of its pages is unused: one of 256.
    private static let maxFreeShare: Int64 = 256

    /// Returns whether the index is intact. A damaged one must be rebuilt.
    package func isSound() throws(StoreError) -> Bool {
        do throws(StoreError) {
            guard try connection.prepare("PRAGMA quick_check").first(read: { $0.text(0) }) == "ok" else {
                return false
            }
            for table in ["page", "name"] {
                try connection.execute(
                    "INSERT INTO \(table) (\(table)) VALUES ('integrity-check')", doing: "check")
            }
            return true
        } catch  where error.reason == .unusable {
            return false
        }
    }

    // MARK: - Stored forms

    /// Returns the first 16 bytes of the SHA-256 of a text. Bodies whose texts have the same digest share a row.
    private static func digest(of text: DocumentText) -> [UInt8] {
        var stream = DigestStream(.sha256)
        for part in [text.title, text.description] {
            stream.update(Array(part.utf8).span)
            stream.update([0].span)
        }
        stream.update(text.body.span)
        stream.update([0].span)
        stream.update(text.aside.span)
        stream.update([0].span)
        stream.update(Array(lines(of: text.sections).utf8).span)
        return Array(stream.finish().bytes.prefix(16))
    }

    /// Returns the word that stands for a site. It has only letters and digits, so that the tokenizer does
    /// not split it.
    static func word(ofSite name: String) -> String {
        // FNV-1a.
        let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3
        }
        return "site" + String(hash, radix: 36)
    }

    private static func siteWords(_ sites: [String]) -> String { sites.map(word).joined(separator: " ") }

    /// Returns the searchable form of URLs: host and path, percent-decoded, one per line.
    private static func urlWords(_ hrefs: [String]) -> String {
        hrefs.prefix(maxURLs).map { href in
            let rest = href.firstRange(of: "://").map { href[$0.upperBound...] } ?? href[...]
            let plain = [UInt8](percentDecoding: Array(rest.utf8.prefix(maxURLBytes)).span)
            return String(decoding: plain.map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self)
        }.joined(separator: "\n")
    }

    /// Returns sections as lines with their offset, anchor and title, separated by tabs.
    private static func lines(of sections: [DocumentText.Section]) -> String {
        var lines: [UInt8] = []
        for section in sections {
            if !lines.isEmpty { lines.append(UInt8(ascii: "\n")) }
            lines += "\(section.start)\t".utf8
            lines += section.anchor.utf8.lazy.map { $0 == 0x09 || $0 == 0x0A ? 0x20 : $0 }
            lines.append(UInt8(ascii: "\t"))
            lines += section.title.utf8.lazy.map { $0 == 0x0A ? 0x20 : $0 }
        }
        return String(decoding: lines, as: UTF8.self)
    }

    static func sections(of lines: String) -> [DocumentText.Section] {
        lines.utf8.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let parts = line.split(
                separator: UInt8(ascii: "\t"), maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, let start = Int(String(Substring(parts[0]))), start >= 0 else {
                return nil
            }
            return DocumentText.Section(
                start: start, anchor: String(Substring(parts[1])), title: String(Substring(parts[2])))
        }
    }
}
