internal import Web

/// The rows of responses and of lists of links, one at a time. It belongs to the writer, in whose transactions it works.
struct ResponseRows {
    private let connection: Connection
    private let addResponse: Statement
    private let removeResponse: Statement
    private let addLinks: Statement
    private let changeLinks: Statement
    private let knownLinks: Statement
    private let findNewest: Statement
    private let confirm: Statement
    private let countConfirmed: Statement
    fileprivate let removeCount: Statement

    init(_ connection: Connection) throws(StoreError) {
        self.connection = connection
        // Most are new: what there is already is looked for only then.
        addResponse = try connection.prepare("INSERT OR IGNORE \(Self.insertion)")
        removeResponse = try connection.prepare(
            "DELETE FROM response WHERE url = ? AND visit = ? AND request = ? AND variant = ?")
        addLinks = try connection.prepare(
            """
            INSERT OR IGNORE INTO link (url, body, pages, requisites, guesses, sum)
            SELECT url, body, ?3, ?4, ?5, ?6 FROM response
            WHERE url = ?1 AND \(Schema.isOf("?2")) AND request = '' AND body IS NOT NULL
            """)
        changeLinks = try connection.prepare(
            """
            UPDATE link SET pages = ?3, requisites = ?4, guesses = ?5, sum = ?6
            WHERE url = ?1
                AND body IN (SELECT body FROM response WHERE url = ?1 AND \(Schema.isOf("?2")) AND request = '')
                AND (pages <> ?3 OR requisites <> ?4 OR guesses <> ?5 OR sum IS NOT ?6)
            """)
        knownLinks = try connection.prepare(
            """
            SELECT pages, requisites, guesses, sum FROM link
            WHERE url = ?1
                AND body IN (SELECT body FROM response WHERE url = ?1 AND \(Schema.isOf("?2")) AND request = '')
            """)
        findNewest = try connection.prepare(
            """
            SELECT response.visit, visit.base IS NULL, variant, status, role, flags, type, body, response.confirmed, fields,
                visit.site, fetched
            FROM response JOIN visit ON visit.id = response.visit
            WHERE url = ? AND request = '' ORDER BY response.visit DESC
            """)
        confirm = try connection.prepare(
            """
            UPDATE response SET confirmed = ?, flags = ?, requested = ?, fetched = ?, fields = ?
            WHERE url = ? AND visit = ? AND request = '' AND variant = ''
            """)
        countConfirmed = try connection.prepare("UPDATE visit SET confirmed = confirmed + ? WHERE id = ?")
        removeCount = try connection.prepare(KeptTally.remove)
    }

    /// The same once more, in a row of its own.
    fileprivate func bringPage(_ url: Int64, of earlier: Int64, toVisit visit: Int64) throws(StoreError) {
        try connection.prepare(
            """
            INSERT OR IGNORE INTO response
                (url, visit, request, variant, status, role, flags, requested, fetched, type, referrer, body, fields)
                SELECT url, ?3, request, variant, status, role, flags, requested, fetched, type, referrer, body, fields
                FROM response WHERE url = ?1 AND visit = ?2 AND request = '' AND variant = ''
            """
        ).run([.integer(url), .integer(earlier), .integer(visit)], doing: "write to")
    }

    /// In place of the one that there is.
    fileprivate func add(
        _ response: NewResponse, url: Int64, referrer: Int64?, body: Int64?, ofVisit visit: Int64
    ) throws(StoreError) {
        let values: [SQLValue] = [
            .integer(url), .integer(visit), .text(response.request.text), .text(response.variant),
            .integer(Int64(response.status)), .integer(Int64(response.role)),
            .integer(Int64(response.flags.rawValue)), .integer(response.requested),
            .integer(response.fetched),
            .optional(response.type), .optional(referrer), .optional(body), .text(response.fields),
        ]
        try addResponse.run(values, doing: "write to")
        if connection.changedRowCount == 0 {
            try removeResponse.run(Array(values[..<4]), doing: "write to")
            try addResponse.run(values, doing: "write to")
        }
    }

