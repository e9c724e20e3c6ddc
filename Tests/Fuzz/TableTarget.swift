internal import Markup

/// The decoder of stored ``LinkTable`` values, with input as from a damaged store.
struct TableTarget: Target {
    let name = "table"
    let suffixes = [".html", ".js"]
    let pieces = [
        "\u{1}", "\u{2}", "\u{20}", "\u{21}", "\u{7F}", "\u{1}\u{1}\u{0}", "\u{7F}\u{7F}\u{7F}\u{7F}",
    ]
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
        // Applies the table to another body than its own.
        _ = patched(input, table) { _, _ in "/" }
        let marked = Patch(table.marks.map { Patch.Change(at: $0.offset, "-") }, of: input.count).apply(
            to: input)
        guard marked.count == input.count else { return "marks: \(marked.count) bytes of \(input.count)" }
        guard
            table.marks.allSatisfy({
                $0.kind != .integrity || table.occurrences.indices.contains($0.occurrence)
            })
        else {
            return "a mark of no link"
        }
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

/// The body with its references replaced. Also checks that a part of it, patched separately, equals that part of the
/// whole.
func patched(
    _ body: [UInt8], _ table: LinkTable, replacement: (LinkOccurrence, Span<UInt8>) -> String?
) -> [UInt8] {
    let source = table.source(of: body.span) ?? body
    let patch = Patch(source.span, table, replacement: replacement)
    let output = patch.apply(to: source)
    let part = output.count / 3..<output.count * 2 / 3
    precondition(
        patch.part(part) { Array(source[$0]) } == Array(output[part]), "a part differs from the whole")
    return output
}
