import Digest
import Glibc
import TestOrigin
import Testing
import Web

@testable import Store

@Suite struct ListingTests {
    private let scratch: TemporaryFolder
    private let folder: StoreFolder
    private let writer: StoreWriter

    init() throws {
        scratch = try TemporaryFolder()
        folder = StoreFolder(try TestStore.place(scratch.path))
        writer = try StoreWriter(folder)
    }

    /// Stores a snapshot with these pages, given as URL and text, and publishes it if it is complete.
    @discardableResult
    private func snapshot(_ pages: [String: String], site: String = "s", isComplete: Bool = true) throws
        -> Int64
    {
        let snapshot = try writer.begin(site: site, start: [site], now: 1)
        let responses = try pages.map { href, text in
            NewResponse(
                href: href, referrer: nil, status: 200, role: 0, fields: "", fetched: 1,
                body: .new(try NewBody(.bytes(Array(text.utf8)), form: "html;utf-8", links: [], in: folder)))
        }
        try writer.add(responses, to: snapshot)
        try writer.end(snapshot, isComplete ? .publish(now: 2) : .keepOpen)
        return snapshot.id
    }

    private func listedRows(site: Int64? = nil) throws -> [String] {
        var listed: [String] = []
        try StoreReader(folder).eachListedResponse(site: site) { row in
            listed.append("\(row.href) \(row.snapshot)")
            return true
        }
        return listed
    }

    @Test func `each URL is listed once, with the response that readers get`() throws {
        let first = try snapshot(["/a": "1", "/b": "1"])
        try snapshot(["/b": "2"], site: "t")
        try snapshot(["/b": "33", "/c": "3"])
        try snapshot(["/a": "open"], isComplete: false)
        #expect(try listedRows() == ["/a 1", "/b 2", "/c 2"])
        let reader = try StoreReader(folder)
        let sites = try reader.sites()
        #expect(try listedRows(site: sites[1].id) == ["/b 1"])
        try writer.publish(snapshot: first, of: sites[0])
        #expect(try listedRows() == ["/a 1", "/b 1"])
        #expect(try listedRows(site: sites[0].id) == ["/a 1", "/b 1"])
        try reader.eachListedResponse { row in
            let shown = (try? reader.response(for: row.href)) ?? nil
            #expect(shown?.body?.sha256 == row.body?.sha256)
            return true
        }
    }

    @Test(arguments: [0, 1, 4095, 4096, 4097, 9000])
    func `no URL is lost between two slices, and the listing stops when the caller has enough`(count: Int)
        throws
    {
        let hrefs = (0..<count).map { "/\(100_000 + $0)" }
        try snapshot(Dictionary(uniqueKeysWithValues: hrefs.map { ($0, "same") }))
        #expect(try listedRows() == hrefs.map { "\($0) 1" })
        var count = 0
        try StoreReader(folder).eachListedResponse { _ in
            count += 1
            return count < 4098
        }
        #expect(count == min(count, 4098))
    }

    @Test(arguments: [0, 100]) func `URLs looked up together are the same as when looked up one at a time`(
        others: Int
    )
        throws
    {
        // Bodies in the database, in a pack, and in a file.
        let sizes = [("/x/db", 10), ("/x/pack", 100_000), ("/x/file", 2 << 20), ("/x/gone", 2 << 20)]
        try snapshot(Dictionary(uniqueKeysWithValues: sizes.map { ($0, String(repeating: $0, count: $1)) }))
        try snapshot(["/x/db": "newer"])
        try snapshot(["/x/db": "of another site", "/x/own": "1"], site: "t")
        try snapshot(["/x/open": "open", "/x/pack": "open"], isComplete: false)
        try snapshot(Dictionary(uniqueKeysWithValues: (0..<others).map { ("/x/l\($0)", "\($0)") }), site: "u")
        let reader = try StoreReader(folder)
        let gone = try #require(try reader.response(for: "/x/gone")?.body)
        let digest = try #require(Digest(.sha256, bytes: gone.sha256))
        if case .folder(let path)? = folder.server?.bodies?.kind {
            #expect(unlink("\(path)/\(digest.hex.prefix(2))/\(digest.hex)") == 0)
        } else if TestStore.isPostgreSQL {
            try folder.connect(.readWrite).execute(
                "DELETE FROM piece WHERE encode(sha256, 'hex') = '\(digest.hex)'")
        } else {
            #expect(unlink(scratch.file("bodies/\(digest.hex)")) == 0)
        }
        let hrefs = (sizes.map(\.0) + ["/x/own", "/x/open", "/x/none"]).sorted()
        let shown = try reader.availability(of: hrefs)
        for href in hrefs {
            let alone = try reader.response(for: href)
            #expect(shown[href]?.snapshot == alone?.snapshot)
            #expect(shown[href]?.status == alone?.status)
            #expect(shown[href]?.body == alone?.body)
            let isThere = try alone?.body.map { try reader.bodies.isStored($0) }
            #expect(shown[href]?.isBodyStored == isThere)
            #expect(isThere == nil || isThere == (href != "/x/gone"))
        }
    }

