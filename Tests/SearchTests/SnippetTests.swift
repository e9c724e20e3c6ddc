import Testing

@testable import Search

@Suite struct SnippetTests {
    private static func snippet(
        _ body: String, _ question: String, forms: [String: [String]] = [:]
    ) throws -> (text: String, read: Int) {
        var bytesLeft = Snippet.maxSearchedBytes
        let words = QueryWords(try SearchQuery(question), lastWordIsPrefix: false, forms: forms)
        let snippet = Snippet(of: Array(body.utf8), words, bytesLeft: &bytesLeft)
        let text = snippet.parts.map { $0.isMarked ? "[\($0.text)]" : $0.text }.joined()
        return (text, Snippet.maxSearchedBytes - bytesLeft)
    }

    private static let filling = String(repeating: "nothing of it is in here. ", count: 100)

    @Test func `the excerpt has all words, although single ones occur earlier`() throws {
        let body = "jam\n" + Self.filling + "plum\n" + Self.filling + "Plum and pear jam. " + Self.filling
        let (text, _) = try Self.snippet(body, "plum jam")
        #expect(text.contains("[Plum] and pear [jam]"))
    }

    @Test func `if no excerpt has all words, the best one is chosen`() throws {
        let body = Self.filling + "plum jam, " + Self.filling + "pear jam and plum. " + Self.filling
        let (text, read) = try Self.snippet(body, "plum jam unicorn")
        #expect(text.contains("[plum] [jam]"))
        #expect(read == body.utf8.count)
    }

    @Test func `the excerpt marks the form of a word that is in the text, but not of a quoted one`() throws {
        let forms = ["haus": ["hauser"], "baum": ["baume"]]
        #expect(
            try Self.snippet("Häuser und Bäume, Baum", "Haus \"Baum\"", forms: forms).text
                == "[Häuser] und Bäume, [Baum]")
    }

    @Test func `a long text is read only until a good excerpt is found`() throws {
        let long = String(repeating: Self.filling, count: 400)
        let (text, read) = try Self.snippet("Here is plum jam. " + long, "plum jam")
        #expect(text.hasPrefix("Here is [plum] [jam]."))
        #expect(read < 20_000)
    }

    @Test func `an ellipsis before a marked word is not marked`() throws {
        let body = Self.filling + "\nplum. " + Self.filling
        #expect(try Self.snippet(body, "plum").text.hasPrefix("…[plum]. "))
    }

    @Test(
        arguments: [
            // Whole words of the same block around the matches.
            ("Jam:\nthe plum-jam is here\nend", "plum", "the plum-jam is here"),
            ("a plum and a jam\nof pears", "plum jam pears", "a plum and a jam"),
            // A heading is not the place of the match if a later line has more of the words.
            (
                "Market Ferry\nMarket Ferry\nFerry tickets cost 5 euros.", "ferry tickets",
                "Ferry tickets cost 5 euros."
            ),
            ("Market Ferry\nFerry market", "market ferry", "Market Ferry"),
            ("Market of 1900\nFerry, ferry", "market ferry", "Market of 1900"),
            ("plum", "plum", "plum"), ("nothing", "plum", nil), ("", "plum", nil),
            // Further words follow or precede only until the quote is long enough.
            (
                "one two plum " + filling, "plum", "plum nothing of it is in here. nothing of it is in"
            ),
            (filling + "plum.\nend", "plum", "of it is in here. nothing of it is in here. plum."),
            // Without spaces, the beginning of a word is unknown.
            (
                String(repeating: "好", count: 100) + "plum" + String(repeating: "好", count: 100), "plum",
                "plum"
            ),
        ] as [(String, String, String?)])
    func `the quote is part of one block, and has whole words`(body: String, question: String, quote: String?)
        throws
    {
        var bytesLeft = Snippet.maxSearchedBytes
        let words = QueryWords(try SearchQuery(question), lastWordIsPrefix: false)
        #expect(Snippet(of: Array(body.utf8), words, bytesLeft: &bytesLeft).quote == quote)
    }

    @Test(arguments: [
        ("plum watermelonjuice and more", "[plum]…"),
        ("plum-watermelonjuice and more", "[plum]-watermelonjuice…"),
        ("plum-watermelonjuice", "[plum]-watermelonjuice"),
    ])
    func `an excerpt that is full of matches ends with a whole word`(text: String, end: String) throws {
        let body = "plum " + String(repeating: "nothing ", count: 25) + text
        let excerpt = try Self.snippet(body, "plum").text
        #expect(excerpt.hasPrefix("[plum] nothing") && excerpt.hasSuffix("nothing " + end), "\(excerpt)")
    }

    @Test func `words that only begin with a query word are not marked`() throws {
        #expect(try Self.snippet("jams and jam", "\"jam\"").text == "jams and [jam]")
        #expect(try Self.snippet("jams and jam", "jam").text == "jams and [jam]")
        #expect(try Self.snippet("jams and jam", "jam", forms: ["jam": ["jams"]]).text == "[jams] and [jam]")
        #expect(try Self.snippet("", "jam").text == "")
    }
}
