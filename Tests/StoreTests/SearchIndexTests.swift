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

    private static func body(_ byte: UInt8, _ address: String = "https://a.test/x", _ sites: String...)
        -> IndexedBody
    {
        IndexedBody(
            sha256: [UInt8](repeating: byte, count: 32), form: "html;UTF-8", hrefs: [address],
            sites: sites.isEmpty ? ["https://a.test/"] : sites)
    }

    private static func text(_ title: String, _ body: String, language: String = "") -> DocumentText {
        var text = DocumentText()
        text.language = language
        text.title = title
        text.body = Array(body.utf8)
        text.sections = [DocumentText.Section(start: 0, anchor: "top", title: title)]
        return text
    }

    private static func found(_ expression: String, _ index: SearchIndex) throws -> [Int64] {
        try index.best(TextExpression(expression, [.init(expression)]), in: .all, atMost: 100).map(\.id)
    }

    @Test func `a final snapshot is indexed once, an open one again`() throws {
        let index = try SearchIndex.openOrCreate(folder)
        let (over, open) = (
            TextSnapshot(id: 1, started: 5, isFinal: true), TextSnapshot(id: 2, started: 5, isFinal: false)
        )
        for snapshot in [over, open] {
            #expect(try !index.hasIndexed(snapshot))
            try index.recordIndexed(snapshot)
        }
        #expect(try index.hasIndexed(over))
        #expect(try !index.hasIndexed(open))
        // A snapshot of a rebuilt store, which has the same id and another start.
        let other = TextSnapshot(id: 1, started: 6, isFinal: true)
        #expect(try !index.hasIndexed(other))
        try index.recordIndexed(other)
        #expect(try index.hasIndexed(other))
    }

    @Test func `a text of several bodies is stored in one row`() throws {
        let index = try SearchIndex.openOrCreate(folder)
        #expect(try index.add(Self.text("One", "read from a file"), of: Self.body(1), prior: 0))
        #expect(
            try !index.add(
                Self.text("One", "read from a file"), of: Self.body(2, "https://b.test/y", "B"), prior: 0))
        #expect(try index.textCount() == 1)
        #expect(try index.bodies(of: 1).count == 2)
        #expect(try Self.found("\"file\"", index) == [1])
        #expect(try Self.found("address : \"b test\"", index) == [1])
        for site in ["https://a.test/", "B"] {
            #expect(try Self.found("file AND \(SearchIndex.expression(ofSite: site))", index) == [1])
        }
        #expect(try Self.found("file AND \(SearchIndex.expression(ofSite: "C"))", index) == [])
        #expect(try index.contains(Self.body(1, "https://a.test/x", "B")))
        #expect(try !index.contains(Self.body(1, "https://a.test/x", "C")))
        #expect(try !index.contains(Self.body(3)))
        #expect(try index.isSound())
    }

    @Test func `a query finds any one of alternative words, and other words only as they are`() throws {
        let index = try SearchIndex.openOrCreate(folder)
        try index.add(Self.text("One", "parsing files"), of: Self.body(1), prior: 0)
        for word in ["file", "parse"] {
            let words = [word] + (try index.forms(of: word))
            #expect(try Self.found("\"\(SearchIndex.oneOf(words))\"", index) == [1])
        }
        #expect(try Self.found("\"file\"", index) == [])
        #expect(try index.textCount(of: "\"files\"") == 1)
    }

    @Test(arguments: [
        ("de", "haus", "Die Häuser des Dorfes", "hauser"), ("de-AT", "dateien", "Die Datei fehlt.", "datei"),
        ("fr", "cheval", "Deux chevaux mangent.", "chevaux"), ("fr-CA", "chevaux", "Un cheval", "cheval"),
        ("fr", "installer", "La version installée", "installee"), ("es", "rapidas", "Es rápido.", "rapido"),
        ("es", "configuraciones", "La configuración", "configuracion"),
        ("ru", "файл", "Список файлов", "фаилов"),
        ("ru", "книга", "Две книги", "книги"), ("it", "libro", "I libri", "libri"),
        ("pt-BR", "configuracoes", "A configuração", "configuracao"),
        ("nl", "bestand", "Alle bestanden", "bestanden"),
        ("sv", "sida", "Alla sidorna", "sidorna"), ("nb", "innstilling", "Innstillinger", "innstillinger"),
        ("da", "bruger", "Alle brugere", "brugere"), ("fi", "talo", "Asun talossa.", "talossa"),
        ("hu", "haz", "A házban", "hazban"), ("ro", "utilizator", "Utilizatorul", "utilizatorul"),
        ("tr", "sayfa", "Bütün sayfalar", "sayfalar"),
    ])
    func `a form of a word is found in a text of its language only`(
        language: String, word: String, body: String, form: String
    ) throws {
        let word = WordSplitter().words(of: word).joined()
        for (number, declared) in [(1, ""), (2, "en"), (3, language)] {
            let index = try SearchIndex.openOrCreate(folder)
            try index.add(
                Self.text("Text \(number)", "\(body) \(number)", language: declared),
                of: Self.body(UInt8(number)),
                prior: 0)
            #expect(try index.forms(of: word).contains(form) == (declared == language))
        }
    }

    @Test func `a word that is only in texts of one language has no forms of another one`() throws {
        let index = try SearchIndex.openOrCreate(folder)
        try index.add(Self.text("One", "the port is open", language: "en"), of: Self.body(1), prior: 0)
        try index.add(Self.text("Deux", "la porte et les portes", language: "fr"), of: Self.body(2), prior: 0)
        #expect(try !index.forms(of: "port").contains("porte"))
        #expect(try index.forms(of: "porte").contains("portes"))
        try index.add(Self.text("Trois", "le port", language: "fr"), of: Self.body(3), prior: 0)
        #expect(try index.forms(of: "port").contains("porte"))
    }

    @Test func `a reader finds the forms that were added since`() throws {
        let index = try SearchIndex.openOrCreate(folder)
        try index.add(Self.text("Eins", "ein Haus", language: "de"), of: Self.body(1), prior: 0)
        let reader = try #require(try SearchIndex.openIfExists(folder))
        #expect(try !reader.forms(of: "haus").contains("hauser"))
        try index.add(Self.text("Zwei", "zwei Häuser", language: "de"), of: Self.body(2), prior: 0)
        #expect(try reader.forms(of: "haus").contains("hauser"))
    }

    @Test func `readers see committed texts during writing, and get nil without an index`()
        throws
    {
        #expect(try SearchIndex.openIfExists(folder) == nil)
        let index = try SearchIndex.openOrCreate(folder)
        let reader = try #require(try SearchIndex.openIfExists(folder))
        _ = try index.withTransaction { () throws(StoreError) in
            try index.add(Self.text("One", "word"), of: Self.body(1), prior: 0)
        }
        #expect(try Self.found("word", reader) == [1])
        #expect(reader.isInPlace)
    }

    @Test func `cleaning returns the space of gone texts and of the log to the disk`() throws {
        let index = try SearchIndex.openOrCreate(folder)
        for number in 1...100 {
            let text = Self.text("\(number)", Self.words(1000, number))
            try index.add(text, of: Self.body(UInt8(number)), prior: 0)
        }
        func byteCount(_ suffix: String) throws -> Int {
            try #require(BodyContent.file(path: folder.searchIndex + suffix).byteCount)
        }
        let before = try byteCount("") + byteCount("-wal")
        // No page of the store has any of the texts.
        SearchIndex.clean(try StoreReader(folder))
        #expect(try byteCount("-wal") == 0)
        #expect(try byteCount("") < before / 4)
        #expect(try index.textCount() == 0)
    }

    @Test func `an index that is damaged or of another version is rebuilt`() throws {
        _ = try SearchIndex.openOrCreate(folder).add(Self.text("One", "word"), of: Self.body(1), prior: 0)
        try home.write(String(repeating: "no database ", count: 1000), to: "s/search.db")
        #expect(try SearchIndex.openIfExists(folder) == nil)
        let index = try SearchIndex.openOrCreate(folder)
        #expect(try index.textCount() == 0)
        try index.connection.execute("PRAGMA user_version = 1")
        #expect(try SearchIndex.openIfExists(folder) == nil)
        #expect(try SearchIndex.openOrCreate(folder).textCount() == 0)
        #expect(!index.isInPlace)
    }

    /// A deterministic text of `count` words out of seven.
    private static func words(_ count: Int, _ seed: Int) -> String {
        (0..<count).map {
            ["jam", "plum", "pear", "shelf", "cellar", "jar", "label"][($0 * $0 + $0 * seed) % 7]
        }
        .joined(separator: " ")
    }

    @Test func `texts are ranked as FTS5 ranks them`() throws {
        let index = try SearchIndex.openOrCreate(folder)
        for number in 1...200 {
            let text = Self.text(
                Self.words(number % 5, number), Self.words(1 + number * number % 300, number))
            try index.add(
                text, of: Self.body(UInt8(number), "https://a.test/\(Self.words(1, number))"), prior: 0)
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
                // The index stores the length of a text with an error of a few percent.
                #expect(abs(match.score - score) <= 0.04 * score + 1e-9, "\(expression)")
            }
            #expect(found.map(\.score) == found.map(\.score).sorted(by: >))
            let few = try index.best(
                TextExpression(expression, phrases.map { .init($0) }), in: .all, atMost: 7)
            #expect(few == Array(found.prefix(7)))
        }
    }

    @Test func `texts of higher quality are found first, whatever the order of indexing`() throws {
        let index = try SearchIndex.openOrCreate(folder)
        for (number, quality) in [0.0, 7, 3, 40, 0].enumerated() {
            try index.add(
                Self.text("T", "the same word, and \(number)"), of: Self.body(UInt8(number)), prior: quality)
        }
        let numbers = try Self.found("word", index)
        #expect(numbers.map { SearchIndex.quality(of: $0) } == [31, 7, 3, 0, 0])
        #expect(numbers.suffix(2) == [1, 2])
        #expect(try index.isSound())
    }

    @Test func `a search in names finds titles and URLs only, and no removed texts`() throws {
        func named(_ words: String) throws -> [Int64] {
            try index.best(TextExpression(words, [.init(words)]), in: .names, atMost: 9).map(\.id)
        }
        let index = try SearchIndex.openOrCreate(folder)
        try index.add(Self.text("Plum jam", "of plums"), of: Self.body(1, "https://a.test/recipe"), prior: 2)
        let text = try #require(try named("jam").first)
        #expect(try named("plums") == [])
        #expect(try named("recipe") == [text])
        // The same text at another URL.
        try index.add(
            Self.text("Plum jam", "of plums"), of: Self.body(2, "https://b.test/cellar", "B"), prior: 0)
        #expect(try named("cellar AND \(SearchIndex.expression(ofSite: "B"))") == [text])
        #expect(try named("jam") == [text])
        #expect(try index.removeGoneTexts(StoreReader(folder)) == 1)
        #expect(try named("jam") == [] && named("cellar") == [])
        #expect(try index.isSound())
    }

    @Test func `a prefix of very many words is replaced by the most frequent ones`() throws {
        let index = try SearchIndex.openOrCreate(folder)
        #expect(try index.frequentWords(beginning: "wor") == nil)
        let many = (0..<2500).map { "wor\($0)" }.joined(separator: " ")
        try index.add(Self.text("Many", many), of: Self.body(1), prior: 0)
        try index.add(Self.text("One", "wor17 and wor18"), of: Self.body(2), prior: 0)
        let words = try #require(try index.frequentWords(beginning: "wor"))
        #expect(words.count == 64 && Set(words.prefix(2)) == ["wor17", "wor18"])
        let choice = "\"\(SearchIndex.oneOf(words))\""
        #expect(try Set(Self.found(choice, index)) == [1, 2])
        #expect(try Self.found("\"and \(SearchIndex.oneOf(["wor18", "nothing"]))\"", index) == [2])
        #expect(try index.frequentWords(beginning: "zz") == nil)
    }

    @Test func `the text count of a word is refreshed when texts were added`() throws {
        let index = try SearchIndex.openOrCreate(folder)
        try index.add(Self.text("One", "word"), of: Self.body(1), prior: 0)
        let reader = try #require(try SearchIndex.openIfExists(folder))
        #expect(try reader.textCount(of: "\"word\"") == 1)
        try index.add(Self.text("Two", "word"), of: Self.body(2), prior: 5)
        #expect(try reader.textCount(of: "\"word\"") == 2)
        #expect(try reader.textCount() == 2)
        #expect(try Self.found("word", reader).count == 2)
    }

    @Test func `texts that the store does not have any more are removed`() throws {
        let index = try SearchIndex.openOrCreate(folder)
        try index.add(Self.text("One", "word"), of: Self.body(1), prior: 0)
        try index.add(DocumentText(), of: Self.body(2), prior: 0)
        #expect(try index.removeGoneTexts(StoreReader(folder)) == 1)
        #expect(try Self.found("word", index) == [])
        #expect(try index.textCount() == 0)
        #expect(try index.isSound())
    }
}