    /// What there is last for a plain GET of the URL, whichever site and visit it came in.
    fileprivate func newest(of url: Int64) throws(StoreError) -> NewestResponse? {
        var newest: NewestResponse?
        // A sorter for what else the same visit has would cost more than to look at it.
        _ = try findNewest.first([.integer(url)]) { row -> Bool? in
            guard let found = newest else {
                newest = NewestResponse(row)
                return nil
            }
            if row.integer(0) < found.visit { return true }
            newest?.isOther = true
            return nil
        }
        return newest
    }

    /// The visit has what an earlier one had.
    fileprivate func confirm(
        _ newest: NewestResponse, by response: NewResponse, url: Int64, inVisit visit: Int64
    ) throws(StoreError) {
        try confirm.run(
            .integer(visit), .integer(Int64(response.flags.rawValue)), .integer(response.requested),
            .integer(response.fetched), .text(response.fields), .integer(url), .integer(newest.visit))
    }

    /// It has something else after all.
    fileprivate func takeBack(_ newest: NewestResponse, url: Int64, inVisit visit: Int64) throws(StoreError) {
        try connection.prepare(
            "UPDATE response SET confirmed = ? WHERE url = ? AND visit = ? AND request = '' AND variant = ''"
        ).run([.integer(visit - 1), .integer(url), .integer(newest.visit)], doing: "write to")
    }

    fileprivate func count(confirmed: Int, inVisit visit: Int64) throws(StoreError) {
        guard confirmed != 0 else { return }
        try countConfirmed.run(.integer(Int64(confirmed)), .integer(visit))
    }

    /// The lists of what the URL's body in the visit links to: pages, requisites and guesses. Nil where there are none,
    /// or damaged ones.
    fileprivate func lists(of url: Int64, ofVisit visit: Int64) throws(StoreError) -> [String]? {
        try knownLinks.first(.integer(url), .integer(visit)) { row in
            LinkLists.areSound(row) ? (0..<3).map { row.text($0) } : nil
        }
    }

    fileprivate func add(_ lists: [String], of url: Int64, ofVisit visit: Int64) throws(StoreError) {
        let sum = SQLValue.integer(LinkLists.checksum(of: lists))
        let values = [SQLValue.integer(url), .integer(visit)] + lists.map(SQLValue.text) + [sum]
        try addLinks.run(values, doing: "write to")
        // The body was scanned before: by a larder that looked for other links, say.
        if connection.changedRowCount == 0 { try changeLinks.run(values, doing: "write to") }
    }

