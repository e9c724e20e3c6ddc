internal import Markup
package import Web

/// Determines the media type of a file without response headers, by its name or else by its first bytes.
package enum FileTypes {
    /// Returns the media type of a file.
    ///
    /// - Parameter file: The original file name. Tools add a suffix to pages that their URLs do not have.
    package static func type(of url: WebURL, file: String?, beginning: [UInt8]) -> String {
        if let type = suffix(of: url.path).flatMap({ types[$0] }) { return type }
        if let suffix = file.flatMap(suffix), ["html", "htm", "xhtml", "css"].contains(suffix),
            let type = types[suffix]
        {
            return type
        }
        switch BodyFormat(mediaType: nil, url: url, body: beginning.span) {
        case .html: return "text/html"
        case .xhtml: return "application/xhtml+xml"
        case .css: return "text/css"
        case .javaScript: return "text/javascript"
        case .svg: return "image/svg+xml"
        case .xml, .sitemap, .feed: return "application/xml"
        case .json, .importMap, .speculationRules, .jsonLD: return "application/json"
        case .webManifest: return "application/manifest+json"
        case .hls: return "application/vnd.apple.mpegurl"
        case .dash: return "application/dash+xml"
        case .webVTT: return "text/vtt"
        case .plainText: return "text/plain"
        case .pagefindIndex: return "application/octet-stream"
        case .opaque: return isText(beginning) ? "text/plain" : "application/octet-stream"
        }
    }

    private static func suffix(of path: String) -> String? {
        let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[$0...] } ?? path[...]
        return name.utf8.lastIndex(of: UInt8(ascii: ".")).map { name[$0...].dropFirst().lowercased() }
    }

    /// Whether the text is a known suffix of file names.
    static func isSuffix(_ text: String) -> Bool { types[text] != nil }

    /// Whether the bytes contain no binary data byte (MIME Sniffing standard, section 3).
    private static func isText(_ bytes: [UInt8]) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { $0 >= 0x20 || [0x09, 0x0A, 0x0C, 0x0D, 0x1B].contains($0) }
    }

    private static let types: [String: String] = [
        "html": "text/html", "htm": "text/html", "xhtml": "application/xhtml+xml",
        "xht": "application/xhtml+xml",
        "css": "text/css", "js": "text/javascript", "mjs": "text/javascript", "cjs": "text/javascript",
        "json": "application/json", "map": "application/json", "webmanifest": "application/manifest+json",
        "xml": "application/xml", "xsl": "application/xml", "rss": "application/rss+xml",
        "atom": "application/atom+xml", "txt": "text/plain", "md": "text/markdown", "csv": "text/csv",
        "vtt": "text/vtt", "svg": "image/svg+xml", "png": "image/png", "apng": "image/apng",
        "jpg": "image/jpeg",
        "jpeg": "image/jpeg", "jfif": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
        "avif": "image/avif",
        "bmp": "image/bmp", "ico": "image/x-icon", "cur": "image/x-icon", "tif": "image/tiff",
        "tiff": "image/tiff",
        "woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf", "otf": "font/otf",
        "eot": "application/vnd.ms-fontobject", "mp4": "video/mp4", "m4v": "video/mp4", "webm": "video/webm",
        "ogv": "video/ogg", "mov": "video/quicktime", "mp3": "audio/mpeg", "m4a": "audio/mp4",
        "ogg": "audio/ogg",
        "oga": "audio/ogg", "opus": "audio/ogg", "wav": "audio/wav", "flac": "audio/flac", "aac": "audio/aac",
        "m3u8": "application/vnd.apple.mpegurl", "mpd": "application/dash+xml", "ts": "video/mp2t",
        "m4s": "video/iso.segment", "wasm": "application/wasm", "pdf": "application/pdf",
        "zip": "application/zip",
        "gz": "application/gzip", "tgz": "application/gzip", "bz2": "application/x-bzip2",
        "xz": "application/x-xz",
        "zst": "application/zstd", "tar": "application/x-tar", "7z": "application/x-7z-compressed",
        "epub": "application/epub+zip", "swf": "application/x-shockwave-flash",
        "jar": "application/java-archive",
        "class": "application/java-vm", "rtf": "application/rtf", "doc": "application/msword",
        "ps": "application/postscript", "bin": "application/octet-stream", "exe": "application/octet-stream",
    ]
}