    @Test func `a URL that is only linked to is neither listed nor a neighbour`() throws {
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        let body = try NewBody(.bytes([1]), form: "html;utf-8", links: [], in: folder)
        try writer.add(
            [
                NewResponse(
                    href: "/a/1", referrer: "/a/0", status: 200, role: 0, fields: "", fetched: 1,
                    body: .new(body))
            ], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        #expect(try listedRows() == ["/a/1 1"])
        #expect(try StoreReader(folder).neighbours(of: "/a/2", below: "/a/", count: 5) == ["/a/1"])
    }

    @Test func `neighbours are the URLs before and after, below the same prefix`() throws {
        let hrefs = ["/a", "/b/1", "/b/2", "/b/4", "/b/5~", "/b/6", "/c"]
        try snapshot(Dictionary(uniqueKeysWithValues: hrefs.map { ($0, "") }))
        let reader = try StoreReader(folder)
        #expect(
            try reader.neighbours(of: "/b/3", below: "/b/", count: 2) == ["/b/1", "/b/2", "/b/4", "/b/5~"])
        #expect(try reader.neighbours(of: "/b/0", below: "/b/", count: 1) == ["/b/1"])
        #expect(try reader.neighbours(of: "/b/9", below: "/b/", count: 9).count == 5)
        #expect(try reader.neighbours(of: "/d/9", below: "/d/", count: 9).isEmpty)
    }

    @Test func `only the row of a URL that readers get is marked as visible`() throws {
        let first = try snapshot(["/": "1"])
        let other = try snapshot(["/": "other"], site: "t")
        let second = try snapshot(["/": "2"])
        let open = try snapshot(["/": "open"], isComplete: false)
        let reader = try StoreReader(folder)
        func visibleSnapshots() throws -> [Int64] {
            try reader.versions(of: "/").filter(\.isVisible).map(\.response.snapshot)
        }
        #expect(try reader.versions(of: "/").map(\.response.snapshot) == [open, second, other, first])
        #expect(try reader.versions(of: "/").map(\.site) == ["s", "s", "t", "s"])
        #expect(try visibleSnapshots() == [second])
        try writer.publish(snapshot: first, of: reader.sites()[0])
        #expect(try visibleSnapshots() == [other])
        #expect(try reader.versions(of: "/none").isEmpty)
    }

