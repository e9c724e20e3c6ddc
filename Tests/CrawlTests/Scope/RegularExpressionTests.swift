import Testing

@testable import Crawl

@Suite struct RegularExpressionTests {
    @Test(arguments: [
        ("abc", "xabcx", true), ("^abc$", "abcx", false), ("a|b", "b", true),
        ("[0-9]{4}/[0-9]{2}", "/2024/05", true),
        ("[0-9]{4}/[0-9]{2}", "/2024/5", false), ("(x+x+)+y", String(repeating: "x", count: 5000), false),
        ("\\.pdf$", "https://a.test/b.pdf", true), ("\\.pdf$", "https://a.test/bpdf", false), ("^", "", true),
        (".", String(repeating: "x", count: 20_000), false),
    ])
    func `an expression matches as with grep -E`(expression: String, text: String, matches: Bool) throws {
        #expect(try RegularExpression(expression).matches(text) == matches)
    }

    @Test(arguments: [
        "", "(", "[", "a{2,1}", "((a{200}){200}){200}", "a{99999}", "(a)\\1", "a\u{0}b",
        String(repeating: "a", count: 1025),
    ])
    func `an expression that is invalid or too expensive is rejected`(expression: String) {
        #expect(throws: PatternMistake.self) { try RegularExpression(expression) }
    }

    @Test func `several threads can match at the same time`() async throws {
        let expression = try RegularExpression("^a(b|c)*d$")
        let counts = await withTaskGroup { group in
            for task in 0..<4 {
                group.addTask {
                    (0..<500).count {
                        expression.matches("a" + String(repeating: "bc", count: $0 % 50 + task) + "d")
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(counts == 2000)
    }
}
