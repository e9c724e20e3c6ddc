import TestOrigin
import Testing
import Web

@testable import Markup

extension MarkupDialect {
    /// The tokenizer alone, without the states that tree construction sets.
    fileprivate static var tokenizerOnly: MarkupDialect { MarkupDialect(hasRawText: false, hasCDATA: false) }
}

/// The start tags of a text in the format of html5lib's tests.
private final class StartTags: HTMLSkimmerDelegate {
    struct Tag: Equatable {
        var name: String
        var attributes: [String: String] = [:]
    }

    var tags: [Tag] = []
    let text: Bytes

    init(_ text: Bytes) {
        self.text = text
    }

    func didFindTag(_ tag: HTMLTag) {
        var found = Tag(name: name(tag.nameRange))
        for attribute in tag.attributes where found.attributes[name(attribute.nameRange)] == nil {
            var value: [UInt8] = []
            CharacterReferences.decode(text.part(attribute.valueRange), into: &value)
            found.attributes[name(attribute.nameRange)] = String(decoding: value, as: UTF8.self)
        }
        tags.append(found)
    }

    private func name(_ range: Range<Int>) -> String {
        String(decoding: text.part(range).map(\.lowercased), as: UTF8.self).replacing("\0", with: "\u{FFFD}")
    }

    func didFindContent(_ range: Range<Int>, of name: UInt8, _ form: HTMLContentForm) {}
    func didFindComment(_ range: Range<Int>) {}

    /// The tags of a text that starts in one of the tokenizer's states.
    static func read(_ text: String, state: String = "Data state", lastTag: String = "") -> [Tag] {
        let vocabulary = HTMLVocabulary.shared
        return Array(text.utf8).withUnsafeBufferPointer { bytes in
            let delegate = StartTags(bytes)
            guard var skimmer = HTMLSkimmer(bytes, .tokenizerOnly, reportsAllTags: true, delegate) else {
                return []
            }
            let name = UInt8(vocabulary.elements.names.firstIndex(of: Array(lastTag.utf8)) ?? 0)
            switch state {
            case "PLAINTEXT state": break
            case "RCDATA state", "RAWTEXT state":
                skimmer.skim(from: skimmer.scanContent(of: name, .rawText, from: 0))
            case "Script data state": skimmer.skim(from: skimmer.scanContent(of: name, .script, from: 0))
            case "CDATA section state": skimmer.skim(from: skimmer.cdataEnd(from: 0).next)
            default: skimmer.skim()
            }
            return delegate.tags
        }
    }
}

@Suite struct HTMLSkimmerTests {
    static let files = [
        "contentModelFlags", "domjs", "entities", "escapeFlag", "namedEntities", "numericEntities", "test1",
        "test2",
        "test3", "test4", "unicodeChars", "unicodeCharsProblematic",
    ]

    /// Cases from which Larder deviates, with the reason.
    static let exceptions: [String: String] = [:]

    @Test(
        "The start tags are those of the standard's tokenizer",
        .enabled(if: ConformanceData.isThere, "the conformance data is not there (LARDER_CONFORMANCE)"),
        arguments: files)
    func conformance(_ file: String) {
        var count = 0
        for test in ConformanceData.cases("html/\(file).test", "tests") {
            let isDoubled = test["doubleEscaped"]?.bool ?? false
            let input = unescaped(test["input"]?.string ?? "", isDoubled)
            let expected = (test["output"]?.array ?? []).filter { $0[0]?.string == "StartTag" }.map { event in
                StartTags.Tag(
                    name: unescaped(event[1]?.string ?? "", isDoubled),
                    attributes: Dictionary(
                        (event[2]?.members ?? []).map {
                            (unescaped($0.key, isDoubled), unescaped($0.value.string ?? "", isDoubled))
                        },
                        uniquingKeysWith: { first, _ in first }))
            }
            for state in test["initialStates"]?.array?.compactMap(\.string) ?? ["Data state"] {
                count += 1
                let name = test["description"]?.string ?? input
                guard Self.exceptions[name] == nil else { continue }
                // Names near the end of the text are read byte by byte, so each case is repeated with spaces after it.
                for end in ["", "                "] {
                    let found = StartTags.read(
                        input + end, state: state, lastTag: test["lastStartTag"]?.string ?? "")
                    #expect(found == expected, "\(name): \(input.debugDescription) in \(state)")
                }
            }
        }
        #expect(count > 0)
    }

