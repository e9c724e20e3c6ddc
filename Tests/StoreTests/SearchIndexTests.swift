import TestOrigin
import Testing
import Web

@testable import Store

@Suite struct SearchIndexTests {
    private let home: TemporaryFolder
    private let folder: StoreFolder

    init() throws {
        home = try TemporaryFolder()
        folder = StoreFolder(try TestStore.place(home.file("s")))
        try folder.create()
        _ = try StoreWriter(folder)
    }

    private static func place(_ byte: UInt8, _ address: String = "https://a.test/x", _ sites: String...)
        -> TextPlace
    {
        TextPlace(
            sha256: [UInt8](repeating: byte, count: 32), form: "html;UTF-8", addresses: [address],
            sites: sites.isEmpty ? ["https://a.test/"] : sites)
    }

    private static func text(_ title: String, _ body: String) -> DocumentText {
        var text = DocumentText()
        text.title = title
        text.body = Array(body.utf8)
        text.sections = [DocumentText.Section(start: 0, anchor: "top", title: title)]
        return text
    }

    private static func found(_ expression: String, _ index: SearchIndex) throws -> [Int64] {
        try index.best(TextExpression(expression, [.init(expression)]), in: .all, atMost: 100).map(\.id)
    }

    @Test func `a snapshot that is over is read once, one that is written to again`() throws {
        let index = try SearchIndex.opened(folder)
        let (over, open) = (
            TextSnapshot(id: 1, started: 5, isOver: true), TextSnapshot(id: 2, started: 5, isOver: false)
        )
        for snapshot in [over, open] {
            #expect(try !index.hasRead(snapshot))
            try index.noteRead(snapshot)
        }
        #expect(try index.hasRead(over))
        #expect(try !index.hasRead(open))
        // Of a store that was put together anew.
        let other = TextSnapshot(id: 1, started: 6, isOver: true)
        #expect(try !index.hasRead(other))
        try index.noteRead(other)
        #expect(try index.hasRead(other))
    }

