import Store

/// The content that the child process writes and the tests expect. Each snapshot of a site has all pages, and their bodies
/// depend only on the id of the snapshot.
struct Stock {
    let site: String
    static let pageCount = 16
    /// The number of pages in a transaction.
    static let batchSize = 4

    func href(_ page: Int) -> String { "http://\(site).test/\(page)" }

    /// Some pages change with each snapshot, others with every second or third. Every third page is too large for the
    /// database, and the first one is too large for a pack.
    func body(_ page: Int, snapshot: Int64) -> [UInt8] {
        let text = Array("page \(page) of \(site), edition \(snapshot / Int64(1 + page % 3))\n".utf8)
        guard page % 3 == 0 else { return text }
        let count = page == 0 ? Limits.maxPackedBodyBytes + 1000 : 60_000 + page
        return [UInt8](unsafeUninitializedCapacity: count) { bytes, initialized in
            for place in 0..<count { bytes[place] = text[place % text.count] }
            initialized = count
        }
    }

    func response(_ page: Int, snapshot: Int64, in folder: StoreFolder) throws(StoreError) -> NewResponse {
        let body = try NewBody(
            .bytes(body(page, snapshot: snapshot)), form: "plain;utf-8", title: "\(page)",
            links: [UInt8(page)],
            in: folder)
        var response = NewResponse(
            href: href(page), referrer: page == 0 ? nil : href(0), status: 200, role: page % 3 == 0 ? 1 : 0,
            fields: "Content-Type: text/plain\r\nX-Snapshot: \(snapshot)\r\n", fetched: snapshot,
            body: .new(body))
        response.number = UInt32(page)
        return response
    }

    /// Each page links to the next page, and has the first one as an asset.
    func links(_ page: Int) -> NewLinks {
        let next = (page + 1) % Self.pageCount
        var links = NewLinks(from: NewLinks.Target(href: href(page), number: UInt32(page)))
        links.pages = [NewLinks.Target(href: href(next), number: UInt32(next))]
        links.assets = [NewLinks.Target(href: href(0), number: 0)]
        return links
    }
}
