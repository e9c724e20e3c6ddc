import Testing

@testable import Markup

@Suite struct AttributeDecoderTests {
    /// Every element and attribute of the table of link rules.
    static let names: [(String, String)] = LinkRule.table.flatMap { line in
        line.elements.split(separator: " ").flatMap { element in
            line.attributes.split(separator: " ").map { attribute in
                let local = element.split(separator: ":").last.map(String.init) ?? ""
                return (local == "*" ? "div" : local, String(attribute))
            }
        }
    }

    private func value(_ source: AttributeDecoder.ValueSource, _ decoder: AttributeDecoder) -> String? {
        guard case .queued(let number) = source else { return nil }
        var text = ""
        return decoder.withValue(number) { text = String(decoding: $0, as: UTF8.self) } ? text : nil
    }

    private func read(_ tags: [(element: String, attribute: String, value: String)]) -> [String?] {
        let decoder = AttributeDecoder()
        let numbers = tags.map { tag in
            Array(tag.element.utf8).withUnsafeBufferPointer { element in
                Array(tag.attribute.utf8).withUnsafeBufferPointer { attribute in
                    Array(tag.value.utf8).withUnsafeBufferPointer {
                        decoder.add(LinkAttribute(element: element, name: attribute, value: $0))
                    }
                }
            }
        }
        decoder.parse()
        return numbers.map { value($0, decoder) }
    }

    @Test("libxml2 reads the attributes of every element that can carry a link, each as its own tag")
    func elements() {
        let tags = Self.names.map { (element: $0.0, attribute: $0.1, value: "\($0.0).\($0.1)?a=1&amp;b") }
        // libxml2 drops the attributes of a <head> outside of a document.
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
            ("a b&amp;", "a b&"), ("a>b/>&amp;", "a>b/>&"), ("<a&amp;", "<a&"), ("'&amp;", "'&"),
            ("\"&amp;", "\"&"), ("&lt;&gt;&quot;&#39;&amp;", "<>\"'&"), ("'\"&amp;", nil), ("&", nil),
            ("&a;", nil), ("&#150;", nil), ("\u{E4}", nil), ("\t", nil), ("a\0b", nil),
        ] as [(String, String?)])
    func values(_ value: String, _ expected: String?) {
        #expect(
            read([("a", "href", "x&amp;"), ("a", "href", value), ("a", "href", "y&amp;")])
                == ["x&", expected, "y&"])
    }

    @Test("Many tags in many batches keep their order")
    func batches() {
        let decoder = AttributeDecoder()
        for batch in 0..<50 {
            // A value with an ampersand always goes through libxml2.
            let values = (0..<1000).map { "\(batch)/\($0)?a&amp;b" }
            let numbers = values.map { value in
                Array("a".utf8).withUnsafeBufferPointer { element in
                    Array("href".utf8).withUnsafeBufferPointer { attribute in
                        Array(value.utf8).withUnsafeBufferPointer {
                            decoder.add(LinkAttribute(element: element, name: attribute, value: $0))
                        }
                    }
                }
            }
            decoder.parse()
            let found = numbers.map { value($0, decoder) }
            #expect(found == values.map { $0.replacing("&amp;", with: "&") })
            decoder.reset()
        }
    }

    private func add(_ element: String, _ attribute: String, _ value: String, to decoder: AttributeDecoder)
        -> AttributeDecoder.ValueSource
    {
        Array(element.utf8).withUnsafeBufferPointer { element in
            Array(attribute.utf8).withUnsafeBufferPointer { attribute in
                Array(value.utf8).withUnsafeBufferPointer {
                    decoder.add(LinkAttribute(element: element, name: attribute, value: $0))
                }
            }
        }
    }

    private static func isAsWritten(_ source: AttributeDecoder.ValueSource) -> Bool {
        if case .asWritten = source { true } else { false }
    }

    @Test(
        "A value of printable ASCII without an ampersand is used as written",
        arguments: ["a", "area", "head"])
    func plainValues(element: String) {
        let decoder = AttributeDecoder()
        for value in ["y", "", "a \"b\" 'c' <d> #e", String(repeating: "z", count: 100_000)] {
            #expect(Self.isAsWritten(add(element, "href", value, to: decoder)))
        }
        for value in ["y&amp;z", "y&z", "\u{E4}", "a\tb", "\u{7F}"] {
            #expect(!Self.isAsWritten(add(element, "href", value, to: decoder)))
        }
    }
}
