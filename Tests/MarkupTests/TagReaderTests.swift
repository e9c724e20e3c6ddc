import Testing

@testable import Markup

@Suite struct TagReaderTests {
    /// Every element and attribute of the table of link rules.
    static let names: [(String, String)] = LinkRule.table.flatMap { line in
        line.elements.split(separator: " ").flatMap { element in
            line.attributes.split(separator: " ").map { attribute in
                let local = element.split(separator: ":").last.map(String.init) ?? ""
                return (local == "*" ? "div" : local, String(attribute))
            }
        }
    }

    private func value(_ reading: TagReader.ValueSource, _ reader: TagReader) -> String? {
        guard case .queued(let number) = reading else { return nil }
        var text = ""
        return reader.withValue(number) { text = String(decoding: $0, as: UTF8.self) } ? text : nil
    }

    private func read(_ tags: [(element: String, attribute: String, value: String)]) -> [String?] {
        let reader = TagReader()
        let numbers = tags.map { tag in
            Array(tag.element.utf8).withUnsafeBufferPointer { element in
                Array(tag.attribute.utf8).withUnsafeBufferPointer { attribute in
                    Array(tag.value.utf8).withUnsafeBufferPointer {
                        reader.add(TagMemory.Tag(element: element, attribute: attribute, value: $0))
                    }
                }
            }
        }
        reader.read()
        return numbers.map { value($0, reader) }
    }

    @Test("libxml2 reads the attributes of every element that can carry a link, each as its own tag")
    func elements() {
        let tags = Self.names.map { (element: $0.0, attribute: $0.1, value: "\($0.0).\($0.1)?a=1&amp;b") }
        // Of <head> libxml2 drops the attributes where it sees no document around it.
        let expected = tags.map { $0.element == "head" ? nil : "\($0.element).\($0.attribute)?a=1&b" }
        #expect(read(tags) == expected)
        let upper = tags.map {
            (element: $0.element.uppercased(), attribute: $0.attribute.uppercased(), value: $0.value)
        }
        #expect(read(upper) == expected)
    }

    @Test(
        "A value is passed to libxml2 only if libxml2 reads it as the standard says",
        arguments: [
            ("a b", "a b"), ("a>b/>", "a>b/>"), ("<a", "<a"), ("'", "'"), ("\"", "\""),
            ("&lt;&gt;&quot;&#39;&amp;", "<>\"'&"),
            ("", ""), ("'\"", nil), ("&", nil), ("&a;", nil), ("&#150;", nil), ("\u{E4}", nil), ("\t", nil),
            ("a\0b", nil),
        ] as [(String, String?)])
    func values(_ value: String, _ expected: String?) {
        #expect(
            read([("a", "href", "x"), ("a", "href", value), ("a", "href", "y")]) == ["x", expected, "y"])
    }

    @Test("Many tags in many batches keep their order")
    func batches() {
        let reader = TagReader()
        for batch in 0..<50 {
            // An ampersand has every one of them read.
            let values = (0..<1000).map { "\(batch)/\($0)?a&amp;b" }
            let numbers = values.map { value in
                Array("a".utf8).withUnsafeBufferPointer { element in
                    Array("href".utf8).withUnsafeBufferPointer { attribute in
                        Array(value.utf8).withUnsafeBufferPointer {
                            reader.add(TagMemory.Tag(element: element, attribute: attribute, value: $0))
                        }
                    }
                }
            }
            reader.read()
            let found = numbers.map { value($0, reader) }
            #expect(found == values.map { $0.replacing("&amp;", with: "&") })
            reader.reset()
        }
    }

    private func add(_ element: String, _ attribute: String, _ value: String, to reader: TagReader)
        -> TagReader.ValueSource
    {
        Array(element.utf8).withUnsafeBufferPointer { element in
            Array(attribute.utf8).withUnsafeBufferPointer { attribute in
                Array(value.utf8).withUnsafeBufferPointer {
                    reader.add(TagMemory.Tag(element: element, attribute: attribute, value: $0))
                }
            }
        }
    }

    private static func isAsWritten(_ reading: TagReader.ValueSource) -> Bool {
        if case .asWritten = reading { true } else { false }
    }

    @Test(
        "A plain value is used as written once libxml2 returned one of the same attribute as written"
    )
    func plainValues() {
        let reader = TagReader()
        #expect(!Self.isAsWritten(add("a", "href", "x?a&amp;b", to: reader)))
        reader.read()
        reader.reset()
        #expect(!Self.isAsWritten(add("a", "href", "x", to: reader)))
        reader.read()
        reader.reset()
        for value in ["y", "", "a \"b\" 'c' <d> #e", String(repeating: "z", count: 100_000)] {
            #expect(Self.isAsWritten(add("a", "href", value, to: reader)))
        }
        for value in ["y&amp;z", "y&z", "\u{E4}", "a\tb", "\u{7F}"] {
            #expect(!Self.isAsWritten(add("a", "href", value, to: reader)))
        }
        #expect(!Self.isAsWritten(add("area", "href", "y", to: reader)))
        #expect(!Self.isAsWritten(add("a", "ping", "y", to: reader)))
        let long = String(repeating: "e", count: 40)
        for _ in 1...2 {
            #expect(!Self.isAsWritten(add(long, "href", "y", to: reader)))
            reader.read()
            reader.reset()
        }
    }

    @Test("A value that libxml2 reads differently is never used as written")
    func lostAttributes() {
        let reader = TagReader()
        for _ in 1...3 {
            #expect(!Self.isAsWritten(add("head", "profile", "y", to: reader)))
            reader.read()
            reader.reset()
        }
    }
}
