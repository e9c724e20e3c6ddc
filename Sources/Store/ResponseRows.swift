/// The rows of responses and of lists of links, one at a time. It belongs to the writer, in whose transactions it works.
struct ResponseRows {
    private let connection: Connection
    private let addResponse: Statement
    private let removeResponse: Statement
    private let addLinks: Statement
    private let changeLinks: Statement
    private let knownLinks: Statement
    fileprivate let removeCount: Statement

    init(_ connection: Connection) throws(StoreError) {
        self.connection = connection
        // Most are new: what there is already is looked for only then.
        addResponse = try connection.prepare("INSERT OR IGNORE \(Self.insertion)")
        removeResponse = try connection.prepare(
            "DELETE FROM response WHERE url = ? AND visit = ? AND request = ? AND variant = ?")
        addLinks = try connection.prepare(
            """
            INSERT OR IGNORE INTO link (url, body, pages, requisites, guesses)
            SELECT url, body, ?3, ?4, ?5 FROM response
            WHERE url = ?1 AND visit = ?2 AND request = '' AND body IS NOT NULL
            """)
        changeLinks = try connection.prepare(
            """
            UPDATE link SET pages = ?3, requisites = ?4, guesses = ?5
            WHERE url = ?1
                AND body IN (SELECT body FROM response WHERE url = ?1 AND visit = ?2 AND request = '')
                AND (pages <> ?3 OR requisites <> ?4 OR guesses <> ?5)
            """)
        knownLinks = try connection.prepare(
            """
            SELECT pages, requisites, guesses FROM link
            WHERE url = ?1
                AND body IN (SELECT body FROM response WHERE url = ?1 AND visit = ?2 AND request = '')
            """)
        removeCount = try connection.prepare(KeptTally.remove)
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

    /// Of what the URL's body in the visit leads to: pages, requisites and guesses. Nil where nothing is kept.
    fileprivate func lists(of url: Int64, ofVisit visit: Int64) throws(StoreError) -> [String]? {
        try knownLinks.first(.integer(url), .integer(visit)) { row in (0..<3).map { row.text($0) } }
    }

    fileprivate func add(_ lists: [String], of url: Int64, ofVisit visit: Int64) throws(StoreError) {
        let values = [SQLValue.integer(url), .integer(visit)] + lists.map(SQLValue.text)
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
            for response in responses { try add(response, to: visit) }
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

    private func add(_ response: NewResponse, to visit: OpenVisit) throws(StoreError) {
        noteRow(byteCount: response.fields.utf8.count + 200)
        let url = try urls.row(of: response.href, response.number, known: response.row)
        var referrer: Int64?
        if let href = response.referrer { referrer = try urls.row(of: href, response.referrerNumber) }
        let body: Int64? =
            switch response.body {
            case .none: nil
            case .new(let new): try bodies.row(of: new)
            case .held(let held): try bodies.row(ofHeld: held)
            }
        try rows.add(response, url: url, referrer: referrer, body: body, ofVisit: visit.id)
        journal.note(response, ofVisit: visit.id)
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
