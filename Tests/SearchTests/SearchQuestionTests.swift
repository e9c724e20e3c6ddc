import Testing

@testable import Search

@Suite struct SearchQuestionTests {
    /// Without the sign of inflected words, which nobody sees.
    private static func expression(_ question: String, _ strictness: SearchQuestion.Strictness = .all) throws
        -> String?
    {
        try SearchQuestion(question).expression(strictness, inSite: nil)?.replacing("\u{F8FF}", with: "")
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
    func `a question becomes words between quotes`(question: String, expression: String) throws {
        #expect(try Self.expression(question) == expression)
    }

    @Test func `less is asked when all is too much`() throws {
        #expect(try Self.expression("hash ma", .lastBegins) == nil)
        #expect(try Self.expression("hash mapp", .lastBegins) == #"("hash") AND ("mapp" *)"#)
        #expect(try Self.expression("hash map", .some) == #"("hash") OR ("map")"#)
        #expect(try Self.expression("hash", .some) == nil)
    }

    @Test(arguments: [
        "", "   ", "***", "\"\"", "-only", "!?", String(repeating: "x", count: 2000),
        String(repeating: "a OR ", count: 10_000), (0..<100).map { "w\($0)" }.joined(separator: " "),
    ])
    func `what is no question is told with what to do`(question: String) throws {
        let mistake = try #require(throws: QuestionMistake.self) { try SearchQuestion(question) }
        #expect(mistake.description.contains(": "))
    }

    @Test func `a word is replaced as it was typed`() throws {
        #expect(
            try SearchQuestion("Python dictonary views").replacing("dictonary", with: "dictionary")
                == "Python dictionary views")
    }

    @Test func `a slip of the finger is among the slips of what it gave`() {
        for (typed, meant) in [
            ("dictonary", "dictionary"), ("recieve", "receive"), ("fiel", "file"), ("xfile", "file"),
        ] {
            #expect(Slips.of(typed).contains(meant))
        }
        #expect(Slips.of("ab").isEmpty)
        #expect(Slips.of(String(repeating: "x", count: 100)).isEmpty)
    }
}
