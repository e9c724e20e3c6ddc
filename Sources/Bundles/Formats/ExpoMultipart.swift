package import Web

/// A response of a server of Expo Updates: a manifest or a directive, with what proves who signed it.
///
/// The signature is in the field `expo-signature`: of the part if the response is `multipart/mixed`, else of the response. It
/// signs the bytes of the part or of the whole body.
package struct ExpoResponse: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        case manifest
        case directive(ExpoDirective)
        /// A response without parts: there is nothing new.
        case nothing
    }

    package let content: Content
    /// The bytes that the signature signs.
    package let signedBytes: [UInt8]
    /// The value of `expo-signature`; nil if there is none.
    package let signature: String?
    /// The certificates between the one that signed and the trusted one, as PEM; nil if there are none.
    package let certificateChain: String?

    /// Reads a response. A manifest itself is not parsed.
    ///
    /// - Parameters:
    ///   - file: names the response in errors.
    ///   - signature: the field `expo-signature` of the response.
    package init(_ bytes: [UInt8], file: String, signature: String?) throws(ManifestError) {
        guard bytes.contains(where: { $0 > 0x20 }) else {
            (content, signedBytes, self.signature, certificateChain) = (.nothing, bytes, signature, nil)
            return
        }
        guard ExpoParts.isRecognised(bytes) else {
            (content, signedBytes, self.signature, certificateChain) = (.manifest, bytes, signature, nil)
            return
        }
        let source = ManifestText(bytes: bytes, file: file)
        let parts = try ExpoParts(source)
        certificateChain = parts["certificate_chain"].map { String(decoding: bytes[$0.body], as: UTF8.self) }
        // Expo's client follows the directive if there are both.
        if let part = parts["directive"] {
            content = .directive(try ExpoDirective(try source.json(in: part.body)))
            (signedBytes, self.signature) = (Array(bytes[part.body]), part.signature)
        } else if let part = parts["manifest"] {
            content = .manifest
            (signedBytes, self.signature) = (Array(bytes[part.body]), part.signature)
        } else {
            (content, signedBytes, self.signature) = (.nothing, [], nil)
        }
    }

    /// Whether bytes look like a response in parts.
    package static func isMultipart(_ bytes: [UInt8]) -> Bool { ExpoParts.isRecognised(bytes) }
}

/// An instruction of a server of Expo Updates in place of a manifest.
package enum ExpoDirective: Sendable, Equatable {
    /// The app has the newest update.
    case noUpdateAvailable
    /// The app must run the code that it was built with, from this time on. Nil if the directive gives no time.
    case rollBackToEmbedded(HTTPDate?)
    /// A directive that the specification leaves to others, by its type.
    case other(String)

    init(_ root: ManifestNode) throws(ManifestError) {
        let type = try root.requiredMember("type", "the type of the directive").string()
        switch type {
        case "noUpdateAvailable": self = .noUpdateAvailable
        case "rollBackToEmbedded": self = .rollBackToEmbedded(try root["parameters"]?["commitTime"]?.time())
        default: self = .other(ManifestNode.abbreviate(type))
        }
    }
}

/// The parts of a `multipart/mixed` body (RFC 2046, section 5.1).
struct ExpoParts {
    struct Part {
        /// The name in its `Content-Disposition`; empty if there is none.
        var name = ""
        /// The value of `expo-signature`; nil if there is none.
        var signature: String?
        /// The range of the body in the source.
        var body = 0..<0
    }

    private var parts: [Part] = []
    private let source: ManifestText
    private let delimiter: [UInt8]

    /// The maximum number of parts. Expo's servers send at most four.
    private static let maxParts = 16
    /// RFC 2046 allows 70 characters in a boundary. Two dashes precede it.
    private static let maxDelimiterBytes = 72
    /// The maximum size of the head of a part. A longer one is an error.
    private static let maxHeadBytes = 8 * 1024

    init(_ source: ManifestText) throws(ManifestError) {
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
            var part = try head(at: line + 1)
            guard let next = nextDelimiter(after: part.body.lowerBound) else { break }
            // The line break before the delimiter belongs to it.
            let hasReturn = next > part.body.lowerBound && bytes[next - 1] == 0x0D
            part.body = part.body.lowerBound..<max(part.body.lowerBound, hasReturn ? next - 1 : next)
            // Otherwise one of them could be verified and the other one used.
            guard part.name.isEmpty || self[part.name] == nil else {
                throw source.error(
                    at: start,
                    "expected one part with the name \"\(ManifestNode.abbreviate(part.name))\", found two")
            }
            parts.append(part)
            start = next + 1
        }
        throw source.error(
            at: bytes.count,
            "expected \(String(decoding: delimiter, as: UTF8.self))-- after the last part, found the end")
    }

    /// The part with a name; nil if there is none.
    subscript(name: String) -> Part? { parts.first { $0.name == name } }

    /// Whether a text begins with a delimiter and the head of a part.
    static func isRecognised(_ bytes: [UInt8]) -> Bool {
        guard let first = firstLine(of: bytes) else { return false }
        let head = bytes[first.upperBound...].prefix(maxHeadBytes).map(\.lowercasedASCII)
        return !ManifestText.offsets(of: "\ncontent-disposition:", in: head, atMost: 1).isEmpty
    }

    /// The first line without spaces at its end, if it is a delimiter.
    private static func firstLine(of bytes: [UInt8]) -> Range<Int>? {
        let mark = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        guard let start = bytes[mark...].firstIndex(where: { $0 > 0x20 }) else { return nil }
        let line = bytes[start...].prefix(maxDelimiterBytes + 1).prefix { $0 > 0x20 }
        guard (3...maxDelimiterBytes).contains(line.count), line.starts(with: "--".utf8) else { return nil }
        return line.indices
    }

    /// Parses the head of a part. Returns the part with an empty body, which is at the start of its own.
    private func head(at start: Int) throws(ManifestError) -> Part {
        var part = Part()
        var lineStart = start
        let bytes = source.bytes
        while lineStart < min(bytes.count, start + Self.maxHeadBytes) {
            guard let end = bytes[lineStart...].firstIndex(of: 0x0A) else { break }
            let line = bytes[lineStart..<end].drop { $0 <= 0x20 }
            if line.isEmpty {
                part.body = (end + 1)..<(end + 1)
                return part
            }
            let field = HTTPFields(block: Array(line).span)
            if let value = field["Content-Disposition"], let found = Self.name(in: value) {
                part.name = found
            }
            if let value = field["expo-signature"] {
                guard part.signature == nil else {
                    throw source.error(
                        at: lineStart, "expected one field expo-signature in a part, found two")
                }
                part.signature = value
            }
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
