import Markup
import Web

/// The kind and reference of an expected link.
struct Found: Equatable, CustomStringConvertible {
    var reference: String
    var kind: LinkKind
    var range: Range<Int>
    var flags: LinkFlags

    var description: String { "\(kind.name) \(reference) at \(range)" }
}

/// The result of scanning a body, with checks that must pass for every body.
struct Scan {
    var found: [Found] = []
    var table = LinkTable()
    /// The violations of invariants that hold for every body.
    var faults: [String] = []

    init(
        _ body: [UInt8], _ format: BodyFormat = .html, charset: String? = "utf-8",
        scanner: LinkScanner = LinkScanner()
    ) {
        var found: [Found] = []
        let table = scanner.scan(body.span, as: format, charset: charset) { occurrence, reference in
            let text = reference.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            found.append(
                Found(
                    reference: text, kind: occurrence.kind, range: occurrence.range, flags: occurrence.flags))
        }
        self.found = found
        self.table = table
        check(body)
    }

    init(_ text: String, _ format: BodyFormat = .html) {
        self.init(Array(text.utf8), format)
    }

    var references: [String] { found.map(\.reference) }

    private mutating func check(_ body: [UInt8]) {
        let source = table.source(of: body.span) ?? body
        if found.count != table.occurrences.count {
            faults.append("reported \(found.count), kept \(table.occurrences.count)")
        }
        var end = 0
        for (link, occurrence) in zip(found, table.occurrences) {
            if occurrence.range.lowerBound < end || occurrence.range.isEmpty
                || occurrence.range.upperBound > source.count
            {
                faults.append("\(link) overlaps or is outside")
                return
            }
            end = occurrence.range.upperBound
            let read = String(decoding: table.reference(occurrence, in: source.span), as: UTF8.self)
            if read != link.reference { faults.append("\(link) reads as \(read) \(occurrence.context)") }
        }
        do throws(MarkupError) {
            if try LinkTable(decoding: table.encoded().span) != table {
                faults.append("the table changes when it is stored")
            }
        } catch {
            faults.append("\(error)")
        }
        let spliced = patched(body, table) { _, _ in nil }
        if spliced != source { faults.append("splicing nothing changes the body") }
    }
}

/// The body with its references replaced.
func patched(
    _ body: [UInt8], _ table: LinkTable, only: LinkFlags = [],
    replacement: (LinkOccurrence, Span<UInt8>) -> String?
) -> [UInt8] {
    let source = table.source(of: body.span) ?? body
    return Patch(source.span, table, only: only, replacement: replacement).apply(to: source)
}
