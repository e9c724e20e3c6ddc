internal import Web

/// Finds the links of JSON texts whose members are known: each kind of document is an extension.
struct JSONScanner {
    private let text: SourceText
    private let sink: LinkSink
    private var found: [(range: Range<Int>, kind: LinkKind, flags: LinkFlags)] = []

    /// Larger texts are data, not descriptions.
    private static let limits = JSONLimits(depth: 64, byteCount: 16 << 20, valueCount: 1_000_000)

    /// Reads the text and has `body` say what in it is a link, in any order. A text that is no JSON has none.
    static func scan(_ text: SourceText, _ sink: LinkSink, _ body: (JSONValue, inout JSONScanner) -> Void) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue.parse(Span(_unsafeElements: text.bytes), limits: limits)
        } catch {
            // A browser ignores such a document as well.
            return
        }
        var scanner = JSONScanner(text: text, sink: sink)
        body(value, &scanner)
        scanner.finish()
    }

    private init(text: SourceText, sink: LinkSink) {
        self.text = text
        self.sink = sink
    }

    /// Adds a string; anything else is no link.
    mutating func add(_ value: JSONValue?, _ kind: LinkKind, _ flags: LinkFlags = []) {
        guard let range = value?.stringRange else { return }
        found.append((range, kind, flags))
    }

    /// Adds the key of a member.
    mutating func add(keyOf member: JSONValue.Member, _ kind: LinkKind) {
        let start = member.keyOffset + 1
        var end = start
        while end < text.bytes.count, text.bytes[end] != UInt8(ascii: "\"") {
            end += text.bytes[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        if end < text.bytes.count { found.append((start..<end, kind, [])) }
    }

    private mutating func finish() {
        found.sort { $0.range.lowerBound < $1.range.lowerBound }
        for link in found { sink.add(text.bytes.trimmed(link.range), in: text, link.kind, .json, link.flags) }
    }
}

extension JSONScanner {
    /// A JSON text that does not say what it is: manifests and import maps are known by their members.
    static func document(_ text: SourceText, _ sink: LinkSink) {
        let head = text.bytes.part(0..<min(text.bytes.count, 1 << 16))
        let marks: [StaticString] = ["\"icons\"", "\"start_url\"", "\"imports\"", "\"prefetch\"", "\"prerender\""]
        guard marks.contains(where: { head.firstIndex(of: $0) != nil }) else { return }
        scan(text, sink) { value, scanner in
            if value["imports"]?.members != nil {
                scanner.importMap(value)
            } else if value["prefetch"]?.array != nil || value["prerender"]?.array != nil {
                scanner.speculationRules(value)
            } else if value["icons"]?.array != nil || value["start_url"]?.string != nil {
                scanner.webManifest(value)
            }
        }
    }
}
