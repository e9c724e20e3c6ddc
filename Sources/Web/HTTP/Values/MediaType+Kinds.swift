extension MediaType {
    package var isHTML: Bool { essence == "text/html" }

    /// Any XML type, XHTML and SVG among them.
    package var isXML: Bool {
        essence == "text/xml" || essence == "application/xml" || essence.hasSuffix("+xml")
    }

    package var isXHTML: Bool { essence == "application/xhtml+xml" }

    package var isSVG: Bool { essence == "image/svg+xml" }

    package var isCSS: Bool { essence == "text/css" }

    /// Any JavaScript type that a browser runs, the legacy ones among them.
    package var isJavaScript: Bool { Self.javaScriptEssences.contains(essence) }

    package var isJSON: Bool {
        essence == "application/json" || essence == "text/json" || essence.hasSuffix("+json")
    }

    package var isImage: Bool { essence.hasPrefix("image/") }

    package var isFont: Bool { essence.hasPrefix("font/") || Self.fontEssences.contains(essence) }

    package var isAudioOrVideo: Bool {
        essence.hasPrefix("audio/") || essence.hasPrefix("video/") || essence == "application/ogg"
    }

    private static let javaScriptEssences: Set<String> = [
        "application/ecmascript", "application/javascript", "application/x-ecmascript", "application/x-javascript",
        "text/ecmascript", "text/javascript", "text/javascript1.0", "text/javascript1.1", "text/javascript1.2",
        "text/javascript1.3", "text/javascript1.4", "text/javascript1.5", "text/jscript", "text/livescript",
        "text/x-ecmascript", "text/x-javascript",
    ]

    private static let fontEssences: Set<String> = [
        "application/font-cff", "application/font-off", "application/font-sfnt", "application/font-ttf",
        "application/font-woff", "application/font-woff2", "application/vnd.ms-fontobject",
        "application/vnd.ms-opentype", "application/x-font-opentype", "application/x-font-otf",
        "application/x-font-truetype", "application/x-font-ttf", "application/x-font-woff",
    ]
}
