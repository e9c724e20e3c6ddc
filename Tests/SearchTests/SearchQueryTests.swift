import Store
import Testing

@testable import Search

@Suite struct SearchQueryTests {
    private static func expression(_ question: String, _ strictness: SearchQuery.Strictness = .all) throws
        -> String?
    {
        try SearchQuery(question).expression(strictness, inSite: nil)?.text
    }

    @Test(arguments: [
        ("hash map", #"("hash") AND ("map")"#),
        ("\"exit status\" -windows", #"(("exit status")) NOT ("windows")"#),
        ("title:subprocess url:docs", #"({title} : "subprocess") AND ({address} : "docs")"#),
        ("read*", #"("read" *)"#),
        ("cats OR dogs", #"("cats" OR "dogs")"#),
        ("a NEAR/3 b", #"NEAR("a" "b", 3)"#),
        ("std::vec::Vec", #"("std::vec::Vec")"#),
        ("how to open the file", #"("open") AND ("file")"#),
        ("the", #"("the")"#),
        ("cat\"s) OR (x:* AND", #"("cat") AND ("s) OR (x:* AND")"#),
        ("std:foo", #"("std:foo")"#),
    ])
    func `a query becomes quoted words`(question: String, expression: String) throws {
        #expect(try Self.expression(question) == expression)
    }

    @Test func `a relaxed query needs only some of the words`() throws {
        #expect(try Self.expression("hash ma", .lastWordIsPrefix) == nil)
        #expect(try Self.expression("hash mapp", .lastWordIsPrefix) == #"("hash") AND ("mapp" *)"#)
        #expect(try Self.expression("hash map", .some) == #"("hash") OR ("map")"#)
        #expect(try Self.expression("hash", .some) == nil)
    }

    @Test(arguments: [
        "", "   ", "***", "\"\"", "-only", "!?", String(repeating: "x", count: 2000),
        String(repeating: "a OR ", count: 10_000), (0..<100).map { "w\($0)" }.joined(separator: " "),
    ])
    func `an invalid query is an error with advice`(question: String) throws {
        let mistake = try #require(throws: SearchQueryError.self) { try SearchQuery(question) }
        #expect(mistake.description.contains(": "))
    }

    @Test func `a query with excluded words is not run on the table of names`() throws {
        #expect(try SearchQuery("jam -plum").expression(.all, inSite: nil, in: .names) == nil)
        #expect(try SearchQuery("text:jam").expression(.all, inSite: nil, in: .names) == nil)
        #expect(try SearchQuery("title:jam").expression(.all, inSite: nil, in: .names) != nil)
    }

    @Test func `very frequent phrases are left out, and prefixes use the most frequent words`() throws {
        var statistics = SearchQuery.WordStatistics()
        statistics.isTooCommonToRank = { phrase throws(StoreError) in phrase.contains("page") }
        statistics.frequentWords = { word throws(StoreError) in ["\(word)a", "\(word)b"] }
        func expression(_ text: String, _ strictness: SearchQuery.Strictness) throws -> String? {
            try SearchQuery(text).expression(strictness, inSite: nil, statistics)?.text
                .replacing("\u{F8FE}", with: "<")
        }
        #expect(try expression("page jam", .all) == #"("page") AND ("jam")"#)
        #expect(try expression("page jam", .some) == #"("jam")"#)
        #expect(try expression("page pages", .some) == #"("page") OR ("pages")"#)
        #expect(try expression("jam pea", .lastWordIsPrefix) == #"("jam") AND ("<peaa peab")"#)
        #expect(try expression("os.pa*", .all) == #"("os<paa pab")"#)
    }

    @Test func `a single word also matches its forms, except in quotes, prefixes and URLs`() throws {
        var statistics = SearchQuery.WordStatistics()
        statistics.forms = { word throws(StoreError) in word == "haus" ? ["hauser"] : [] }
        func expression(_ text: String, in part: SearchIndex.Part = .all) throws -> String? {
            try SearchQuery(text).expression(.all, inSite: nil, in: part, statistics)?.text
                .replacing("\u{F8FE}", with: "<")
        }
        #expect(try expression("Haus jam") == #"("<haus hauser") AND ("jam")"#)
        #expect(try expression("Haus", in: .names) == #"("<haus hauser")"#)
        #expect(try expression("title:Haus") == #"({title} : "<haus hauser")"#)
        #expect(try expression("Haus NEAR jam") == #"NEAR("<haus hauser" "jam", 10)"#)
        #expect(try expression("jam -Haus") == #"(("jam")) NOT ("<haus hauser")"#)
        #expect(try expression(#""Haus""#) == #"("Haus")"#)
        #expect(try expression("Haus*") == #"("Haus" *)"#)
        #expect(try expression("url:Haus") == #"({address} : "Haus")"#)
    }

    @Test func `an expression has its phrases in order`() throws {
        let question = try SearchQuery("one OR two three NEAR four \"five six\" -seven")
        let expression = try #require(try question.expression(.all, inSite: "S"))
        #expect(expression.phrases.map(\.isFilter) == [false, false, false, false, false, true, true])
        var rest = expression.text[...]
        for phrase in expression.phrases {
            let place = try #require(rest.firstRange(of: phrase.text))
            rest = rest[place.upperBound...]
        }
        #expect(!rest.contains("\""))
    }

    @Test func `a word is replaced as it was typed`() throws {
        #expect(
            try SearchQuery("Python dictonary views").replacing("dictonary", with: "dictionary")
                == "Python dictionary views")
    }

    @Test func `a mistyped word has the correct one among its similar words`() {
        for (typed, meant) in [
            ("dictonary", "dictionary"), ("recieve", "receive"), ("fiel", "file"), ("xfile", "file"),
        ] {
            #expect(TypingErrors.of(typed).contains(meant))
        }
        #expect(TypingErrors.of("ab").isEmpty)
        #expect(TypingErrors.of(String(repeating: "x", count: 100)).isEmpty)
    }
}
