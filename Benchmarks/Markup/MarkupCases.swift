internal import Markup

/// Measures scanning bodies for links, reading and writing link tables, replacing links, and parsing with libxml2
/// alone.
enum MarkupCases {
    static func run(_ meter: Meter) {
        let scanner = LinkScanner()
        let bodies = meter.set.bodies
        func scan(_ index: Int) -> LinkTable {
            let body = bodies[index]
            return scanner.scan(body.span, as: meter.set.format, charset: nil) { _, _ in }
        }
        meter.measure("scan", counting: "links") { scan($0).occurrences.count }
        if meter.set.format == .html {
            meter.measure("libxml2 SAX", counting: "elements") { PlainParse.elementCount(bodies[$0]) }
        }
        let tables = bodies.indices.map { scan($0) }
        meter.measure("splice", counting: "links") { index in
            let body = bodies[index]
            _ = Patch(body.span, tables[index]) { _, _ in replacement }.apply(to: body)
            return tables[index].occurrences.count
        }
        meter.measure("splice other origins", counting: "links") { index in
            let body = bodies[index]
            _ = Patch(body.span, tables[index], only: .namesOrigin) { _, _ in replacement }.apply(to: body)
            return tables[index].occurrences.count { $0.flags.contains(.namesOrigin) }
        }
        meter.measure("write table", counting: "bytes") { tables[$0].encoded().count }
        let stored = tables.map { $0.encoded() }
        meter.measure("read table", counting: "links") { index in
            let bytes = stored[index]
            do throws(MarkupError) {
                return try LinkTable(decoding: bytes.span).occurrences.count
            } catch {
                preconditionFailure("a table that was just written: \(error)")
            }
        }
    }

    private static let replacement = "http://example.com.localhost:8080/library/page.html"
}
