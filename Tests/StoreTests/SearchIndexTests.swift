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
        var ids: [Int64] = []
        try index.eachMatch(of: expression, atMost: 100) {
            ids.append($0.id)
            return true
        }
        return ids
    }

    @Test func `a visit that is over is read once, one that is written to again`() throws {
        let index = try SearchIndex.opened(folder)
        let (over, open) = (
            TextVisit(id: 1, started: 5, isOver: true), TextVisit(id: 2, started: 5, isOver: false)
        )
        for visit in [over, open] {
            #expect(try !index.hasRead(visit))
            try index.noteRead(visit)
        }
        #expect(try index.hasRead(over))
        #expect(try !index.hasRead(open))
        // Of a store that was put together anew.
        let other = TextVisit(id: 1, started: 6, isOver: true)
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
        #expect(try index.textCount(of: "files") == 1)
    }

    @Test func `readers see what was committed while it is written, and nothing where there is no index`()
        throws
    {
        #expect(try SearchIndex.ifAny(folder) == nil)
        let index = try SearchIndex.opened(folder)
        let reader = try #require(try SearchIndex.ifAny(folder))
        _ = try index.changing { () throws(StoreError) in
            try index.add(Self.text("One", "word"), at: Self.place(1), prior: 0)
        }
        #expect(try Self.found("word", reader) == [1])
        #expect(reader.isInPlace)
    }

    @Test func `one that is damaged or of another version is made anew`() throws {
        _ = try SearchIndex.opened(folder).add(Self.text("One", "word"), at: Self.place(1), prior: 0)
        try home.write(String(repeating: "no database ", count: 1000), to: "s/search.db")
        #expect(try SearchIndex.ifAny(folder) == nil)
        let index = try SearchIndex.opened(folder)
        #expect(try index.textCount() == 0)
        try index.connection.execute("PRAGMA user_version = 1")
        #expect(try SearchIndex.ifAny(folder) == nil)
        #expect(try SearchIndex.opened(folder).textCount() == 0)
        #expect(!index.isInPlace)
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
