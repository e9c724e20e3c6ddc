import Testing
import Web

@testable import Store

/// Responses that vary by header fields of the request.
@Suite struct VariantTests {
    private let store: StockedFolder
    private let href = "http://a.test/"

    init() throws { store = try StockedFolder() }

    /// The response to a request with these header fields, as a prefetch would store it.
    private func response(_ text: String?, vary: String, to request: HTTPFields, fetched: Int64 = 1) throws
        -> NewResponse
    {
        let fields: HTTPFields = vary.isEmpty ? [:] : ["Vary": vary]
        var response = try store.response(
            href, text, status: text == nil ? 404 : 200, fields: fields.block, fetched: fetched)
        response.variant =
            VaryKey(
                decoded: fields, request: request, secrets: store.folder.secretHasher(createsKey: true))?.text
            ?? VaryKey.never
        return response
    }

    private func servedText(to request: HTTPFields?) throws -> String? {
        let reader = try store.reader()
        guard let body = try reader.response(for: href, fields: request)?.body else { return nil }
        return try reader.content(of: body).map { String(decoding: try $0.load(), as: UTF8.self) }
    }

    /// Whether the response that readers get matches the request.
    private func matches(_ request: HTTPFields) throws -> Bool? {
        try store.reader().response(for: href, fields: request)?.matches(request, store.reader().secrets)
    }

    private let german: HTTPFields = ["Accept-Language": "de"]
    private let english: HTTPFields = ["Accept-Language": "en"]
    private let french: HTTPFields = ["Accept-Language": "fr"]

    @Test
    func `each request gets the variant that it selects, or else the newest one, marked as not matching`()
        throws
    {
        try store.snapshot([
            response("Hallo", vary: "Accept-Language", to: german),
            response("hello", vary: "Accept-Language", to: english, fetched: 2),
        ])
        #expect(try servedText(to: german) == "Hallo")
        #expect(try servedText(to: english) == "hello")
        #expect(try matches(german) == true)
        #expect(try servedText(to: french) == "hello")
        #expect(try matches(french) == false)
        #expect(try servedText(to: nil) == "hello")
        #expect(try store.reader().sites()[0].snapshots[0].responseCount == 2)
    }

    @Test(arguments: [nil, "gzip", "br, zstd", "identity;q=0"])
    func `accepted codings do not select variants`(codings: String?) throws {
        try store.snapshot([
            response(
                "x", vary: "Accept-Encoding, Accept-Language",
                to: ["Accept-Encoding": "gzip", "Accept-Language": "de"])
        ])
        var request = german
        if let codings { request.append("Accept-Encoding", codings) }
        #expect(try servedText(to: request) == "x")
        #expect(try matches(request) == true)
        #expect(
            try store.column("SELECT variant FROM larder_response") == [
                "accept-encoding\naccept-language: de"
            ])
    }

    @Test func `a response that varies by everything is served and matches no request`() throws {
        try store.snapshot([response("x", vary: "*", to: german)])
        #expect(try servedText(to: german) == "x")
        #expect(try matches(german) == false)
        #expect(try store.column("SELECT variant FROM larder_response") == [VaryKey.never])
        // A later response in the same snapshot replaces it.
        try store.snapshot([response("y", vary: "*", to: german)])
        #expect(try servedText(to: german) == "y")
    }

    @Test func `a matching response of a later snapshot precedes that of an earlier one`() throws {
        try store.snapshot([response("Hallo", vary: "Accept-Language", to: german)])
        try store.snapshot([response("hello", vary: "Accept-Language", to: english)])
        #expect(try servedText(to: german) == "Hallo")
        #expect(try servedText(to: french) == "hello")
        try store.snapshot([response("one for all", vary: "", to: german)])
        for request in [german, english, french] { #expect(try servedText(to: request) == "one for all") }
        try store.snapshot([response(nil, vary: "", to: german)])
        #expect(try servedText(to: german) == nil)
        #expect(try store.reader().response(for: href, fields: german)?.status == 404)
    }

    @Test func `the later one of two responses in a snapshot is served`() throws {
        try store.snapshot([response(nil, vary: "", to: german, fetched: 1)], ending: .keepOpen)
        try store.snapshot([response("there again", vary: "Accept-Language", to: german, fetched: 2)])
        #expect(try servedText(to: german) == "there again")
        #expect(try servedText(to: nil) == "there again")
        let before = try store.snapshot([response(nil, vary: "", to: german)], site: "other")
        let after = try store.snapshot(
            [
                response(nil, vary: "", to: german, fetched: 3),
                response("x", vary: "A", to: german, fetched: 4),
            ],
            site: "other")
        #expect(try store.reader().difference(from: before, to: after).added == [href])
    }

    @Test func `an unpublished response comes after published ones, even if it is newer`() throws {
        try store.snapshot([response("old", vary: "", to: german)])
        try store.snapshot(
            [response("unpublished", vary: "Accept-Language", to: german, fetched: 9)], site: "other",
            ending: .keepOpen)
        #expect(try servedText(to: nil) == "old")
        #expect(try servedText(to: german) == "old")
        try store.snapshot([response("Hallo", vary: "Accept-Language", to: english, fetched: 3)])
        #expect(try servedText(to: nil) == "Hallo")
        #expect(try servedText(to: english) == "Hallo")
    }

    /// Otherwise, an outdated 404 would be served forever, except to requests like the last one.
    @Test(arguments: ["Accept-Language", "Accept-Language, Accept", "*"])
    func `a response stored before its URL varied matches no request any more`(vary: String) throws {
        for (before, newer) in [("old", "new"), (nil, "there again")] {
            try store.snapshot([response(before, vary: "", to: german, fetched: 9)])
            let snapshot = try store.snapshot([response(newer, vary: vary, to: german, fetched: 10)])
            for request in [german, french, nil] { #expect(try servedText(to: request) == newer) }
            #expect(try matches(french) == false)
            let reader = try store.reader()
            let asOf = try reader.asOf(snapshot) { () throws(StoreError) in
                try reader.response(for: href, fields: french)
            }
            #expect(asOf?.snapshot == snapshot && asOf?.status == 200)
            let rows = try reader.versions(of: href)
            #expect(rows.filter(\.isVisible).map(\.response.snapshot) == [snapshot])
        }
    }

    @Test func `without a match, the newest response of the newest snapshot is served`()
        throws
    {
        try store.snapshot([response("older", vary: "*", to: german, fetched: 9)])
        try store.snapshot([
            response("a", vary: "Accept-Language", to: german, fetched: 2),
            response("b", vary: "Accept-Language", to: english, fetched: 4),
            response("c", vary: "Accept-Language", to: french, fetched: 3),
        ])
        #expect(try servedText(to: ["Accept-Language": "it"]) == "b")
        #expect(try servedText(to: nil) == "b")
        #expect(try servedText(to: french) == "c")
    }

    @Test func `dropping a snapshot keeps the later response before an inherited one`() throws {
        let first = try store.snapshot([response(nil, vary: "", to: german, fetched: 1)])
        try store.snapshot([response("new", vary: "Accept-Language", to: german, fetched: 2)])
        #expect(try servedText(to: german) == "new")
        let site = try #require(try store.site())
        try StoreWriter(store.folder).drop(snapshot: first, of: site)
        #expect(try servedText(to: german) == "new")
        #expect(try servedText(to: nil) == "new")
    }
}