    @Test func `a pin covers its pages with all their assets, and each body once`() throws {
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        let hrefs = ["/", "/a.css", "/a.woff", "/b"].map { "http://a.test" + $0 } + ["http://b.test/"]
        let responses = try hrefs.enumerated().map { number, href in
            let text = number == 4 ? "bodybody" : "body"
            var response = NewResponse(
                href: href, referrer: nil, status: 200, role: 0, fields: "", fetched: 1,
                body: .new(try NewBody(.bytes(Array(text.utf8)), form: "html;utf-8", links: [], in: folder)))
            response.number = UInt32(number)
            return response
        }
        func links(_ source: Int, _ assets: [Int], pages: [Int] = []) -> NewLinks {
            func target(_ number: Int) -> NewLinks.Target {
                NewLinks.Target(
                    href: number < hrefs.count ? hrefs[number] : "http://a.test/missing",
                    number: UInt32(number))
            }
            var links = NewLinks(from: target(source))
            links.assets = assets.map(target)
            links.pages = pages.map(target)
            return links
        }
        try writer.add(
            responses, links: [links(1, [2, 1]), links(0, [1, 9], pages: [3, 4])], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        let covers = try StoreReader(folder).covers(of: [
            [Pin(.url, hrefs[0])], [Pin(.pattern, "b.test")], [Pin(.site, "s")], [Pin(.site, "t")],
            [Pin(.url, hrefs[0]), Pin(.pattern, "b.test")], [],
        ])
        #expect(covers.map(\.urlCount) == [3, 1, 5, 0, 4, 0])
        #expect(covers.map(\.byteCount) == [4, 8, 12, 0, 12, 0])
    }

    /// Stores a snapshot with these URLs, each with flags that contain the network zone of its response.
    private func snapshot(_ flags: [(String, ResponseFlags)], site: String = "s", isComplete: Bool = true)
        throws
    {
        let snapshot = try writer.begin(site: site, start: [site], now: 1)
        try writer.add(
            flags.map { href, flags in
                var response = NewResponse(
                    href: href, referrer: nil, status: 204, role: 0, fields: "", fetched: 1, body: .none)
                response.flags = flags
                return response
            }, to: snapshot)
        try writer.end(snapshot, isComplete ? .publish(now: 2) : .keepOpen)
    }

    @Test func `the zone of an origin is the most public zone of its responses`() throws {
        try snapshot([
            ("https://a.test/", [.fromPrivateNetwork, .isPart]),
            ("https://a.test/b", [.fromThisMachine, .isPrivate]),
            ("https://a.test:81/", .fromThisMachine), ("https://a.tester/", []),
            ("https://a.test.b.test/", []),
            ("http://a.test/", []),
        ])
        let reader = try StoreReader(folder)
        #expect(try reader.mostPublicZone(ofOrigin: "https://a.test") == .privateNetwork)
        #expect(try reader.mostPublicZone(ofOrigin: "https://a.test:81") == .thisMachine)
        #expect(try reader.mostPublicZone(ofOrigin: "http://a.test") == .publicNetwork)
        #expect(try reader.mostPublicZone(ofOrigin: "https://a.tes") == nil)
        #expect(try reader.mostPublicZone(ofOrigin: "") == nil)
    }

    @Test func `the zone of an origin comes from some of the responses that readers see`() throws {
        try snapshot([("https://a.test/", [])])
        try snapshot([("https://a.test/", .fromThisMachine)])
        try snapshot([("https://a.test/open", [])], isComplete: false)
        #expect(try StoreReader(folder).mostPublicZone(ofOrigin: "https://a.test") == .thisMachine)
        try snapshot(
            (100..<200).map { ("https://b.test/\($0)", .fromThisMachine) } + [("https://b.test/z", [])],
            site: "t")
        #expect(try StoreReader(folder).mostPublicZone(ofOrigin: "https://b.test") == .thisMachine)
        try snapshot([("https://b.test/000", .fromPrivateNetwork)], site: "t")
        #expect(try StoreReader(folder).mostPublicZone(ofOrigin: "https://b.test") == .privateNetwork)
    }

    @Test func `each origin with stored responses is listed once`() throws {
        let stored = [
            "http://a.test/", "http://a.test/1", "http://a.test:8080/", "https://a-b.test/",
            "https://a.test/x/y?z",
            "https://a.test/~", "https://a.tester/", "https://[::1]:81/",
        ]
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        func response(_ href: String, from referrer: String? = nil) -> NewResponse {
            NewResponse(
                href: href, referrer: referrer, status: 204, role: 0, fields: "", fetched: 1, body: .none)
        }
        try writer.add(
            stored.map { response($0) } + [
                response("https://c.test/", from: "https://linked.test/a"),
                response("http:nothing", from: "https://a.te/"),
                response("mailto:a@a.test"), response("/relative"),
            ], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        var origins: [String] = []
        try StoreReader(folder).eachOrigin { origins.append($0) }
        #expect(
            origins.sorted() == [
                "http://a.test", "http://a.test:8080", "https://[::1]:81", "https://a-b.test",
                "https://a.test",
                "https://a.tester", "https://c.test",
            ])
    }

    @Test func `a body is passed in pieces until the caller has enough`() throws {
        let path = try scratch.write([UInt8](repeating: 1, count: 700_000), to: "large")
        var pieces: [Int] = []
        let isWhole = try BodyContent.file(path: path).eachPieceWhile { piece in
            pieces.append(piece.count)
            return true
        }
        #expect(isWhole)
        #expect(pieces.reduce(0, +) == 700_000)
        #expect(pieces.count > 1)
        var count = 0
        let isCut = try !BodyContent.file(path: path).eachPieceWhile { _ in
            count += 1
            return false
        }
        #expect(isCut)
        #expect(count == 1)
        #expect(throws: StoreError.self) {
            _ = try BodyContent.file(path: scratch.file("none")).eachPieceWhile { _ in true }
        }
    }
}
