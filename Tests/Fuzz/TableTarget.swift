internal import Markup

/// The stored form of a ``LinkTable``, as a damaged store would hand it over.
struct TableTarget: Target {
    let name = "table"
    let suffixes = [".html", ".js"]
    let pieces = ["\u{1}", "\u{2}", "\u{20}", "\u{21}", "\u{7F}", "\u{1}\u{1}\u{0}", "\u{7F}\u{7F}\u{7F}\u{7F}"]
    private let scanner = LinkScanner()

    func seed(_ body: [UInt8]) -> [UInt8] {
        let start = Array(body.prefix(Mutator.inputLimit))
        let format = start.first == UInt8(ascii: "<") ? BodyFormat.html : .javaScript
        return scanner.scan(start.span, as: format, charset: nil) { _, _ in }.encoded()
    }

    func fault(_ input: [UInt8]) -> String? {
        let table: LinkTable
        do throws(MarkupError) {
            table = try LinkTable(decoding: input.span)
        } catch {
            return nil
        }
        var end = 0
        for occurrence in table.occurrences {
            guard occurrence.range.lowerBound >= end, !occurrence.range.isEmpty else {
                return "a place: \(occurrence.range) after \(end)"
            }
            end = occurrence.range.upperBound
        }
        // Of another body than it was made for.
        var output: [UInt8] = []
        Splicer.splice(input.span, table, into: &output) { _, _ in "/" }
        _ = table.occurrences.map { table.reference($0, in: input.span) }
        return Self.codingFault(table)
    }

    static func codingFault(_ table: LinkTable) -> String? {
        let stored = table.encoded()
        do throws(MarkupError) {
            let again = try LinkTable(decoding: stored.span)
            return again == table ? nil : "a stored table: \(table) became \(again)"
        } catch {
            return "a stored table: \(error)"
        }
    }
}
