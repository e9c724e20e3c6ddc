internal import Markup
internal import Web

/// Declarations of the encoding that are inserted into bodies whose encoding only the response headers named,
/// because an exported file has no headers. A declaration precedes the body's own one, which the headers
/// would override. An import recognizes it and removes it again, except in XML.
enum EncodingDeclaration {
    /// Whether the response headers determine the encoding. UTF-8 needs no declaration.
    ///
    /// - Parameter type: The media type from the response headers.
    static func isNeeded(_ type: MediaType?, _ table: LinkTable, _ format: BodyFormat) -> Bool {
        guard !table.isTranscoded, table.encoding != .utf8 else { return false }
        return isEncodingFromHeaders(type, table) && supportsDeclaration(format)
    }

    /// Whether the response headers name the encoding in which the body was read.
    private static func isEncodingFromHeaders(_ type: MediaType?, _ table: LinkTable) -> Bool {
        guard let label = type?.charset, let encoding = TextEncoding(label: label) else { return false }
        return encoding == table.encoding
    }

    /// Whether the format has a syntax for declaring the encoding.
    private static func supportsDeclaration(_ format: BodyFormat) -> Bool {
        switch format {
        case .html, .css, .xhtml, .svg, .xml: true
        case .dash, .sitemap, .feed, .opaque, .javaScript, .json, .webManifest, .importMap,
            .speculationRules, .jsonLD, .hls, .webVTT, .plainText, .pagefindIndex:
            false
        }
    }

    /// Returns the change that inserts the declaration. Returns none if the body declares the same encoding
    /// or is plain ASCII.
    ///
    /// - Parameter source: The text as it is written, which is UTF-8 if the table is transcoded.
    static func changes(
        in source: [UInt8], _ type: MediaType?, _ table: LinkTable, _ format: BodyFormat
    ) -> [Patch.Change] {
        guard isEncodingFromHeaders(type, table), supportsDeclaration(format) else { return [] }
        let encoding = table.isTranscoded ? TextEncoding.utf8 : table.encoding
        let own = format.declaredEncoding(of: source.span)
        // Text in ISO-2022-JP is ASCII with escape sequences.
        let isPlain = source.allSatisfy { $0 < 0x80 && $0 != 0x1B }
        guard !isPlain, own != encoding, encoding != .utf8 || own != nil || table.isTranscoded else {
            return []
        }
        switch format {
        case .html:
            guard let place = format.headOffset(in: source.span) else { return [] }
            return [Patch.Change(place..<place, html(encoding))]
        case .css: return [Patch.Change(0..<0, css(encoding))]
        default:
            // An XML declaration must come first, and there must be only one.
            let end =
                source.starts(with: "<?xml".utf8)
                ? source.firstOffset(of: Array("?>".utf8), in: source.indices).map { $0 + 2 } : nil
            return [Patch.Change(0..<(end ?? 0), xml(encoding))]
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

    /// Returns a body without the inserted declaration. An XML declaration stays.
    static func removingDeclaration(from bytes: [UInt8], _ type: MediaType?, _ format: BodyFormat) -> [UInt8]
    {
        guard let label = type?.charset, let encoding = TextEncoding(label: label) else { return bytes }
        switch format {
        case .html:
            let declaration = html(encoding)
            guard let start = bytes.firstOffset(of: declaration, in: 0..<min(bytes.count, searchedBytes))
            else {
                return bytes
            }
            return Array(bytes[..<start] + bytes[(start + declaration.count)...])
        case .css:
            let declaration = css(encoding)
            return bytes.starts(with: declaration) ? Array(bytes.dropFirst(declaration.count)) : bytes
        default: return bytes
        }
    }

    /// The number of bytes at the beginning of a document that are searched.
    private static let searchedBytes = 1 << 20
}
