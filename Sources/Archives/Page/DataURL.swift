internal import Markup
internal import Web

/// Makes `data:` URLs from bodies (RFC 2397).
enum DataURL {
    /// The URL for missing content, which fails to load. An empty `data:` URL would not do: Chromium uses the
    /// highest resolution among the `data:` URLs of a `srcset`, even if it would have fetched another one.
    static let missing = "about:invalid"
    /// A URL with empty content, which loads without an error.
    static let empty = "data:,"

    /// Returns a URL with percent escapes if that is shorter than base64, as it is for text that contains
    /// `data:` URLs.
    static func of(_ bytes: [UInt8], _ type: String) -> String {
        let escaped = bytes.count { isEscaped($0) }
        if escaped * 2 + bytes.count <= (bytes.count + 2) / 3 * 4 {
            var text = Array("data:\(type),".utf8)
            text.reserveCapacity(text.count + bytes.count + escaped * 2)
            for byte in bytes {
                if isEscaped(byte) {
                    text.appendPercentEncoded(byte)
                } else {
                    text.append(byte)
                }
            }
            return String(decoding: text, as: UTF8.self)
        }
        return "data:\(type);base64,\(Base64.encode(bytes))"
    }

    /// Returns the type in a form that is valid in a URL, or `other` if it cannot be used.
    static func type(_ type: MediaType?, else other: String) -> String {
        guard let type, isPlain(type.essence) else { return other }
        return type.essence + charset(type.charset)
    }

    static func charset(_ name: String?) -> String {
        guard let name, !name.isEmpty, isPlain(name) else { return "" }
        return ";charset=\(name)"
    }

    /// Returns the media type of a format, for bodies without a type.
    static func type(of format: BodyFormat) -> String {
        switch format {
        case .html: "text/html"
        case .css: "text/css"
        case .javaScript: "text/javascript"
        case .svg: "image/svg+xml"
        case .xhtml: "application/xhtml+xml"
        case .json, .webManifest, .importMap, .speculationRules, .jsonLD: "application/json"
        case .xml, .sitemap, .feed: "application/xml"
        case .webVTT: "text/vtt"
        case .hls: "application/vnd.apple.mpegurl"
        case .dash: "application/dash+xml"
        case .plainText: "text/plain"
        case .opaque, .pagefindIndex: "application/octet-stream"
        }
    }

    private static func isPlain(_ text: String) -> Bool {
        text.utf8.count <= 127
            && text.utf8.allSatisfy {
                $0.isASCIIDigit || (0x61...0x7A).contains($0 | 0x20) || "/+-._".utf8.contains($0)
            }
    }

    /// Whether a byte must be escaped: bytes that URLs cannot contain or would not preserve (section 4.4 of
    /// the URL standard), and bytes that would grow each time they are escaped in markup.
    private static func isEscaped(_ byte: UInt8) -> Bool {
        switch byte {
        case 0...0x20, 0x7F..., 0x22, 0x23, 0x25, 0x26, 0x27, 0x3C, 0x3E, 0x5C, 0x60: true
        default: false
        }
    }
}
