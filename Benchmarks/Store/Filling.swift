internal import Store

/// Fills a store with a generated site like a large documentation: different small pages with a few links and usual
/// headers.
struct Filling {
    private let folder: StoreFolder
    private static let batchSize = 500

    init(_ folder: StoreFolder) {
        self.folder = folder
    }

    static func href(_ number: Int) -> String {
        "https://docs.example.org/library/section-\(number % 997)/chapter/page-\(number).html"
    }

    func run(count: Int) throws(StoreError) {
        let seconds = try Meter.time { () throws(StoreError) in try fill(count) }
        Meter.print(
            "write",
            [
                ("urls", Double(count)), ("seconds", seconds), ("cpu", Meter.cpuSeconds()),
                ("bytes", Double(folder.byteCount)),
            ])
    }

    private func fill(_ count: Int) throws(StoreError) {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: Self.href(0), start: [Self.href(0)], now: 1_700_000_000)
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
            "<!doctype html><title>Page \(number)</title>" + String(repeating: line, count: 5 + number % 13)
        let body = try NewBody(
            .bytes(Array(text.utf8)), form: "html;utf-8", title: "Page \(number)",
            links: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 60), in: folder)
        var response = NewResponse(
            href: Self.href(number), referrer: number == 0 ? nil : Self.href(number / 8), status: 200,
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
            NewLinks.Target(href: Self.href(number), number: UInt32(number))
        }
        var links = NewLinks(from: target(number))
        links.pages = ([number + 1] + (0..<4).map { number * 4 + $0 }).filter { $0 < count }.map(target)
        links.assets = [target(4), target(8)]
        return links
    }
}
