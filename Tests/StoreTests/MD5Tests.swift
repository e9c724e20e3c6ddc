import Digest
import TestOrigin
import Testing

@testable import Store

@Suite struct MD5Tests {
    private let store: StockedFolder
    private static let large = [UInt8](repeating: 5, count: Limits.maxPackedBodyBytes + 1)

    init() throws {
        store = try StockedFolder()
        try store.snapshot([store.response("/small", "a"), store.response("/large", bytes: Self.large)])
    }

    private func body(_ href: String) throws -> StoredBody {
        try #require(try store.reader().response(for: href)?.body)
    }

    @Test(arguments: [("/small", Array("a".utf8)), ("/large", large)])
    func `an MD5 is computed on first use and then stored`(href: String, bytes: [UInt8]) throws {
        let body = try body(href)
        #expect(body.md5 == nil)
        let md5 = try #require(try store.reader().md5(of: body))
        #expect(md5 == DigestStream.digest(.md5, of: bytes.span))
        // A reader does not store the MD5.
        #expect(try self.body(href).md5 == nil)
        try StoreWriter(store.folder).storeMD5s([(body, md5)])
        #expect(try self.body(href).md5 == md5.bytes)
        #expect(
            try store.column("SELECT md5 FROM larder_body WHERE md5 != ''") == [md5.hex])
        // A stored MD5 is returned without reading the bytes.
        store.scratch.remove("store/bodies/\(Digest(.sha256, bytes: body.sha256)?.hex ?? "")")
        #expect(try store.reader().md5(of: self.body(href)) == md5)
    }

    @Test func `bytes that are read in several forms have one MD5`() throws {
        let writer = try StoreWriter(store.folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        var other = try store.response("/other")
        other.body = .new(try NewBody(.bytes(Array("a".utf8)), form: "opaque", links: [], in: store.folder))
        try writer.add([other], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        let md5 = try #require(try store.reader().md5(of: body("/small")))
        try writer.storeMD5s([(body("/small"), md5)])
        #expect(try body("/other").id != body("/small").id)
        #expect(try body("/other").md5 == md5.bytes)
    }

    @Test(.requiresFolderStore) func `a missing body has no MD5`() throws {
        let body = try body("/large")
        for name in store.scratch.names(in: "store/bodies") { store.scratch.remove("store/bodies/\(name)") }
        #expect(try store.reader().md5(of: body) == nil)
    }
}
