import Digest
import Glibc
import Synchronization
import System
import TestOrigin
import Testing
import Web

@testable import Store

/// The key with which a store hashes the secrets of requests.
@Suite struct SecretKeyTests {
    private let store: StockedFolder
    private static let secret = "hunter2"

    init() throws { store = try StockedFolder() }

    private func response(_ variant: String, _ href: String = "http://a.test/") throws -> NewResponse {
        var response = try store.response(href, "\(variant.utf8.count)")
        response.variant = variant
        return response
    }

    private func removeKey() { unlink(store.folder.secretKeyFile) }

    @Test func `the key is readable by its owner alone`() throws {
        _ = try StoreWriter(store.folder)
        var status = stat()
        #expect(stat(store.folder.secretKeyFile, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(store.folder.secretKey?.count == 32)
    }

    @Test func `stores have different keys, and a store keeps its own`() throws {
        let other = try StockedFolder()
        for folder in [store.folder, other.folder] { _ = try StoreWriter(folder) }
        let key = store.folder.secretKey
        #expect(key != other.folder.secretKey)
        _ = try StoreWriter(store.folder)
        #expect(store.folder.secretKey == key)
        #expect(try store.folder.storeSecretKeyIfMissing(StoreFolder.newSecretKey()) == key)
    }

    @Test func `processes that create the key at once agree on one`() throws {
        try StoreFolder.makeFolders(store.folder.path)
        let keys = Mutex<[[UInt8]?]>([])
        let threads = try (0..<8).map { number in
            try NamedThread.start("key-\(number)") { [store] in
                let key = try? store.folder.storeSecretKeyIfMissing(StoreFolder.newSecretKey())
                keys.withLock { $0.append(key) }
            }
        }
        for thread in threads { thread.join() }
        let made = keys.withLock { $0 }
        #expect(made.count == 8 && Set(made) == [store.folder.secretKey])
        #expect(StoreFolder.names(in: store.folder.path) == ["secret-key"])
    }

    @Test func `an invalid key file is an error with advice`() throws {
        _ = try StoreWriter(store.folder)
        try WholeFile.replace(store.folder.secretKeyFile, with: "nonsense\n")
        let error = #expect(throws: StoreError.self) { _ = try StoreWriter(store.folder) }
        #expect(error?.advice.contains("remove it") == true)
    }

    @Test func `a reader without a key matches no secret`() throws {
        let secrets = store.folder.secretHasher(createsKey: true)
        let request: HTTPFields = ["X-Api-Key": Self.secret]
        let key = try #require(
            VaryKey(decoded: ["Vary": "X-Api-Key"], request: request, secrets: secrets))
        try store.snapshot([response(key.text)])
        let reader = try store.reader()
        let stored = try #require(try reader.response(for: "http://a.test/"))
        #expect(stored.matches(request, reader.secrets))
        #expect(!stored.matches(["X-Api-Key": "other"], reader.secrets))
        removeKey()
        #expect(!stored.matches(request, try store.reader().secrets))
        #expect(store.folder.secretKey == nil)
    }

    @Test func `secrets that an earlier version stored are hashed, and their responses marked as private`()
        throws
    {
        try store.snapshot([
            response("x-api-key: \(Self.secret)", "http://a.test/1"),
            response("accept-language: de", "http://a.test/2"),
            response("cookie: #cbf29ce484222325", "http://a.test/3"),
            response("cookie: #af63dc4c8601ec8c", "http://a.test/3"), response("*", "http://a.test/3"),
            response("cookie", "http://a.test/4"), response("", "http://a.test/5"),
        ])
        removeKey()
        _ = try StoreWriter(store.folder)
        let reader = try store.reader()
        let stored = try #require(try reader.response(for: "http://a.test/1"))
        #expect(stored.matches(["X-Api-Key": Self.secret], reader.secrets))
        #expect(!stored.matches(["X-Api-Key": "other"], reader.secrets))
        let rows = try store.column(
            "SELECT url.href || ' ' || variant || ' ' || (flags & 256) FROM response JOIN url ON url.id = response.url "
                + "WHERE url.href <> 'http://a.test/1' ORDER BY 1")
        #expect(
            rows == [
                "http://a.test/2 accept-language: de 0", "http://a.test/3 * 0", "http://a.test/4 cookie 0",
                "http://a.test/5  0",
            ])
        #expect(stored.flags.contains(.isPrivate))
        if store.folder.server == nil {
            for path in [store.folder.database, store.folder.database + "-wal"] + store.folder.journalFiles {
                let bytes = (try? WholeFile.read(path, atMost: 1 << 24)) ?? []
                #expect(!String(decoding: bytes, as: UTF8.self).contains(Self.secret), "\(path)")
            }
        }
        #expect(try store.inspect().isSound)
        #expect(try store.reader().summary().responses == 5)
    }

    @Test func `a copy of a store recognizes the secrets of the store`() throws {
        let secrets = store.folder.secretHasher(createsKey: true)
        let request: HTTPFields = ["X-Api-Key": Self.secret]
        let key = try #require(VaryKey(decoded: ["Vary": "X-Api-Key"], request: request, secrets: secrets))
        try store.snapshot([response(key.text)])
        let copy = StoreFolder(store.scratch.file("copy"))
        _ = try StoreCopy.run(from: store.folder, to: copy, verify: true)
        let reader = try StoreReader(copy)
        #expect(try reader.response(for: "http://a.test/")?.matches(request, reader.secrets) == true)
    }
}
