/// The name of a group of pages: the shape of their URLs without what each of them has for itself.
struct PatternName: Sendable {
    private let host: String
    private let folders: [Substring]
    /// The last name, as `*` or `*.html` where it is a word.
    private let file: String

    init(_ shape: URLShape) {
        let bytes = shape.text.utf8
        let path = shape.text[..<(bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex)]
        let query = shape.text[path.endIndex...]
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        host = parts.first.map(String.init) ?? ""
        folders = Array(parts.dropFirst().dropLast())
        file = Self.general(parts.count > 1 ? parts[parts.count - 1] : "") + query
    }

    private static func general(_ name: Substring) -> String {
        if name.isEmpty || name.utf8.contains(UInt8(ascii: "{")) { return String(name) }
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), name[dot...].utf8.count <= 6 else { return "*" }
        return "*" + name[dot...]
    }

    /// With so many folders by their names; what lies deeper is `**`.
    func text(folders count: Int) -> String {
        var text = host
        for folder in folders.prefix(count) { text += "/" + folder }
        return text + (folders.count > count ? "/**/" : "/") + file
    }
}