    @Test func `a text is one row, however many bodies have it`() throws {
        let index = try SearchIndex.opened(folder)
        #expect(try index.add(Self.text("One", "read from a file"), at: Self.place(1), prior: 0))
        #expect(
            try !index.add(
                Self.text("One", "read from a file"), at: Self.place(2, "https://b.test/y", "B"), prior: 0))
        #expect(try index.textCount() == 1)
        #expect(try index.bodies(of: 1).count == 2)
        #expect(try Self.found("\"file\"", index) == [1])
        #expect(try Self.found("address : \"b test\"", index) == [1])
        for site in ["https://a.test/", "B"] {
            #expect(try Self.found("file AND \(SearchIndex.expression(ofSite: site))", index) == [1])
        }
        #expect(try Self.found("file AND \(SearchIndex.expression(ofSite: "C"))", index) == [])
        #expect(try index.has(Self.place(1, "https://a.test/x", "B")))
        #expect(try !index.has(Self.place(1, "https://a.test/x", "C")))
        #expect(try !index.has(Self.place(3)))
        #expect(try index.isSound())
    }

    @Test func `a question finds inflections of words that say so, and others as they are`() throws {
        let index = try SearchIndex.opened(folder)
        try index.add(Self.text("One", "parsing files"), at: Self.place(1), prior: 0)
        #expect(try Self.found("\"\(SearchIndex.inflecting("file"))\"", index) == [1])
        #expect(try Self.found("\"\(SearchIndex.inflecting("parse"))\"", index) == [1])
        #expect(try Self.found("\"file\"", index) == [])
        #expect(try index.textCount(of: "\"files\"") == 1)
    }

    @Test func `readers see what was committed while it is written, and nothing where there is no index`()
        throws
    {
        #expect(try SearchIndex.openIfExists(folder) == nil)
        let index = try SearchIndex.opened(folder)
        let reader = try #require(try SearchIndex.openIfExists(folder))
        _ = try index.withTransaction { () throws(StoreError) in
            try index.add(Self.text("One", "word"), at: Self.place(1), prior: 0)
        }
        #expect(try Self.found("word", reader) == [1])
        #expect(reader.isInPlace)
    }

    @Test func `one that is damaged or of another version is made anew`() throws {
        _ = try SearchIndex.opened(folder).add(Self.text("One", "word"), at: Self.place(1), prior: 0)
        try home.write(String(repeating: "no database ", count: 1000), to: "s/search.db")
        #expect(try SearchIndex.openIfExists(folder) == nil)
        let index = try SearchIndex.opened(folder)
        #expect(try index.textCount() == 0)
        try index.connection.execute("PRAGMA user_version = 1")
        #expect(try SearchIndex.openIfExists(folder) == nil)
        #expect(try SearchIndex.opened(folder).textCount() == 0)
        #expect(!index.isInPlace)
    }

    /// A few words in texts of very different lengths, the same each time.
    private static func words(_ count: Int, _ seed: Int) -> String {
        (0..<count).map {
            ["jam", "plum", "pear", "shelf", "cellar", "jar", "label"][($0 * $0 + $0 * seed) % 7]
        }
        .joined(separator: " ")
    }

    @Test func `texts are ranked as FTS5 ranks them`() throws {
        let index = try SearchIndex.opened(folder)
        for number in 1...200 {
            let text = Self.text(
                Self.words(number % 5, number), Self.words(1 + number * number % 300, number))
            try index.add(
                text, at: Self.place(UInt8(number), "https://a.test/\(Self.words(1, number))"), prior: 0)
        }
        for phrases in [["\"jam\""], ["\"plum\"", "\"label\""], ["\"pear jam\"", "\"jar\""]] {
            let expression = phrases.joined(separator: " AND ")
            var expected: [(id: Int64, score: Double)] = []
            try index.connection.prepare(
                "SELECT rowid, -bm25(page, 10, 4, 3, 0, 1, 0.15) FROM page WHERE page MATCH ? ORDER BY 2 DESC"
            ).each(.text(expression)) { expected.append(($0.integer(0), $0.real(1))) }
            let found = try index.best(
                TextExpression(expression, phrases.map { .init($0) }), in: .all, atMost: 1000)
            try #require(found.count == expected.count && !found.isEmpty, "\(expression)")
            let scores = Dictionary(uniqueKeysWithValues: expected.map { ($0.id, $0.score) })
            for match in found {
                let score = try #require(scores[match.id])
                // A length is off by a few hundredths.
                #expect(abs(match.score - score) <= 0.04 * score + 1e-9, "\(expression)")
            }
            #expect(found.map(\.score) == found.map(\.score).sorted(by: >))
            let few = try index.best(
                TextExpression(expression, phrases.map { .init($0) }), in: .all, atMost: 7)
            #expect(few == Array(found.prefix(7)))
        }
    }

    @Test func `of equal texts the one that many lead to comes first, whichever was read first`() throws {
        let index = try SearchIndex.opened(folder)
        for (number, quality) in [0.0, 7, 3, 40, 0].enumerated() {
            try index.add(
                Self.text("T", "the same word, and \(number)"), at: Self.place(UInt8(number)), prior: quality)
        }
        let numbers = try Self.found("word", index)
        #expect(numbers.map { SearchIndex.quality(of: $0) } == [31, 7, 3, 0, 0])
        #expect(numbers.suffix(2) == [1, 2])
        #expect(try index.isSound())
    }

    @Test func `what is called so is found by titles and addresses alone, and not once it is gone`() throws {
        func named(_ words: String) throws -> [Int64] {
            try index.best(TextExpression(words, [.init(words)]), in: .names, atMost: 9).map(\.id)
        }
        let index = try SearchIndex.opened(folder)
        try index.add(Self.text("Plum jam", "of plums"), at: Self.place(1, "https://a.test/recipe"), prior: 2)
        let text = try #require(try named("jam").first)
        #expect(try named("plums") == [])
        #expect(try named("recipe") == [text])
        // Another address has it, too.
        try index.add(
            Self.text("Plum jam", "of plums"), at: Self.place(2, "https://b.test/cellar", "B"), prior: 0)
        #expect(try named("cellar AND \(SearchIndex.expression(ofSite: "B"))") == [text])
        #expect(try named("jam") == [text])
        #expect(try index.forgetGone(StoreReader(folder)) == 1)
        #expect(try named("jam") == [] && named("cellar") == [])
        #expect(try index.isSound())
    }

    @Test func `of a beginning that very many words have the most frequent are looked for`() throws {
        let index = try SearchIndex.opened(folder)
        #expect(try index.frequentWords(beginning: "wor") == nil)
        let many = (0..<2500).map { "wor\($0)" }.joined(separator: " ")
        try index.add(Self.text("Many", many), at: Self.place(1), prior: 0)
        try index.add(Self.text("One", "wor17 and wor18"), at: Self.place(2), prior: 0)
        let words = try #require(try index.frequentWords(beginning: "wor"))
        #expect(words.count == 64 && Set(words.prefix(2)) == ["wor17", "wor18"])
        let choice = "\"\(SearchIndex.oneOf(words))\""
        #expect(try Set(Self.found(choice, index)) == [1, 2])
        #expect(try Self.found("\"and \(SearchIndex.oneOf(["wor18", "nothing"]))\"", index) == [2])
        #expect(try index.frequentWords(beginning: "zz") == nil)
    }

    @Test func `in how many texts a word stands is counted anew when more have come`() throws {
        let index = try SearchIndex.opened(folder)
        try index.add(Self.text("One", "word"), at: Self.place(1), prior: 0)
        let reader = try #require(try SearchIndex.openIfExists(folder))
        #expect(try reader.textCount(of: "\"word\"") == 1)
        try index.add(Self.text("Two", "word"), at: Self.place(2), prior: 5)
        #expect(try reader.textCount(of: "\"word\"") == 2)
        #expect(try reader.textCount() == 2)
        #expect(try Self.found("word", reader).count == 2)
    }

    @Test func `what the store has no more is forgotten`() throws {
        let index = try SearchIndex.opened(folder)
        try index.add(Self.text("One", "word"), at: Self.place(1), prior: 0)
        try index.add(DocumentText(), at: Self.place(2), prior: 0)
        #expect(try index.forgetGone(StoreReader(folder)) == 1)
        #expect(try Self.found("word", index) == [])
        #expect(try index.textCount() == 0)
        #expect(try index.isSound())
    }
}
