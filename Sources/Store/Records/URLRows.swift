/// The rows of URLs, each looked up once in a visit where its writer numbers them. It belongs to the writer, in whose
/// transactions it works.
struct URLRows {
    private let connection: Connection
    private let find: Statement
    private let add: Statement
    /// By the numbers of one visit; 0 where it is not known yet.
    private var rows: [Int64] = []
    private var visit: Int64?
    private var lastWasNew = true

    init(_ connection: Connection) throws(StoreError) {
        self.connection = connection
        find = try connection.prepare("SELECT id FROM url WHERE href = ?")
        add = try connection.prepare("INSERT INTO url (href) VALUES (?) ON CONFLICT DO NOTHING")
    }

    /// Numbers are those of this visit from here on.
    mutating func begin(visit: Int64) {
        if self.visit != visit { rows.removeAll() }
        self.visit = visit
    }

    /// What was rolled back, or may be removed by others, has its rows no more.
    mutating func forget() {
        rows.removeAll()
    }

    /// Nil for a number of which nothing was told.
    mutating func row(of target: NewLinks.Target) throws(StoreError) -> Int64? {
        if let href = target.href { return try row(of: href, target.number) }
        let place = Int(target.number)
        return place < rows.count && rows[place] != 0 ? rows[place] : nil
    }

    /// The row that the URL has, or gets.
    mutating func row(of href: String, _ number: UInt32?) throws(StoreError) -> Int64 {
        guard let place = number.map(Int.init) else { return try row(of: href) }
        if place < rows.count, rows[place] != 0 { return rows[place] }
        let row = try row(of: href)
        if place >= rows.count { rows.append(contentsOf: repeatElement(0, count: place + 1 - rows.count)) }
        rows[place] = row
        return row
    }

    mutating func row(of href: String) throws(StoreError) -> Int64 {
        // A first visit brings new URLs, one after the other, and a later one hardly any: what the last one was, the next
        // is likely to be too, and then one search is enough.
        if !lastWasNew, let known = try find.first(.text(href), read: { $0.integer(0) }) { return known }
        try add.run(.text(href))
        lastWasNew = connection.changedRowCount > 0
        if lastWasNew { return connection.lastInsertedRow }
        return try find.first(.text(href)) { $0.integer(0) } ?? 0
    }
}
