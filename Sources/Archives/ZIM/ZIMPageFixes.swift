internal import Markup
internal import Web

/// Changes to pages for Kiwix and the tools of openZIM, which read pages with limitations of their own.
enum ZIMPageFixes {
    /// Declares UTF-8 in a `meta` element in front of the page's own declaration. It replaces a byte order
    /// mark, because openZIM's indexer finds no title behind one.
    static func declaringUTF8(_ source: [UInt8]) -> [Patch.Change] {
        // Text in ISO-2022-JP is ASCII with escape sequences.
        guard source.contains(where: { $0 >= 0x80 || $0 == 0x1B }),
            let place = BodyFormat.html.headOffset(in: source.span)
        else { return [] }
        let hasByteOrderMark = source.starts(with: [0xEF, 0xBB, 0xBF])
        return (hasByteOrderMark ? [Patch.Change(0..<3, [])] : [])
            + [Patch.Change(place..<place, Array("<meta charset=\"utf-8\">".utf8))]
    }

    /// Disables refreshes that are delayed, or whose target is missing or the page itself. A ZIM writer would
    /// treat the page as a redirect and drop its text. Also applies the other changes that ZIM tools need.
    static func changes(
        in source: [UInt8], _ table: LinkTable, _ url: WebURL, _ base: WebURL,
        isFile: (WebURL) throws(ArchiveError) -> Bool
    ) throws(ArchiveError) -> [Patch.Change] {
        var changes: [Patch.Change] = []
        for occurrence in table.occurrences where occurrence.kind == .refresh {
            guard let tag = EnclosingTag(around: occurrence.range, in: source, mustBeWholeValue: false),
                let pragma = tag.attributes.first(where: { $0.name == "http-equiv" })?.valueRange,
                let content = tag.value(of: "content", in: source)
            else { continue }
            let reference = table.reference(occurrence, in: source.span)
            if let target = WebURL(utf8: reference.span, base: base), target.isHTTP, target.key != url.key,
                try isFile(target), content.drop(while: { $0 == " " }).hasPrefix("0")
            {
                changes += Self.removingRefreshQuotes(occurrence.range, in: source, tag)
                continue
            }
            changes.append(Patch.Change(pragma, Array("ignored".utf8)))
        }
        let trimming = Self.trimmingLinks(source, table).filter { change in
            !changes.contains { $0.range.overlaps(change.range) }
        }
        return changes + trimming + Self.fillingEmptyLinks(source)
    }

    /// Removes the quotes in `0; url='next.html'`, because zimwriterfs takes them for a part of the file
    /// name.
    private static func removingRefreshQuotes(_ link: Range<Int>, in source: [UInt8], _ tag: EnclosingTag)
        -> [Patch.Change]
    {
        guard let value = tag.attribute(at: link.lowerBound)?.valueRange, value.lowerBound < link.lowerBound,
            let mark = source[value.lowerBound..<link.lowerBound].last(where: { $0 > 0x20 }),
            [0x22, 0x27].contains(mark),
            let open = source[value.lowerBound..<link.lowerBound].lastIndex(of: mark)
        else { return [] }
        // Browsers ignore everything after the closing quote.
        return [open..<link.lowerBound, link.upperBound..<value.upperBound].filter { !$0.isEmpty }
            .map { Patch.Change($0, []) }
    }

    /// Removes white space around links, because `zimcheck` takes it for a part of the link.
    private static func trimmingLinks(_ source: [UInt8], _ table: LinkTable) -> [Patch.Change] {
        var changes: [Patch.Change] = []
        for occurrence in table.occurrences where occurrence.context.levels == 1 {
            let link = occurrence.range
            guard let open = source[..<link.lowerBound].lastIndex(where: { $0 > 0x20 }),
                let close = source[link.upperBound...].firstIndex(where: { $0 > 0x20 }),
                source[open] == source[close], [0x22, 0x27].contains(source[open])
            else { continue }
            for space in [open + 1..<link.lowerBound, link.upperBound..<close] where !space.isEmpty {
                changes.append(Patch.Change(space, []))
            }
        }
        return changes
    }

    /// Replaces empty links to the page itself by `#`, because `zimcheck` reports them as errors.
    private static func fillingEmptyLinks(_ source: [UInt8]) -> [Patch.Change] {
        let empty = Array("href=\"\"".utf8)
        var changes: [Patch.Change] = []
        var isInTag = false
        for (offset, byte) in source.enumerated() {
            if byte == UInt8(ascii: "<") || byte == UInt8(ascii: ">") { isInTag = byte == UInt8(ascii: "<") }
            guard isInTag, byte | 0x20 == UInt8(ascii: "h"), offset > 0, source[offset - 1] <= 0x20,
                source[offset...].starts(with: empty)
            else { continue }
            let valueStart = offset + empty.count - 1
            changes.append(Patch.Change(valueStart..<valueStart, [UInt8(ascii: "#")]))
        }
        return changes
    }

    // MARK: - False errors of zimcheck

    /// Hides links in scripts and comments from `zimcheck`, which would report those without a target. It
    /// recognizes attributes by the space before them, so that space becomes a tab. A tab means the same to scripts
    /// and to the pages that they write.
    static func hideLinksInScriptsAndComments(in text: inout [UInt8]) {
        var offset = 0
        while let start = text[offset...].firstIndex(of: UInt8(ascii: "<")) {
            if hasWord("<!--", in: text, at: start) {
                offset = end(of: "-->", in: text, from: start + 4)
            } else if hasWord("<script", in: text, at: start) {
                offset = end(of: "</script", in: text, from: start + 7)
            } else {
                offset = start + 1
                continue
            }
            hideLinks(in: &text, start + 4..<offset)
        }
    }

    private static func hideLinks(in text: inout [UInt8], _ range: Range<Int>) {
        for offset in range where text[offset] == UInt8(ascii: " ") {
            guard let name = ["href", "src"].first(where: { hasWord($0, in: text, at: offset + 1) }) else {
                continue
            }
            var next = offset + 1 + name.utf8.count
            func skipSpaces() { while next < range.upperBound, text[next] == UInt8(ascii: " ") { next += 1 } }
            skipSpaces()
            guard next < range.upperBound, text[next] == UInt8(ascii: "=") else { continue }
            next += 1
            skipSpaces()
            guard next < range.upperBound,
                text[next] == UInt8(ascii: "\"") || text[next] == UInt8(ascii: "'"),
                // Strings that a script searches for must not change.
                !"/\"'`(".utf8.contains(text[offset - 1])
            else { continue }
            text[offset] = 0x09
        }
    }

    /// Whether the word is at this offset. `word` is in lower case, and the text may be in any case.
    private static func hasWord(_ word: String, in text: [UInt8], at offset: Int) -> Bool {
        offset + word.utf8.count <= text.count
            && zip(word.utf8, text[offset...]).allSatisfy { $0 == ($1 < 0x5B && $1 > 0x40 ? $1 | 0x20 : $1) }
    }

    /// Returns the offset after the next occurrence of the word, or the end of the text.
    private static func end(of word: String, in text: [UInt8], from start: Int) -> Int {
        var offset = min(start, text.count)
        while let next = text[offset...].firstIndex(where: { $0 == word.utf8.first }) {
            if hasWord(word, in: text, at: next) { return next + word.utf8.count }
            offset = next + 1
        }
        return text.count
    }
}
