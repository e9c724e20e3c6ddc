/// A value in metadata with its path, so that errors name the place: `signed.roles.root.threshold`.
package struct MetadataNode {
    package let value: CanonicalJSON
    let file: String
    let path: String

    package init(_ value: CanonicalJSON, file: String, path: String = "signed") {
        self.value = value
        self.file = file
        self.path = path
    }

    func error(_ detail: String) -> TUFError { TUFError(.malformed, file, "\(path): \(detail)") }

    /// The member with this name; nil if there is none.
    subscript(name: String) -> MetadataNode? {
        guard case .object(let members) = value, let member = members[name] else { return nil }
        return MetadataNode(member, file: file, path: "\(path).\(name)")
    }

    func member(_ name: String) throws(TUFError) -> MetadataNode {
        guard case .object = value else { throw error("expected an object") }
        guard let member = self[name] else { throw error("has no \"\(name)\"") }
        return member
    }

    func object() throws(TUFError) -> [String: CanonicalJSON] {
        guard case .object(let members) = value else { throw error("expected an object") }
        return members
    }

    /// The members in the order of their names.
    func members() throws(TUFError) -> [(name: String, node: MetadataNode)] {
        try object().sorted { $0.key < $1.key }.map {
            ($0.key, MetadataNode($0.value, file: file, path: "\(path).\($0.key)"))
        }
    }

    /// The members except those with the names, which the reader knows. They are preserved when the value is written again,
    /// as section 4 of the specification demands.
    func others(than names: String...) throws(TUFError) -> [String: CanonicalJSON] {
        try object().filter { !names.contains($0.key) }
    }

    func elements() throws(TUFError) -> [MetadataNode] {
        guard case .array(let elements) = value else { throw error("expected an array") }
        return elements.enumerated().map { MetadataNode($1, file: file, path: "\(path)[\($0)]") }
    }

    func string() throws(TUFError) -> String {
        guard case .string(let text) = value else { throw error("expected a string") }
        return text
    }

    func strings() throws(TUFError) -> [String] {
        var texts: [String] = []
        for element in try elements() { texts.append(try element.string()) }
        return texts
    }

    func bool() throws(TUFError) -> Bool {
        guard case .bool(let value) = value else { throw error("expected true or false") }
        return value
    }

    /// An integer of at least `minimum`. One over 63 bits is an error.
    func integer(atLeast minimum: Int) throws(TUFError) -> Int {
        guard case .integer(let digits) = value, let number = Int(digits), number >= minimum else {
            throw error("expected an integer of at least \(minimum)")
        }
        return number
    }
}