    private static let insertion = """
        INTO response
            (url, visit, request, variant, status, role, flags, requested, fetched, type, referrer, body, fields)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
}

extension StoreWriter {
    /// Keeps the responses and links in one transaction: all of them or, when it throws, none. Links count
    /// for the body that their source has in the visit, which comes before them or along with them.
    package func add(_ responses: [NewResponse], links: [NewLinks] = [], to visit: OpenVisit)
        throws(StoreError)
    {
        try put(responses, links: links, to: visit)
        try commit()
    }

    /// The same, in a transaction that stays open until `commit`. When it throws, all of that is lost.
    func put(_ responses: [NewResponse], links: [NewLinks], to visit: OpenVisit) throws(StoreError) {
        urls.begin(visit: visit.id)
        try bring(responses)
        try putting { () throws(StoreError) in
            notePages(responses.count { $0.isPage })
            if !responses.isEmpty { try forgetCount(of: visit.id) }
            if let batch { return try put(responses, links: links, to: visit, by: batch) }
            var confirmed = 0
            for response in responses { confirmed += try add(response, to: visit) }
            try rows.count(confirmed: confirmed, inVisit: visit.id)
            for links in links { try add(links, to: visit) }
        }
    }

    /// Has those bodies where they are to be that are neither in rows nor in pieces. No transaction is open
    /// meanwhile: it takes its time. Where the session was cut before one is open again, others may have taken
    /// away what no row named.
    private func bring(_ responses: [NewResponse]) throws(StoreError) {
        guard let outer = bodies.outer else { return }
        let new = responses.compactMap { if case .new(let body) = $0.body { body } else { nil } }
        while true {
            let missing = outer.missing(new)
            guard !missing.isEmpty else { return }
            try commit()
            do throws(StoreError) {
                try outer.bring(missing)
                try putting { () throws(StoreError) in }
            } catch {
                guard recovers(from: error) else { throw error }
                outer.forgetBrought()
            }
        }
    }

    /// How many more the visit has now of what an earlier one had.
    private func add(_ response: NewResponse, to visit: OpenVisit) throws(StoreError) -> Int {
        noteRow(byteCount: response.fields.utf8.count + 200)
        let url = try urls.row(of: response.href, response.number, known: response.row)
        var newest: NewestResponse?
        if response.isPlain, try mayConfirm(visit) { newest = try rows.newest(of: url) }
        let body: Int64? =
            switch response.body {
            case .none: nil
            case .new(let new): try bodies.row(of: new)
            // That row keeps the body.
            case .held(let held) where held.id == newest?.body && held.md5 == nil: held.id
            case .held(let held): try bodies.row(ofHeld: held)
            }
        let wasConfirmed = newest.map { $0.site == visit.site && $0.confirmed >= visit.id } ?? false
        if let newest, newest.visit < visit.id, newest.isSaid(by: response, body: body, ofSite: visit.site) {
            try rows.confirm(newest, by: response, url: url, inVisit: visit.id)
            journal.note(
                JournalLine.Confirmation(
                    href: response.href, visit: newest.visit, confirmed: visit.id,
                    flags: Int64(response.flags.rawValue), requested: response.requested,
                    fetched: response.fetched))
            return wasConfirmed ? 0 : 1
        }
        if let newest, wasConfirmed { try rows.takeBack(newest, url: url, inVisit: visit.id) }
        var referrer: Int64?
        if let href = response.referrer { referrer = try urls.row(of: href, response.referrerNumber) }
        var isBrought = false
        if response.request == .shown || response.request == .pictured {
            isBrought = try bringPage(url, to: visit)
        }
        try rows.add(response, url: url, referrer: referrer, body: body, ofVisit: visit.id)
        journal.note(response, ofVisit: visit.id)
        return wasConfirmed || isBrought ? -1 : 0
    }

    /// What a browser saw of a page is found by the page's own row in the same visit: where that is an earlier one's, the
    /// visit gets one.
    private func bringPage(_ url: Int64, to visit: OpenVisit) throws(StoreError) -> Bool {
        guard try mayConfirm(visit), let page = try rows.newest(of: url), page.visit < visit.id,
            page.site == visit.site, page.confirmed >= visit.id
        else { return false }
        try rows.bringPage(url, of: page.visit, toVisit: visit.id)
        try rows.takeBack(page, url: url, inVisit: visit.id)
        try noteResponses("response.url = \(url) AND response.visit = \(visit.id) AND response.request = ''")
        return true
    }

    /// Whether there is something that a visit may have once more. What servers load is theirs.
    private func mayConfirm(_ visit: OpenVisit) throws(StoreError) -> Bool {
        if let confirming, confirming.visit == visit.id { return confirming.isSo }
        let isSo = try prepare(
            "SELECT base IS NULL AND EXISTS (SELECT 1 FROM visit WHERE site = ?1 AND id < ?2) FROM visit WHERE id = ?2"
        ).first(.integer(visit.site), .integer(visit.id)) { $0.integer(0) != 0 }
        confirming = (visit.id, isSo ?? false)
        return isSo ?? false
    }

    func add(_ links: NewLinks, to visit: OpenVisit) throws(StoreError) {
        guard let source = try urls.row(of: links.source) else { return }
        noteRow(byteCount: links.count * 6)
        let known = links.areFurther ? try rows.lists(of: source, ofVisit: visit.id) : nil
        var lists: [String] = []
        for (place, targets) in [links.pages, links.requisites, links.guesses].enumerated() {
            lists.append(try list(targets, after: known?[place] ?? ""))
        }
        try rows.add(lists, of: source, ofVisit: visit.id)
    }

    func list(_ targets: [NewLinks.Target], after known: String) throws(StoreError) -> String {
        var numbers = LinkLists.numbers(known)
        let all = Set(numbers)
        numbers.reserveCapacity(all.count + targets.count)
        for target in targets {
            if let row = try urls.row(of: target), !all.contains(row) { numbers.append(row) }
        }
        return LinkLists.text(numbers)
    }

    /// In place of the links that are kept of a body, in the transaction that is open.
    func put(_ links: [UInt8], of body: StoredBody) throws(StoreError) {
        do {
            try bodies.put(links, of: body)
        } catch {
            rollBack()
            throw error
        }
    }

    /// Rows of the visit come, go or move in the transaction that is open: they are not counted until `countAgain`.
    func forgetCount(of visit: Int64) throws(StoreError) {
        guard !isServed else { return }
        try rows.removeCount.run(.integer(visit))
    }
}

/// What there is for a plain GET of an URL, of all visits of all sites the newest: what others have later is shown before
/// it, until there is a row that is later still.
private struct NewestResponse {
    let site: Int64
    let visit: Int64
    let body: Int64?
    let confirmed: Int64
    /// A server loaded it, or it varies: nothing confirms it but a row of its own.
    fileprivate(set) var isOther: Bool
    private let status: Int64
    private let role: Int64
    private let flags: Int64
    private let type: String?
    private let fields: String
    private let fetched: Int64

    init(_ row: Row) {
        visit = row.integer(0)
        isOther = row.integer(1) == 0 || !row.text(2).isEmpty
        status = row.integer(3)
        role = row.integer(4)
        flags = row.integer(5)
        type = row.optionalText(6)
        body = row.optionalInteger(7)
        confirmed = row.integer(8)
        fields = row.text(9)
        site = row.integer(10)
        fetched = row.integer(11)
    }

    /// Whether a response of the site says the same, but for what is of its message alone, and no earlier.
    func isSaid(by response: NewResponse, body: Int64?, ofSite site: Int64) -> Bool {
        let differing = flags ^ Int64(response.flags.rawValue)
        return site == self.site && !isOther && status == response.status && role == response.role
            && type == response.type
            && self.body == body && fetched <= response.fetched
            && differing & ~Int64(ResponseFlags.isInvalidated.rawValue) == 0
            && HTTPFields.isSame(fields, response.fields)
    }
}

extension NewResponse {
    /// What an earlier visit may have had: an answer to a plain GET that does not vary.
    fileprivate var isPlain: Bool { request == .get && variant.isEmpty }
}

extension HTTPFields {
    /// Whether two blocks say the same of what came with them, in the same order. When a message came, by which way, and
    /// what its server calls it is not looked at.
    static func isSame(_ block: String, _ other: String) -> Bool {
        var (block, other) = (block, other)
        return block.withUTF8 { block in other.withUTF8 { isSame(block, $0) } }
    }

    private static func isSame(_ block: UnsafeBufferPointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>)
        -> Bool
    {
        var (rest, others) = (block[...], other[...])
        while true {
            let (line, otherLine) = (firstLine(rest), firstLine(others))
            if line.elementsEqual(otherLine) {
                if line.isEmpty { return true }
                (rest, others) = (rest[line.endIndex...], others[otherLine.endIndex...])
            } else if isOfMessage(line) {
                rest = rest[line.endIndex...]
            } else if isOfMessage(otherLine) {
                others = others[otherLine.endIndex...]
            } else {
                return false
            }
        }
    }

    private typealias Line = Slice<UnsafeBufferPointer<UInt8>>

    /// With its end; empty where there is none.
    private static func firstLine(_ rest: Line) -> Line {
        rest[..<(rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.endIndex)]
    }

    private static func isOfMessage(_ line: Line) -> Bool {
        guard let end = line.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let bytes = UnsafeBufferPointer(rebasing: line[..<end])
        // Each of a server's answers has it.
        if bytes.count == 4, bytes.elementsEqual("Date".utf8) { return true }
        let name = String(decoding: bytes, as: UTF8.self)
        if HTTPGrammar.matches(String(name.prefix(2)), "x-") { return !tellingFields.contains(name) }
        return messageFields.contains(name) || HTTPGrammar.matches(String(name.prefix(3)), "cf-")
    }

    /// Of those that begin with `X-`, what is said of the content.
    private static let tellingFields: FieldNames = [
        "x-content-type-options", "x-dns-prefetch-control", "x-download-options", "x-frame-options",
        "x-permitted-cross-domain-policies", "x-robots-tag", "x-sourcemap", "x-ua-compatible",
        "x-xss-protection",
    ]
    private static let messageFields: FieldNames = [
        "age", "alt-svc", "connection", "date", "expires", "keep-alive", "nel", "report-to", "server",
        "server-timing", "traceparent", "via",
    ]
}
