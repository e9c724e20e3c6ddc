internal import Digest
internal import Web

/// A value of a manifest's JSON that knows the way to itself, so that whoever finds it wrong can say where.
struct Node {
    let value: JSONValue
    /// `bundles[3].md5`; empty for the root.
    let key: String
    let source: SourceText

    init(_ value: JSONValue, key: String, in source: SourceText) {
        self.value = value
        self.key = key
        self.source = source
    }

    func refuse(_ detail: String) -> ManifestError {
        source.refuse(at: value.range.lowerBound, key: key.isEmpty ? nil : key, detail)
    }

    func expected(_ what: String) -> ManifestError { refuse("expected \(what), found \(value.kindName)") }

    // MARK: Members

    subscript(name: String) -> Node? { value[name].map { Node($0, key: path(name), in: source) } }

    func required(_ name: String, _ what: String) throws(ManifestError) -> Node {
        guard let node = self[name] else {
            throw source.refuse(at: value.range.lowerBound, key: path(name), "expected \(what), found nothing")
        }
        return node
    }

    /// In the order of the source. A key that stands twice is refused.
    func members() throws(ManifestError) -> [(name: String, node: Node)] {
        guard let members = value.members else { throw expected("an object") }
        if let twice = value.duplicateMembers.first {
            throw source.refuse(at: twice.keyOffset, key: path(twice.key), "the key stands here twice")
        }
        return members.map { ($0.key, Node($0.value, key: path($0.key), in: source)) }
    }

    /// Refuses every member that is none of these.
    func allowOnly(_ names: [String]) throws(ManifestError) {
        guard let members = value.members else { throw expected("an object") }
        for member in members where !names.contains(member.key) {
            let advice =
                if let close = Spelling.closest(to: member.key, among: names) {
                    "did you mean \"\(close)\"?"
                } else {
                    "expected one of \(names.joined(separator: ", "))"
                }
            throw source.refuse(at: member.keyOffset, key: path(member.key), "unknown key: \(advice)")
        }
        _ = try self.members()
    }

    private func path(_ name: String) -> String {
        let isPlain = !name.isEmpty && name.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == 0x5F || $0 == 0x24 }
        return isPlain ? (key.isEmpty ? name : "\(key).\(name)") : "\(key)[\"\(name)\"]"
    }

    // MARK: Values

    func elements() throws(ManifestError) -> [Node] {
        guard let elements = value.array else { throw expected("an array") }
        return elements.enumerated().map { Node($1, key: "\(key)[\($0)]", in: source) }
    }

    func string() throws(ManifestError) -> String {
        guard let string = value.string else { throw expected("a string") }
        return string
    }

    func text() throws(ManifestError) -> String {
        let text = try string()
        guard !text.isEmpty else { throw refuse("expected a text, found an empty one") }
        return text
    }

    func bool() throws(ManifestError) -> Bool {
        guard let bool = value.bool else { throw expected("true or false") }
        return bool
    }

    func count(of what: String) throws(ManifestError) -> Int {
        guard let number = value.number else { throw expected("a count of \(what)") }
        guard let count = number.int, count >= 0 else {
            throw refuse("expected a count of \(what), found \(number.text)")
        }
        return count
    }

    func digest(_ algorithm: DigestAlgorithm) throws(ManifestError) -> Digest {
        let hex = try string()
        guard let digest = Digest(algorithm, hex: hex) else {
            throw refuse(
                "expected the \(algorithm.byteCount * 2) hexadecimal digits of \(algorithm.label), "
                    + "found \"\(Self.short(hex))\"")
        }
        return digest
    }

    static func short(_ text: String) -> String {
        text.utf8.count <= 160 ? text : "\(text.prefix(80))…"
    }
}
