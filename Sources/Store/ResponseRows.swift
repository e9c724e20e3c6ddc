package import Database
internal import Web

/// Writes single rows of responses and of link lists. It belongs to the writer and works in its transactions.
///
/// A response that an update receives again unchanged gets no new row. Instead, `confirmed` of the earlier row
/// is set to the id of the new snapshot: the row belongs to all snapshots of its site from its own to that one
/// (`Schema.isPart`). An update of a large site thus writes few rows.
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
        // Most responses are new, so existing rows are only looked for if the insertion fails.
        addResponse = try connection.prepare("INSERT OR IGNORE \(Self.insertion)")
        removeResponse = try connection.prepare(
            "DELETE FROM response WHERE url = ? AND snapshot = ? AND request = ? AND variant = ?")
        addLinks = try connection.prepare(
            """
            INSERT OR IGNORE INTO link (url, body, pages, assets, guesses, sum)
            SELECT url, body, ?3, ?4, ?5, ?6 FROM response
            WHERE url = ?1 AND \(Schema.isPart(of: "?2")) AND request = '' AND body IS NOT NULL
            """)
        changeLinks = try connection.prepare(
            """
            UPDATE link SET pages = ?3, assets = ?4, guesses = ?5, sum = ?6
            WHERE url = ?1
                AND body IN (SELECT body FROM response WHERE url = ?1 AND \(Schema.isPart(of: "?2")) AND request = '')
                AND (pages <> ?3 OR assets <> ?4 OR guesses <> ?5 OR sum IS NOT ?6)
            """)
        knownLinks = try connection.prepare(
            """
            SELECT pages, assets, guesses, sum FROM link
            WHERE url = ?1
                AND body IN (SELECT body FROM response WHERE url = ?1 AND \(Schema.isPart(of: "?2")) AND request = '')
            """)
        findNewest = try connection.prepare(
            """
            SELECT response.snapshot, snapshot.base IS NULL AND coalesce(finished, 0) >= 0, variant, status, role, flags, type,
                body, response.confirmed, fields, snapshot.site, fetched
            FROM response JOIN snapshot ON snapshot.id = response.snapshot
            WHERE url = ? AND request = '' ORDER BY response.snapshot DESC
            """)
        confirm = try connection.prepare(
            """
            UPDATE response SET confirmed = ?, flags = ?, requested = ?, fetched = ?, fields = ?
            WHERE url = ? AND snapshot = ? AND request = '' AND variant = ''
            """)
        countConfirmed = try connection.prepare("UPDATE snapshot SET confirmed = confirmed + ? WHERE id = ?")
        removeCount = try connection.prepare(StoredCounts.remove)
    }

    /// Copies the row of a page from an earlier snapshot to this one.
    fileprivate func copyPage(_ url: Int64, of earlier: Int64, toSnapshot snapshot: Int64) throws(StoreError)
    {
        try connection.prepare(
            """
            INSERT OR IGNORE INTO response
                (url, snapshot, request, variant, status, role, flags, requested, fetched, type, referrer, body, fields)
                SELECT url, ?3, request, variant, status, role, flags, requested, fetched, type, referrer, body, fields
                FROM response WHERE url = ?1 AND snapshot = ?2 AND request = '' AND variant = ''
            """
        ).run([.integer(url), .integer(earlier), .integer(snapshot)], doing: "write to")
    }

    /// Adds the row of a response, replacing the one with the same URL, snapshot, request and variant.
    fileprivate func addRow(
        of response: NewResponse, url: Int64, referrer: Int64?, body: Int64?, ofSnapshot snapshot: Int64
    ) throws(StoreError) {
        let values: [SQLValue] = [
            .integer(url), .integer(snapshot), .text(response.request.text), .text(response.variant),
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

    /// Returns the newest response to a plain GET of the URL, in any site and snapshot.
    fileprivate func newest(of url: Int64) throws(StoreError) -> NewestResponse? {
        var newest: NewestResponse?
        // Sorting by variant as well would cost more than looking at the other rows of the snapshot here.
        _ = try findNewest.first([.integer(url)]) { row -> Bool? in
            guard let found = newest else {
                newest = NewestResponse(row)
                return nil
            }
            if row.integer(0) < found.snapshot { return true }
            newest?.isUnconfirmable = true
            return nil
        }
        return newest
    }

    /// Records in the row of an earlier snapshot that this snapshot received the same response.
    fileprivate func confirm(
        _ newest: NewestResponse, by response: NewResponse, url: Int64, inSnapshot snapshot: Int64
    ) throws(StoreError) {
        try confirm.run(
            .integer(snapshot), .integer(Int64(response.flags.rawValue)), .integer(response.requested),
            .integer(response.fetched), .text(response.fields), .integer(url), .integer(newest.snapshot))
    }

    /// Takes back the confirmation of the row by this snapshot, which received another response later. The row then
    /// belongs to the snapshots before this one; no snapshot needs to have the id `snapshot - 1`.
    fileprivate func withdrawConfirmation(of newest: NewestResponse, url: Int64, inSnapshot snapshot: Int64)
        throws(StoreError)
    {
        try connection.prepare(
            "UPDATE response SET confirmed = ? WHERE url = ? AND snapshot = ? AND request = '' AND variant = ''"
        ).run([.integer(snapshot - 1), .integer(url), .integer(newest.snapshot)], doing: "write to")
    }

    /// Adds to the number of responses of earlier snapshots that a snapshot confirms.
    fileprivate func addConfirmed(_ confirmed: Int, inSnapshot snapshot: Int64) throws(StoreError) {
        guard confirmed != 0 else { return }
        try countConfirmed.run(.integer(Int64(confirmed)), .integer(snapshot))
    }

    /// Returns the link lists of the URL's body in the snapshot: pages, assets and guesses. Nil if there are
    /// none, or if they do not match their checksum.
    fileprivate func linkLists(of url: Int64, ofSnapshot snapshot: Int64) throws(StoreError) -> [String]? {
        try knownLinks.first(.integer(url), .integer(snapshot)) { row in
            LinkLists.areSound(row) ? (0..<3).map { row.text($0) } : nil
        }
    }

    /// Stores the link lists of the URL's body in the snapshot, replacing other ones.
    fileprivate func setLinkLists(_ lists: [String], of url: Int64, ofSnapshot snapshot: Int64)
        throws(StoreError)
    {
        let sum = SQLValue.integer(LinkLists.checksum(of: lists))
        let values = [SQLValue.integer(url), .integer(snapshot)] + lists.map(SQLValue.text) + [sum]
        try addLinks.run(values, doing: "write to")
        // The body was scanned before, for example by a version of Larder that looked for other links.
        if connection.changedRowCount == 0 { try changeLinks.run(values, doing: "write to") }
    }

    private static let insertion = """
        INTO response
            (url, snapshot, request, variant, status, role, flags, requested, fetched, type, referrer, body, fields)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
}

extension StoreWriter {
    /// Stores responses and links in one transaction: all of them, or none if it throws. Links belong to the
    /// body that their source has in the snapshot, so the response with that body must be stored before or
    /// together with them.
    package func add(_ responses: [NewResponse], links: [NewLinks] = [], to snapshot: OpenSnapshot)
        throws(StoreError)
    {
        try put(responses, links: links, to: snapshot)
        try commit()
    }

    /// Stores responses and links in a transaction that stays open until `commit`. If this throws, everything
    /// in that transaction is lost.
    func put(_ responses: [NewResponse], links: [NewLinks], to snapshot: OpenSnapshot) throws(StoreError) {
        urls.begin(snapshot: snapshot.id)
        try uploadExternalBodies(of: responses)
        try inOpenTransaction { () throws(StoreError) in
            addOpenPages(responses.count { $0.isPage })
            if !responses.isEmpty { try deleteCount(of: snapshot.id) }
            // A PostgreSQL store gets all rows in a few statements, because each of them takes a round trip.
            if let batch { return try put(responses, links: links, to: snapshot, by: batch) }
            var confirmed = 0
            for response in responses { confirmed += try addOrConfirm(response, to: snapshot) }
            try rows.addConfirmed(confirmed, inSnapshot: snapshot.id)
            for links in links { try addLinks(links, to: snapshot) }
        }
    }

    /// Uploads new bodies to the external storage of a PostgreSQL store, if they belong there. Commits first, because no
    /// transaction should stay open during an upload. If the session was cut meanwhile, checks all bodies again, because
    /// other processes may have removed bodies to which no row refers.
    private func uploadExternalBodies(of responses: [NewResponse]) throws(StoreError) {
        guard let external = bodies.external else { return }
        let new = responses.compactMap { if case .new(let body) = $0.body { body } else { nil } }
        while true {
            let missing = external.needingUpload(new)
            guard !missing.isEmpty else { return }
            try commit()
            do throws(StoreError) {
                try external.upload(missing)
                // Fails if the session was cut during the upload.
                try inOpenTransaction { () throws(StoreError) in }
            } catch {
                guard canRetry(after: error) else { throw error }
                external.forgetKnownUploads()
            }
        }
    }

    /// Adds one response, or confirms an earlier row if the snapshot received the same response again.
    ///
    /// - Returns: the change of the number of responses that the snapshot confirms: -1, 0 or 1.
    private func addOrConfirm(_ response: NewResponse, to snapshot: OpenSnapshot) throws(StoreError) -> Int {
        addOpenRowBytes(response.fields.utf8.count + 200)
        let url = try urls.findOrAdd(response.href, response.number, known: response.row)
        var newest: NewestResponse?
        if response.isPlain, try canConfirm(snapshot) { newest = try rows.newest(of: url) }
        let body: Int64? =
            switch response.body {
            case .none: nil
            case .new(let new): try bodies.findOrAdd(new)
            // The body needs no look-up: the row of `newest` refers to it.
            case .stored(let stored) where stored.id == newest?.body && stored.md5 == nil: stored.id
            case .stored(let stored): try bodies.findRow(of: stored)
            }
        let wasConfirmed = newest.map { $0.site == snapshot.site && $0.confirmed >= snapshot.id } ?? false
        if let newest, newest.snapshot < snapshot.id,
            newest.isRepeated(by: response, body: body, ofSite: snapshot.site)
        {
            try rows.confirm(newest, by: response, url: url, inSnapshot: snapshot.id)
            journal.append(
                JournalLine.Confirmation(
                    href: response.href, snapshot: newest.snapshot, confirmed: snapshot.id,
                    flags: Int64(response.flags.rawValue), requested: response.requested,
                    fetched: response.fetched))
            return wasConfirmed ? 0 : 1
        }
        if let newest, wasConfirmed {
            try rows.withdrawConfirmation(of: newest, url: url, inSnapshot: snapshot.id)
        }
        var referrer: Int64?
        if let href = response.referrer { referrer = try urls.findOrAdd(href, response.referrerNumber) }
        var isPageCopied = false
        if RequestKey.rendered.contains(response.request) {
            isPageCopied = try copyConfirmedPage(url, to: snapshot)
        }
        try rows.addRow(of: response, url: url, referrer: referrer, body: body, ofSnapshot: snapshot.id)
        journal.append(response, ofSnapshot: snapshot.id)
        return wasConfirmed || isPageCopied ? -1 : 0
    }

    /// Gives the snapshot a row of its own for a page of which it has only confirmed an earlier row. Readers find the text
    /// and the picture of a rendered page through the page's row in the same snapshot.
    ///
    /// - Returns: whether a row was copied.
    private func copyConfirmedPage(_ url: Int64, to snapshot: OpenSnapshot) throws(StoreError) -> Bool {
        guard try canConfirm(snapshot), let page = try rows.newest(of: url), page.snapshot < snapshot.id,
            page.site == snapshot.site, page.confirmed >= snapshot.id
        else { return false }
        try rows.copyPage(url, of: page.snapshot, toSnapshot: snapshot.id)
        try rows.withdrawConfirmation(of: page, url: url, inSnapshot: snapshot.id)
        try writeResponsesToJournal(
            where:
                "response.url = \(url) AND response.snapshot = \(snapshot.id) AND response.request = ''")
        return true
    }

    /// Whether the site has an earlier snapshot whose responses this one may confirm. Overlays confirm
    /// nothing.
    private func canConfirm(_ snapshot: OpenSnapshot) throws(StoreError) -> Bool {
        if let confirmingSnapshot, confirmingSnapshot.id == snapshot.id {
            return confirmingSnapshot.canConfirm
        }
        let canConfirm = try prepare(
            "SELECT base IS NULL AND EXISTS (SELECT 1 FROM snapshot WHERE site = ?1 AND id < ?2) FROM snapshot WHERE id = ?2"
        ).first(.integer(snapshot.site), .integer(snapshot.id)) { $0.integer(0) != 0 }
        confirmingSnapshot = (snapshot.id, canConfirm ?? false)
        return canConfirm ?? false
    }

    /// Stores the links of a body, in the open transaction. Does nothing if the URL of the source is unknown.
    func addLinks(_ links: NewLinks, to snapshot: OpenSnapshot) throws(StoreError) {
        guard let source = try urls.findOrAdd(links.source) else { return }
        addOpenRowBytes(links.count * 6)
        let known = links.extendsStoredLinks ? try rows.linkLists(of: source, ofSnapshot: snapshot.id) : nil
        var lists: [String] = []
        for (index, targets) in [links.pages, links.assets, links.guesses].enumerated() {
            lists.append(try linkList(targets, appendedTo: known?[index] ?? ""))
        }
        try rows.setLinkLists(lists, of: source, ofSnapshot: snapshot.id)
    }

    /// Returns the text of a link list: the URL ids in `known`, then those of targets that it does not contain.
    func linkList(_ targets: [NewLinks.Target], appendedTo known: String) throws(StoreError) -> String {
        var ids = LinkLists.numbers(known)
        let knownIDs = Set(ids)
        ids.reserveCapacity(ids.count + targets.count)
        for target in targets {
            if let id = try urls.findOrAdd(target), !knownIDs.contains(id) { ids.append(id) }
        }
        return LinkLists.text(ids)
    }

    /// Replaces the link table of a body, in the open transaction. If this throws, everything in that transaction is lost.
    func replaceLinkTable(_ links: [UInt8], of body: StoredBody) throws(StoreError) {
        do {
            try bodies.replaceLinkTable(links, of: body)
        } catch {
            rollBack()
            throw error
        }
    }

    /// Removes the stored count of the snapshot's responses, because rows of it are added, removed or moved
    /// in the open transaction. `updateStoredCounts` stores it anew.
    func deleteCount(of snapshot: Int64) throws(StoreError) {
        guard backEnd.hasStoredCounts else { return }
        try rows.removeCount.run(.integer(snapshot))
    }
}

/// The newest response to a plain GET of a URL, in all snapshots of all sites.
///
/// If it is of another site, an older row of this site cannot be confirmed: readers would keep seeing the
/// response of the other site. The new response then gets a row of its own.
private struct NewestResponse {
    let site: Int64
    let snapshot: Int64
    let body: Int64?
    let confirmed: Int64
    /// Whether the response varies, was loaded into an overlay or belongs to a rejected snapshot, or other responses of the
    /// same snapshot exist. Such a response cannot be confirmed.
    fileprivate(set) var isUnconfirmable: Bool
    private let status: Int64
    private let role: Int64
    private let flags: Int64
    private let type: String?
    private let fields: String
    private let fetched: Int64

    init(_ row: Row) {
        snapshot = row.integer(0)
        isUnconfirmable = row.integer(1) == 0 || !row.text(2).isEmpty
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

    /// Whether a response of the site is not older and has the same content, headers and flags. Headers that describe only
    /// the message are ignored, and so is the flag `isInvalidated`: the row gets the flags of the new response.
    func isRepeated(by response: NewResponse, body: Int64?, ofSite site: Int64) -> Bool {
        let differing = flags ^ Int64(response.flags.rawValue)
        return site == self.site && !isUnconfirmable && status == response.status && role == response.role
            && type == response.type
            && self.body == body && fetched <= response.fetched
            && differing & ~Int64(ResponseFlags.isInvalidated.rawValue) == 0
            && HTTPFields.isSame(fields, response.fields)
    }
}

extension NewResponse {
    /// Whether this is a response to a plain GET that does not vary. Only such responses can be confirmed.
    fileprivate var isPlain: Bool { request == .get && variant.isEmpty }
}

extension HTTPFields {
    /// Whether two header blocks are the same and in the same order. Ignores headers that describe the
    /// message or its server and not the content, such as `Date`, `Via` and `Server`.
    static func isSame(_ block: String, _ other: String) -> Bool {
        var (block, other) = (block, other)
        return block.withUTF8 { block in other.withUTF8 { hasSameLines(block, $0) } }
    }

    private static func hasSameLines(_ block: UnsafeBufferPointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>)
        -> Bool
    {
        var (rest, others) = (block[...], other[...])
        while true {
            let (line, otherLine) = (firstLine(rest), firstLine(others))
            if line.elementsEqual(otherLine) {
                if line.isEmpty { return true }
                (rest, others) = (rest[line.endIndex...], others[otherLine.endIndex...])
            } else if describesMessage(line) {
                rest = rest[line.endIndex...]
            } else if describesMessage(otherLine) {
                others = others[otherLine.endIndex...]
            } else {
                return false
            }
        }
    }

    private typealias Line = Slice<UnsafeBufferPointer<UInt8>>

    /// The first line with its line end; empty at the end of the block.
    private static func firstLine(_ rest: Line) -> Line {
        rest[..<(rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.endIndex)]
    }

    private static func describesMessage(_ line: Line) -> Bool {
        guard let end = line.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let bytes = UnsafeBufferPointer(rebasing: line[..<end])
        // A fast path: every response has this header.
        if bytes.count == 4, bytes.elementsEqual("Date".utf8) { return true }
        let name = String(decoding: bytes, as: UTF8.self)
        if HTTPGrammar.matches(String(name.prefix(2)), "x-") { return !contentFields.contains(name) }
        return messageFields.contains(name) || HTTPGrammar.matches(String(name.prefix(3)), "cf-")
    }

    /// The headers beginning with `X-` that describe the content.
    private static let contentFields: FieldNames = [
        "x-content-type-options", "x-dns-prefetch-control", "x-download-options", "x-frame-options",
        "x-permitted-cross-domain-policies", "x-robots-tag", "x-sourcemap", "x-ua-compatible",
        "x-xss-protection",
    ]
    private static let messageFields: FieldNames = [
        "age", "alt-svc", "connection", "date", "expires", "keep-alive", "nel", "report-to", "server",
        "server-timing", "traceparent", "via",
    ]
}
