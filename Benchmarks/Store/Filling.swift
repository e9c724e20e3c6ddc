internal import Store

/// Fills a store with generated sites like large documentations: different small pages with a few links and usual
/// headers.
struct Filling {
    private let folder: StoreFolder
    /// The number of the site that is being filled, from 0.
    private var site = 0
    private static let batchSize = 500

    init(_ folder: StoreFolder) {
        self.folder = folder
    }

    static func href(_ number: Int, ofSite site: Int = 0) -> String {
        let host = site == 0 ? "docs" : "docs-\(site)"
        return "https://\(host).example.org/library/section-\(number % 997)/chapter/page-\(number).html"
    }

    private func href(_ number: Int) -> String { Self.href(number, ofSite: site) }

    /// Stores `count` URLs, which all sites share equally.
    mutating func run(count: Int, sites: Int = 1) throws(StoreError) {
        let seconds = try Meter.time { () throws(StoreError) in
            for number in 0..<sites {
                site = number
                try fill(count / sites)
            }
        }
        Meter.print(
            "write",
            [
                ("urls", Double(count)), ("seconds", seconds), ("cpu", Meter.cpuSeconds()),
                ("bytes", Double(folder.byteCount)),
            ])
    }

    private func fill(_ count: Int) throws(StoreError) {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: href(0), start: [href(0)], now: 1_700_000_000)
        for first in stride(from: 0, to: count, by: Self.batchSize) {
            var responses: [NewResponse] = []
            var links: [NewLinks] = []
            for number in first..<min(first + Self.batchSize, count) {
                responses.append(try response(number))
                links.append(self.links(number, of: count))
            }
            try writer.add(responses, links: links, to: snapshot)
        }
        try writer.end(snapshot, .publish(now: 1_700_000_100))
    }

    private func response(_ number: Int) throws(StoreError) -> NewResponse {
        let line = "<p>Page \(number) of the documentation, with some words about it.</p>\n"
        let text =
            "<!doctype html><title>Page \(number) of site \(site)</title>"
            + String(repeating: line, count: 5 + number % 13)
        let body = try NewBody(
            .bytes(Array(text.utf8)), form: "html;utf-8", title: "Page \(number) of site \(site)",
            links: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 60), in: folder)
        var response = NewResponse(
            href: href(number), referrer: number == 0 ? nil : href(number / 8), status: 200,
            role: number % 4 == 0 ? 1 : 0,
            fields: """
                Server: nginx\r
                Date: Tue, 14 Nov 2023 22:13:20 GMT\r
                Content-Type: text/html; charset=utf-8\r
                Last-Modified: Mon, 13 Nov 2023 08:00:00 GMT\r
                ETag: "6551d6c0-\(number)"\r
                Cache-Control: public, max-age=3600\r
                Strict-Transport-Security: max-age=31536000; includeSubDomains\r
                X-Content-Type-Options: nosniff\r

                """, fetched: 1_700_000_000 + Int64(number / 100), body: .new(body))
        response.number = UInt32(number)
        response.type = "text/html"
        return response
    }

    /// The links of a page: to its children, the next page, and a style sheet and a script that all pages have.
    private func links(_ number: Int, of count: Int) -> NewLinks {
        func target(_ number: Int) -> NewLinks.Target {
            NewLinks.Target(href: href(number), number: UInt32(number))
        }
        var links = NewLinks(from: target(number))
        links.pages = ([number + 1] + (0..<4).map { number * 4 + $0 }).filter { $0 < count }.map(target)
        links.assets = [target(4), target(8)]
        return links
    }
}
