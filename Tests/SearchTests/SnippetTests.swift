import Testing

@testable import Search

@Suite struct SnippetTests {
    private static func snippet(_ body: String, _ question: String) throws -> (text: String, read: Int) {
        var bytesLeft = Snippet.maxSearchedBytes
        let words = QueryWords(try SearchQuery(question), lastWordIsPrefix: false)
        let snippet = Snippet(of: Array(body.utf8), words, bytesLeft: &bytesLeft)
        let text = snippet.parts.map { $0.isMarked ? "[\($0.text)]" : $0.text }.joined()
        return (text, Snippet.maxSearchedBytes - bytesLeft)
    }

    private static let filling = String(repeating: "nothing of it stands here. ", count: 100)

    @Test func `the piece has all words, although single ones stand before it`() throws {
        let body = "jam\n" + Self.filling + "plum\n" + Self.filling + "Plum and pear jam. " + Self.filling
        let (text, _) = try Self.snippet(body, "plum jam")
        #expect(text.contains("[Plum] and pear [jam]"))
    }

    @Test func `the closest piece is taken where none has all`() throws {
        let body = Self.filling + "plum jam, " + Self.filling + "pear jam and plum. " + Self.filling
        let (text, read) = try Self.snippet(body, "plum jam unicorn")
        #expect(text.contains("[plum] [jam]"))
        #expect(read == body.utf8.count)
    }

    @Test func `of a long text no more is read than until there is a good piece`() throws {
        let long = String(repeating: Self.filling, count: 400)
        let (text, read) = try Self.snippet("Here is plum jam. " + long, "plum jam")
        #expect(text.hasPrefix("Here is [plum] [jam]."))
        #expect(read < 20_000)
    }

    @Test func `the ellipsis before a word of the question is not marked`() throws {
        let body = Self.filling + "\nplum. " + Self.filling
        #expect(try Self.snippet(body, "plum").text.hasPrefix("…[plum]. "))
    }

    @Test func `words that only begin as a word of the question are not it`() throws {
        #expect(try Self.snippet("jams and jam", "\"jam\"").text == "jams and [jam]")
        #expect(try Self.snippet("jams and jam", "jam").text == "[jams] and [jam]")
        #expect(try Self.snippet("", "jam").text == "")
    }
}