    /// Collects the numbers of the tags' names and of their attributes, in order.
    private final class Numbers: HTMLSkimmerDelegate {
        var found: [UInt8] = []
        func didFindTag(_ tag: HTMLTag) { found += [tag.name] + tag.attributes.map(\.name) }
        func didFindContent(_ range: Range<Int>, of name: UInt8, _ form: HTMLContentForm) {}
        func didFindComment(_ range: Range<Int>) {}

        static func read(_ text: String) -> [UInt8] {
            Array(text.utf8).withUnsafeBufferPointer { bytes in
                let numbers = Numbers()
                guard var skimmer = HTMLSkimmer(bytes, .tokenizerOnly, reportsAllTags: true, numbers) else {
                    return []
                }
                skimmer.skim()
                return numbers.found
            }
        }
    }

    @Test func `known names are found with their numbers at any offset, and unknown names have none`() {
        let vocabulary = HTMLVocabulary.shared
        func names(_ table: NameTable) -> [(name: String, number: UInt8)] {
            table.names.enumerated().dropFirst().map { (String(decoding: $1, as: UTF8.self), UInt8($0)) }
        }
        func upper(_ name: String) -> String {
            String(decoding: name.utf8.map { $0.isLetter ? $0 & 0xDF : $0 }, as: UTF8.self)
        }
        for end in ["", "                "] {
            for (name, number) in names(vocabulary.elements) {
                for written in [name, upper(name)] {
                    #expect(Numbers.read("<\(written)>\(end)") == [number], "\(written)")
                    #expect(Numbers.read("<\(written)\t>\(end)") == [number], "\(written)")
                }
                for other in [name + "x", "x" + name.dropFirst() + "@", name + "\u{E9}", name + "1"]
                where !vocabulary.elements.names.contains(Array(other.utf8)) {
                    #expect(Numbers.read("<\(other)>\(end)") == [0], "\(other)")
                }
            }
            for (name, number) in names(vocabulary.attributes) {
                for written in [name, upper(name)] {
                    #expect(Numbers.read("<x \(written)>\(end)") == [0, number], "\(written)")
                    #expect(Numbers.read("<x \(written)=1 \(written)/>\(end)") == [0, number, number])
                }
                for other in [name + "x", "=" + name, name + "`"]
                where !vocabulary.attributes.names.contains(Array(other.utf8)) {
                    #expect(Numbers.read("<x \(other)>\(end)") == [0, 0], "\(other)")
                }
            }
        }
    }

    /// Decodes `\u0000` escapes, which the test files use for characters that JSON cannot contain.
    private func unescaped(_ text: String, _ isDoubled: Bool) -> String {
        guard isDoubled, text.contains("\\u") else { return text }
        return (try? JSONValue.parse(Array("\"\(text.replacing("\"", with: "\\\""))\"".utf8).span))?.string
            ?? text
    }

    @Test(
        "Text that is not markup is skipped",
        arguments: [
            ("<!-- <a href=x> --><b>", ["b"]), ("<!--><a>", ["a"]), ("<!---><a>", ["a"]),
            ("<!-- --!><a>", ["a"]),
            ("<!-- --!- ><a> --><b>", ["b"]), ("<!x <a>><b>", ["b"]), ("<?x <a>><b>", ["b"]),
            ("</ <a>><b>", ["b"]),
            ("<!doctype html \"<a>\"><b>", ["b"]), ("<a b='>' c=\">\"><d>", ["a", "d"]), ("< a><b>", ["b"]),
            ("<a href=x", []), ("<a href='x>", []), ("<![CDATA[<a>]]><b>", ["b"]), ("</a b='<c>'><d>", ["d"]),
            ("<a/b=c/><d/>", ["a", "d"]), ("<A\u{C}B><c\u{0}>", ["a", "c\u{FFFD}"]),
            ("<a ='b>'><c>", ["a", "c"]),
        ] as [(String, [String])])
    func markup(_ text: String, _ tags: [String]) {
        #expect(StartTags.read(text).map(\.name) == tags)
    }
}
