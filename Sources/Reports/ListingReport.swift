internal import Web

/// Which media types are wanted: `text/html`, `image/*`, or a short name such as `js`.
public struct TypeFilter: Sendable {
    private let patterns: [MediaTypePattern]

    /// Nil when it is neither a media type, with or without a star for the subtype, nor a short name.
    public init?(_ text: String) {
        let wanted = Self.shortNames.first { $0.name == text.lowercased() }?.types ?? [text]
        patterns = wanted.compactMap { MediaTypePattern($0) }
        guard patterns.count == wanted.count else { return nil }
    }

    /// The short names, in order.
    public static var names: [String] { shortNames.map(\.name) }

    package func matches(_ type: String?) -> Bool {
        let mediaType = type.flatMap { MediaType($0) }
        return patterns.contains { $0.matches(mediaType) }
    }

    /// What servers say for each, old names included.
    private static let shortNames: [(name: String, types: [String])] = [
        ("audio", ["audio/*"]),
        ("css", ["text/css"]),
        (
            "font",
            [
                "font/*", "application/font-woff", "application/font-woff2", "application/font-sfnt",
                "application/x-font-ttf", "application/x-font-otf", "application/x-font-woff",
                "application/vnd.ms-fontobject",
            ]
        ),
        ("html", ["text/html", "application/xhtml+xml"]),
        ("image", ["image/*"]),
        (
            "js",
            [
                "text/javascript", "application/javascript", "application/x-javascript", "text/ecmascript",
                "application/ecmascript",
            ]
        ),
        ("json", ["application/json", "text/json", "application/ld+json", "application/manifest+json"]),
        ("video", ["video/*"]),
        ("xml", ["application/xml", "text/xml", "application/rss+xml", "application/atom+xml"]),
    ]
}
