internal import Digest
package import Web

extension SearchIndex {
    /// Of so many addresses of a text the words are kept.
    private static let mostAddresses = 8

    /// Does all that `body` adds and takes away in one go.
    package func changing<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        try connection.transaction(body)
    }

    package func noteUnread(_ count: Int) throws(StoreError) {
        try prepared("UPDATE unread SET pages = ?").run(.integer(Int64(count)))
    }

    /// Whether all of a snapshot was read: then nobody looks through it again.
    package func hasRead(_ snapshot: TextSnapshot) throws(StoreError) -> Bool {
        try prepared("SELECT 1 FROM snapshot WHERE id = ? AND started = ?")
            .first(.integer(snapshot.id), .integer(snapshot.started)) { _ in true } ?? false
    }

    package func noteRead(_ snapshot: TextSnapshot) throws(StoreError) {
        guard snapshot.isOver else { return }
        try prepared(
            "INSERT INTO snapshot VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET started = excluded.started"
        )
        .run(.integer(snapshot.id), .integer(snapshot.started))
    }

    /// Whether the body was read already, with all the sites that have it now.
    package func has(_ place: TextPlace) throws(StoreError) -> Bool {
        guard let text = try text(of: place) else { return false }
        guard text != 0 else { return true }
        let kept = try prepared("SELECT place FROM page WHERE rowid = ?").first(.integer(text)) { $0.text(0) }
        guard let kept else { return false }
        let words = Set(kept.split(separator: " ").map { String($0) })
        return place.sites.allSatisfy { words.contains(Self.word(ofSite: $0)) }
    }

    private func text(of place: TextPlace) throws(StoreError) -> Int64? {
        try prepared("SELECT text FROM body WHERE sha256 = ? AND form = ?")
            .first(.blob(place.sha256), .text(place.form)) { $0.integer(0) }
    }

    /// Adds a text, or only where it stands where it is known.
    ///
    /// - Returns: Whether it is new.
    @discardableResult
    package func add(_ text: DocumentText, at place: TextPlace, prior: Double) throws(StoreError) -> Bool {
        guard !text.isEmpty else {
            try keep(place, text: 0)
            return false
        }
        let digest = Self.digest(of: text)
        let held = try prepared("SELECT id FROM text WHERE digest = ?").first(.blob(digest)) { $0.integer(0) }
        if let held {
            try keep(place, text: held)
            try extend(held, by: place)
            return false
        }
        let id = try newNumber(quality: prior)
        try prepared(
            "INSERT INTO text (id, digest, description, language, sections, prior) VALUES (?, ?, ?, ?, ?, ?)"
        ).run(
            .integer(id), .blob(digest), .text(text.description), .text(text.language),
            .text(Self.lines(of: text.sections)), .real(prior))
        let headings = text.sections.map(\.title).joined(separator: "\n")
        let (addresses, sites) = (Self.addressWords(place.addresses), Self.placeWords(place.sites))
        try prepared(
            "INSERT INTO page (rowid, title, headings, address, place, body, aside) VALUES (?, ?, ?, ?, ?, ?, ?)"
        ).run(
            .integer(id), .text(text.title), .text(headings), .text(addresses),
            .text(sites), .utf8(text.body), .utf8(text.aside))
        try prepared("INSERT INTO name (rowid, title, address, place) VALUES (?, ?, ?, ?)")
            .run(.integer(id), .text(text.title), .text(addresses), .text(sites))
        try noteLength(of: id)
        try keep(place, text: id)
        return true
    }

    /// Texts with more quality have smaller numbers: where a word stands in more texts than are ranked, the
    /// first of them are.
    private func newNumber(quality: Double) throws(StoreError) -> Int64 {
        let base = -(Int64(min(max(quality, 0), Self.mostQuality)) << 32)
        let last = try prepared("SELECT max(id) FROM text WHERE id > ? AND id < ?")
            .first(.integer(base), .integer(base + (1 << 32))) { $0.optionalInteger(0) ?? base }
        return (last ?? base) + 1
    }

    private static let mostQuality = 31.0

    /// By the number that a text has.
    static func quality(of id: Int64) -> Int { Int(-(id >> 32)) }

    /// Puts down how many words a text has, as FTS5 has counted them: a number of seven bits each for its
    /// columns.
    private func noteLength(of id: Int64) throws(StoreError) {
        let counts = try prepared("SELECT sz FROM page_docsize WHERE id = ?").first(.integer(id)) {
            $0.blob(0)
        }
        var (sum, number) = (0, 0)
        for byte in counts ?? [] {
            number = number << 7 | Int(byte & 0x7F)
            if byte < 0x80 { (sum, number) = (sum + number, 0) }
        }
        let (block, place) = TextLengths.place(of: id)
        var sizes =
            try prepared("SELECT sizes FROM length WHERE block = ?").first(.integer(block)) { $0.blob(0) }
            ?? []
        if sizes.count <= place { sizes += Array(repeating: 0, count: place + 1 - sizes.count) }
        sizes[place] = TextLengths.size(ofLength: sum)
        try prepared("INSERT OR REPLACE INTO length (block, sizes) VALUES (?, ?)")
            .run(.integer(block), .blob(sizes))
    }

    /// The texts are not found any more. Those of one block of lengths are to stand side by side.
    private func forget(_ ids: some Collection<Int64>) throws(StoreError) {
        var block: (number: Int64, sizes: [UInt8])?
        func writeBlock() throws(StoreError) {
            guard let block else { return }
            try prepared("UPDATE length SET sizes = ? WHERE block = ?")
                .run(.blob(block.sizes), .integer(block.number))
        }
        for id in ids {
            try forgetName(of: id)
            try prepared("DELETE FROM page WHERE rowid = ?").run(.integer(id))
            try prepared("DELETE FROM text WHERE id = ?").run(.integer(id))
            let (number, place) = TextLengths.place(of: id)
            if block?.number != number {
                try writeBlock()
                block = try prepared("SELECT sizes FROM length WHERE block = ?").first(.integer(number)) {
                    (number, $0.blob(0))
                }
            }
            if let count = block?.sizes.count, place < count { block?.sizes[place] = 0 }
        }
        try writeBlock()
    }

    /// FTS5 has to be told what it was, where it keeps no text.
    private func forgetName(of id: Int64) throws(StoreError) {
        let kept = try prepared("SELECT title, address, place FROM page WHERE rowid = ?").first(.integer(id))
        {
            [SQLValue.text($0.text(0)), .text($0.text(1)), .text($0.text(2))]
        }
        guard let kept else { return }
        try prepared("INSERT INTO name (name, rowid, title, address, place) VALUES ('delete', ?, ?, ?, ?)")
            .run([.integer(id)] + kept, doing: "write to")
    }

    private func keep(_ place: TextPlace, text: Int64) throws(StoreError) {
        try prepared("INSERT OR REPLACE INTO body (sha256, form, text) VALUES (?, ?, ?)")
            .run(.blob(place.sha256), .text(place.form), .integer(text))
    }

    /// A text that is known stands elsewhere too.
    private func extend(_ id: Int64, by place: TextPlace) throws(StoreError) {
        let row = try prepared("SELECT address, place FROM page WHERE rowid = ?").first(.integer(id)) {
            ($0.text(0), $0.text(1))
        }
        guard let (address, sites) = row else { return }
        var addresses = address.split(separator: "\n").map { String($0) }
        for line in Self.addressWords(place.addresses).split(separator: "\n").map({ String($0) })
        where addresses.count < Self.mostAddresses && !addresses.contains(line) {
            addresses.append(line)
        }
        var words = sites.split(separator: " ").map { String($0) }
        for site in place.sites.map(Self.word) where !words.contains(site) { words.append(site) }
        let (newAddress, newSites) = (addresses.joined(separator: "\n"), words.joined(separator: " "))
        guard newAddress != address || newSites != sites else { return }
        try forgetName(of: id)
        try prepared("UPDATE page SET address = ?, place = ? WHERE rowid = ?")
            .run(.text(newAddress), .text(newSites), .integer(id))
        try prepared(
            """
            INSERT INTO name (rowid, title, address, place)
            SELECT rowid, title, address, place FROM page WHERE rowid = ?
            """
        ).run(.integer(id))
    }

    /// Takes away what no body of the store has any more.
    ///
    /// - Returns: How many texts that were.
    @discardableResult
    package func forgetGone(_ reader: StoreReader) throws(StoreError) -> Int {
        var gone: [(sha256: [UInt8], form: String)] = []
        let isHeld = try reader.prepare("SELECT 1 FROM body WHERE sha256 = ? AND form = ?")
        var failure: StoreError?
        try connection.prepare("SELECT sha256, form FROM body").each { row in
            let (sha256, form) = (row.blob(0), row.text(1))
            do throws(StoreError) {
                if try isHeld.first(.blob(sha256), .text(form), read: { _ in true }) == nil {
                    gone.append((sha256, form))
                }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        if !gone.isEmpty {
            try changing { () throws(StoreError) in
                for (sha256, form) in gone {
                    try prepared("DELETE FROM body WHERE sha256 = ? AND form = ?").run(
                        .blob(sha256), .text(form))
                }
            }
        }
        // Also what an earlier run was stopped at. A part at a time: a stop loses no more than that.
        var texts: [Int64] = []
        try connection.prepare("SELECT id FROM text WHERE id NOT IN (SELECT text FROM body) ORDER BY id")
            .each { texts.append($0.integer(0)) }
        var rest = texts[...]
        while !rest.isEmpty {
            let part = rest.prefix(Self.mostForgottenAtOnce)
            try changing { () throws(StoreError) in try forget(part) }
            rest = rest.dropFirst(part.count)
        }
        return texts.count
    }

    private static let mostForgottenAtOnce = 8192

    /// Puts what was added in pieces together, as far as it is worth it.
    package func settle() throws(StoreError) {
        try connection.execute("INSERT INTO page (page, rank) VALUES ('merge', 200)")
        try connection.execute("INSERT INTO name (name, rank) VALUES ('merge', 100)")
        try connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    }

    /// All of it, without what was taken out.
    func putTogether() throws(StoreError) {
        for table in ["page", "name"] {
            try connection.execute(
                "INSERT INTO \(table) (\(table)) VALUES ('optimize')", doing: "optimize")
        }
    }

    /// Gives room back to the disk, where much of the file is of no use.
    func giveBackRoom() throws(StoreError) {
        let free = try connection.integer("PRAGMA freelist_count")
        guard try free * 4 > connection.integer("PRAGMA page_count") else { return }
        try connection.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", doing: "shrink")
    }

    /// Whether what stands in it is what was written; else it is to be made anew.
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

    // MARK: - Words of our own

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

    /// The word that stands for a site: of letters and digits only, so that it is one however words are cut.
    static func word(ofSite name: String) -> String {
        // FNV-1a.
        let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3
        }
        return "site" + String(hash, radix: 36)
    }

    private static func placeWords(_ sites: [String]) -> String { sites.map(word).joined(separator: " ") }

    /// Of addresses host and path, with escapes undone.
    private static func addressWords(_ addresses: [String]) -> String {
        addresses.prefix(mostAddresses).map { address in
            let rest = address.firstRange(of: "://").map { address[$0.upperBound...] } ?? address[...]
            let plain = [UInt8](percentDecoding: Array(rest.utf8.prefix(1024)).span)
            return String(decoding: plain.map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self)
        }.joined(separator: "\n")
    }

    /// A line for each: where it begins, its anchor, its title.
    private static func lines(of sections: [DocumentText.Section]) -> String {
        sections.map { section in
            let anchor = section.anchor.replacing("\t", with: " ").replacing("\n", with: " ")
            let title = section.title.replacing("\n", with: " ")
            return "\(section.start)\t\(anchor)\t\(title)"
        }.joined(separator: "\n")
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
