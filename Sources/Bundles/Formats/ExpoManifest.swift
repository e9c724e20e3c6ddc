internal import Digest
internal import Web

/// The manifest of Expo Updates, version 0 and 1: the assets of an update with their SHA-256 in base64url.
enum ExpoManifest {
    static func read(_ root: ManifestNode) throws(ManifestError) -> Manifest {
        let launch = try root.requiredMember("launchAsset", "the asset with the code of the app")
        var list = BundleList()
        try add(launch, to: &list)
        for asset in try root["assets"]?.elements() ?? [] { try add(asset, to: &list) }
        var manifest = Manifest(.expo, bundles: list.bundles)
        manifest.created = try root["createdAt"]?.time()
        return manifest
    }

    /// Reads a `multipart/mixed` response, whose part `manifest` is the manifest.
    static func read(multipart source: SourceText) throws(ManifestError) -> Manifest {
        let parts = try ExpoParts(source).parts
        if let part = parts.first(where: { $0.name == "manifest" }) {
            return try read(try source.json(in: part.body))
        }
        guard let directive = parts.first(where: { $0.name == "directive" }) else {
            throw source.error(at: 0, "expected a part with the name \"manifest\", found none")
        }
        let node = try source.json(in: directive.body)
        let type = try node.requiredMember("type", "the type of the directive")
        throw type.error(
            "expected a manifest, found the directive \(ManifestNode.abbreviate(try type.string())): the server offers "
                + "no update to check")
    }

    private static func add(_ asset: ManifestNode, to list: inout BundleList) throws(ManifestError) {
        let url = try asset.requiredMember("url", "the URL of an asset")
        let claims = try asset["hash"].map { (hash) throws(ManifestError) -> [Claim] in
            // Before version 0 of the protocol was final, servers wrote hexadecimal digits.
            if let digest = Digest(.sha256, hex: try hash.string()) { return [Claim(digest)] }
            return [Claim(try hash.base64Digest(.sha256))]
        }
        try url.add(Bundle(reference: try url.text(), claims: claims ?? []), to: &list)
    }

    static func isRecognised(_ value: JSONValue) -> Bool {
        value["launchAsset"]?.members != nil && value["assets"].map { $0.array != nil } ?? true
    }
}

/// The parts of a `multipart/mixed` body (RFC 2046, section 5.1).
struct ExpoParts {
    /// A part with the name in its `Content-Disposition`.
    struct Part {
        let name: String
        /// The range of the body in the source.
        let body: Range<Int>
    }

    private(set) var parts: [Part] = []
    private let source: SourceText
    private let delimiter: [UInt8]

    /// The maximum number of parts. Expo's servers send at most three.
    private static let maxParts = 16
    /// RFC 2046 allows 70 characters in a boundary. Two dashes precede it.
    private static let maxDelimiterBytes = 72
    /// The maximum size of the head of a part. A longer one is an error.
    private static let maxHeadBytes = 8 * 1024

    init(_ source: SourceText) throws(ManifestError) {
        self.source = source
        let bytes = source.bytes
        guard let first = Self.firstLine(of: bytes) else {
            throw source.error(at: 0, "expected two dashes and the boundary of the parts, found neither")
        }
        delimiter = Array(bytes[first])
        var start = first.lowerBound
        while true {
            let end = start + delimiter.count
            if bytes[end...].starts(with: "--".utf8) { return }
            guard parts.count < Self.maxParts else {
                throw source.error(at: start, "expected at most \(Self.maxParts) parts")
            }
            guard let line = bytes[end...].firstIndex(of: 0x0A) else { break }
            let (name, body) = try head(at: line + 1)
            guard let next = nextDelimiter(after: body) else { break }
            // The line break before the delimiter belongs to it.
            let hasReturn = next > body && bytes[next - 1] == 0x0D
            parts.append(Part(name: name, body: body..<max(body, hasReturn ? next - 1 : next)))
            start = next + 1
        }
        throw source.error(
            at: bytes.count,
            "expected \(String(decoding: delimiter, as: UTF8.self))-- after the last part, found the end")
    }

    /// Whether a text begins with a delimiter and the head of a part.
    static func isRecognised(_ bytes: [UInt8]) -> Bool {
        guard let first = firstLine(of: bytes) else { return false }
        let head = bytes[first.upperBound...].prefix(maxHeadBytes).map(\.lowercasedASCII)
        return !SourceText.offsets(of: "\ncontent-disposition:", in: head, atMost: 1).isEmpty
    }

    /// The first line without spaces at its end, if it is a delimiter.
    private static func firstLine(of bytes: [UInt8]) -> Range<Int>? {
        let mark = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        guard let start = bytes[mark...].firstIndex(where: { $0 > 0x20 }) else { return nil }
        let line = bytes[start...].prefix(maxDelimiterBytes + 1).prefix { $0 > 0x20 }
        guard (3...maxDelimiterBytes).contains(line.count), line.starts(with: "--".utf8) else { return nil }
        return line.indices
    }

    /// Parses the head of a part. Returns the name in its `Content-Disposition`, which is empty if there is none, and
    /// the start of the body.
    private func head(at start: Int) throws(ManifestError) -> (name: String, body: Int) {
        var name = ""
        var lineStart = start
        let bytes = source.bytes
        while lineStart < min(bytes.count, start + Self.maxHeadBytes) {
            guard let end = bytes[lineStart...].firstIndex(of: 0x0A) else { break }
            let line = bytes[lineStart..<end].drop { $0 <= 0x20 }
            if line.isEmpty { return (name, end + 1) }
            let field = HTTPFields(block: Array(line).span)
            if let value = field["Content-Disposition"], let found = Self.name(in: value) { name = found }
            lineStart = end + 1
        }
        throw source.error(at: start, "expected an empty line after the head of a part, found none")
    }

    /// The parameter `name` of a `Content-Disposition`, with or without quotes.
    private static func name(in value: String) -> String? {
        for parameter in value.utf8.split(separator: 0x3B).dropFirst() {
            let text = parameter.drop { $0 <= 0x20 }
            guard text.prefix(5).map(\.lowercasedASCII).elementsEqual("name=".utf8) else { continue }
            return String(decoding: text.dropFirst(5).filter { $0 != 0x22 && $0 > 0x20 }, as: UTF8.self)
        }
        return nil
    }

    /// The offset of the line break before the next delimiter; nil if there is none.
    private func nextDelimiter(after start: Int) -> Int? {
        // An empty body begins with the delimiter, whose line break is then that of the head.
        var at = start - 1
        while let lineBreak = source.bytes[at...].firstIndex(of: 0x0A) {
            if source.bytes[(lineBreak + 1)...].starts(with: delimiter) { return lineBreak }
            at = lineBreak + 1
        }
        return nil
    }
}
