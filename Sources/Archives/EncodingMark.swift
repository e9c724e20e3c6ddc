internal import Glibc
internal import Markup
internal import Web

/// What a body says of its encoding where only its server said it, and no server gives it any more. It stands in
/// front of what the body says itself, which a server's word outdoes, and is known again.
enum EncodingMark {
    /// Whether a server's word decides how it is read. Who sees UTF-8 knows it.
    ///
    /// - Parameter type: as the server said it.
    static func isWanted(_ type: MediaType?, _ table: LinkTable, _ format: BodyFormat) -> Bool {
        guard !table.isTranscoded, table.encoding != .utf8 else { return false }
        return isSaid(type, table) && hasPlace(format)
    }

    private static func isSaid(_ type: MediaType?, _ table: LinkTable) -> Bool {
        guard let label = type?.charset, let said = TextEncoding(label: label) else { return false }
        return said == table.encoding
    }

    private static func hasPlace(_ format: BodyFormat) -> Bool {
        switch format {
        case .html, .css, .xhtml, .svg, .xml: true
        case .dash, .sitemap, .feed, .opaque, .javaScript, .json, .webManifest, .importMap,
            .speculationRules, .jsonLD, .hls, .webVTT, .plainText:
            false
        }
    }

    /// The mark in a body that wants one; nothing where it says the same itself, or has none but ASCII.
    ///
    /// - Parameter source: as it is written out: in UTF-8 where the table has been read from that.
    static func changes(
        in source: [UInt8], _ type: MediaType?, _ table: LinkTable, _ format: BodyFormat
    ) -> [Patch.Change] {
        guard isSaid(type, table), hasPlace(format) else { return [] }
        let encoding = table.isTranscoded ? TextEncoding.utf8 : table.encoding
        let own = format.declaredEncoding(of: source.span)
        // Texts of ISO-2022-JP are ASCII with escapes.
        let isPlain = source.allSatisfy { $0 < 0x80 && $0 != 0x1B }
        guard !isPlain, own != encoding, encoding != .utf8 || own != nil || table.isTranscoded else {
            return []
        }
        switch format {
        case .html:
            guard let place = format.headPlace(in: source.span) else { return [] }
            return [Patch.Change(place..<place, html(encoding))]
        case .css: return [Patch.Change(0..<0, css(encoding))]
        default:
            // A declaration is the first thing, and there is one.
            let end = source.starts(with: "<?xml".utf8) ? source.firstRange(of: Array("?>".utf8)) : nil
            return [Patch.Change(0..<(end?.upperBound ?? 0), xml(encoding))]
        }
    }

    private static func html(_ encoding: TextEncoding) -> [UInt8] {
        Array("<meta charset=\"\(encoding.name)\" data-larder>".utf8)
    }

    private static func css(_ encoding: TextEncoding) -> [UInt8] {
        Array("@charset \"\(encoding.name)\";/*larder*/".utf8)
    }

    private static func xml(_ encoding: TextEncoding) -> [UInt8] {
        Array("<?xml version=\"1.0\" encoding=\"\(encoding.name)\"?>".utf8)
    }

    /// A body without what was put into it. A declaration of XML stays.
    static func undone(_ bytes: [UInt8], _ type: MediaType?, _ format: BodyFormat) -> [UInt8] {
        guard let label = type?.charset, let encoding = TextEncoding(label: label) else { return bytes }
        switch format {
        case .html:
            let mark = html(encoding)
            guard let start = bytes.place(of: mark, in: 0..<min(bytes.count, window)) else { return bytes }
            return Array(bytes[..<start] + bytes[(start + mark.count)...])
        case .css:
            let mark = css(encoding)
            return bytes.starts(with: mark) ? Array(bytes.dropFirst(mark.count)) : bytes
        default: return bytes
        }
    }

    /// How far a document's head is looked for it.
    private static let window = 1 << 20
}

extension [UInt8] {
    /// Where `part`, which is not empty, stands first in a range of these.
    func place(of part: [UInt8], in range: Range<Int>) -> Int? {
        withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            let end = range.upperBound - part.count + 1
            var at = range.lowerBound
            while at < end, let hit = memchr(base + at, Int32(part[0]), end - at) {
                if memcmp(hit, part, part.count) == 0 { return UnsafeRawPointer(hit) - base }
                at = UnsafeRawPointer(hit) - base + 1
            }
            return nil
        }
    }
}
