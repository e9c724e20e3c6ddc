/// The fields of an HTTP message, in their order, with the case and the repetition in which they came.
package struct HTTPFields: Sendable, Equatable {
    package struct Field: Sendable, Equatable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package private(set) var list: [Field]

    package init() { list = [] }

    package init(_ list: [Field]) { self.list = list }

    package var isEmpty: Bool { list.isEmpty }

    package mutating func append(_ name: String, _ value: String) {
        list.append(Field(name: name, value: value))
    }

    /// Leaves one field of this name, where its first one stood or else at the end.
    package mutating func set(_ name: String, _ value: String) {
        guard let first = list.firstIndex(where: { HTTPGrammar.matches($0.name, name) }) else {
            append(name, value)
            return
        }
        let tail = list[(first + 1)...].filter { !HTTPGrammar.matches($0.name, name) }
        list.replaceSubrange(first..., with: CollectionOfOne(Field(name: name, value: value)) + tail)
    }

    /// Goes on with the value of the last field, a space between.
    mutating func continueLast(_ text: String) {
        guard !list.isEmpty, !text.isEmpty else { return }
        if !list[list.count - 1].value.isEmpty { list[list.count - 1].value += " " }
        list[list.count - 1].value += text
    }

    package mutating func remove(_ name: String) {
        list.removeAll { HTTPGrammar.matches($0.name, name) }
    }

    /// The first value of a name, compared without regard to ASCII case.
    package subscript(name: String) -> String? {
        list.first { HTTPGrammar.matches($0.name, name) }?.value
    }

    package func contains(_ name: String) -> Bool { self[name] != nil }

    /// Every value of a name, in order.
    package func all(_ name: String) -> [String] {
        list.compactMap { HTTPGrammar.matches($0.name, name) ? $0.value : nil }
    }

    /// All values of a name as the one list that they are by RFC 9110, section 5.3; nil when there is no such field.
    package func combined(_ name: String) -> String? {
        let values = all(name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}

extension HTTPFields: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements.map { Field(name: $0, value: $1) })
    }
}
