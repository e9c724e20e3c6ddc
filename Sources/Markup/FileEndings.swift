/// The kinds of the files that links without markup name, such as strings in scripts, by their endings.
enum FileEndings {
    private static let kinds: [(StaticString, LinkKind)] = [
        ("js", .script), ("mjs", .module), ("css", .style), ("png", .image), ("jpg", .image),
        ("jpeg", .image),
        ("gif", .image), ("webp", .image), ("avif", .image), ("svg", .image), ("bmp", .image), ("ico", .icon),
        ("woff2", .font), ("woff", .font), ("ttf", .font), ("otf", .font), ("eot", .font), ("mp4", .media),
        ("webm", .media), ("ogv", .media), ("mp3", .media), ("ogg", .media), ("m4a", .media), ("wav", .media),
        ("flac", .media), ("vtt", .track), ("m3u8", .playlist), ("mpd", .playlist),
        ("webmanifest", .manifest), ("glb", .model), ("gltf", .model), ("usdz", .model),
        ("json", .data), ("wasm", .data), ("html", .page), ("htm", .page),
    ]

    /// Returns the kind of a file; nil if its ending is not known.
    static func kind(ofName name: String) -> LinkKind? {
        Array(name.utf8).withUnsafeBufferPointer { kind(ofFile: $0) }
    }

    /// Returns the kind of the file that a URL names; nil if its ending is not known.
    static func kind(ofFile name: Bytes) -> LinkKind? {
        let path = name.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard let dot = path.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        let suffix = name.part(dot + 1..<path.endIndex)
        return kinds.first { suffix.equals($0.0) }?.1
    }
}
