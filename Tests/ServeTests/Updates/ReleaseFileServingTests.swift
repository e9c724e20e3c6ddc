import Digest
import LarderKit
import System
import TestOrigin
import Testing
import Web

@Suite struct ReleaseFileServingTests {
    private let app: PublishedApp

    init() throws { app = try PublishedApp() }

    @Test func `files are served with their type, for ever, by tag and in parts`() async throws {
        let text = String(repeating: "larder ", count: 1000)
        let release = try #require(try await app.publish(["a b/main.js": text, "index.html": "<p>"]).release)
        try await app.withServer { (server) async throws in
            let path = "files/\(release)/a%20b/main.js"
            let whole = try server.send(path)
            #expect(whole.status == 200)
            #expect(whole.text == text)
            #expect(whole["Content-Type"]?.contains("javascript") == true)
            #expect(whole["Cache-Control"] == "public, max-age=31536000, immutable")
            #expect(whole["Access-Control-Allow-Origin"] == "*")
            #expect(whole["Set-Cookie"] == nil)
            let tag = try #require(whole["ETag"])
            #expect(try server.send(path, fields: [("If-None-Match", tag)]).status == 304)
            let part = try server.send(path, fields: [("Range", "bytes=7-13")])
            #expect(part.status == 206)
            #expect(part.text == "larder ")
            let head = try server.send(path, method: "HEAD")
            #expect(head["Content-Length"] == "\(text.utf8.count)")
            #expect(try server.send(path + "?v=1").text == text)
            #expect(try server.send(path, method: "POST", body: "x").status == 405)
        }
    }

    @Test func `files of earlier releases stay, also after a roll-back`() async throws {
        let first = try #require(try await app.publish(["main.js": "one"]).release)
        let second = try #require(try await app.publish(["main.js": "two"]).release)
        _ = try await app.change(.rollBack)
        try await app.withServer { (server) async throws in
            #expect(try server.send("files/\(first)/main.js").text == "one")
            #expect(try server.send("files/\(second)/main.js").text == "two")
        }
    }

    @Test func `only files of releases of the app are served`() async throws {
        let release = try #require(try await app.publish(["main.js": "one"]).release)
        let other = try await app.publish(["main.js": "two"]) { $0.app = "other" }
        try await app.withServer { (server) async throws in
            for path in [
                "files/\(release)/none.js", "files/\(release)", "files/\(release)/", "files/0000/main.js",
                "files/\(other.release ?? "")/main.js", "files/\(release)/../\(other.release ?? "")/main.js",
                "files/\(release)/%2e%2e/x/main.js", "files//main.js", "files",
            ] {
                #expect(try server.send(path).status == 404, "\(path)")
            }
        }
    }

    /// At the name of the portal, a page of a release could give orders.
    @Test(arguments: [
        [("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Mode", "navigate")], [("Sec-Fetch-Dest", "iframe")],
        [("Sec-Fetch-Dest", "object")], [("Accept", "text/html,*/*")], [("Sec-Fetch-Dest", "sharedworker")],
        [("Sec-Fetch-Dest", "serviceworker"), ("Service-Worker", "script")],
    ])
    func `files are not documents or workers`(fields: [(String, String)]) async throws {
        let release = try #require(try await app.publish(["index.html": "<script>"]).release)
        try await app.withServer { (server) async throws in
            let path = "files/\(release)/index.html"
            let answer = try server.send(path, fields: fields)
            #expect(answer.status == 403)
            #expect(answer["Cache-Control"] == "no-store")
            let read = try server.send(
                path, fields: [("Sec-Fetch-Dest", "empty"), ("Sec-Fetch-Mode", "cors")])
            #expect(read.status == 200)
            #expect(read["Vary"]?.contains("Sec-Fetch-Dest") == true)
        }
    }

    /// Browsers send no fetch metadata to other addresses than https and this machine, and `<object>` accepts everything.
    @Test(
        arguments: [
            ([("User-Agent", "Mozilla/5.0 (X11)"), ("Accept", "*/*")], "sandbox"),
            ([("User-Agent", "Mozilla/5.0 (X11)"), ("Origin", "http://app.example")], "sandbox"),
            ([("User-Agent", "Mozilla/5.0 (X11)"), ("Sec-Fetch-Dest", "empty")], nil),
            ([("User-Agent", "larder/0.1")], nil), ([], nil),
        ] as [([(String, String)], String?)])
    func `a browser that does not say what the file is for gives it an origin of its own`(
        fields: [(String, String)], policy: String?
    ) async throws {
        let release = try #require(try await app.publish(["index.html": "<script>"]).release)
        try await app.withServer { (server) async throws in
            for _ in 0..<2 {
                let answer = try server.send("files/\(release)/index.html", fields: fields)
                #expect(answer.status == 200 && answer["Content-Security-Policy"] == policy)
            }
        }
    }

    @Test(arguments: [
        ("main.js", "main.js", "main.js"),
        ("static/main.3f2a9c81.js", "static/main.9c1b0d2e.js", "static/main.*.js"),
    ])
    func `a client that has the file of an earlier release gets the difference`(
        earlier: String, later: String, pattern: String
    ) async throws {
        func script(_ version: Int) -> String {
            (0..<800).map {
                $0 == 200 ? "const version = \(version)" : "f(\($0 &* 2_654_435_761 % 1_000_003))"
            }
            .joined(separator: "\n")
        }
        let first = try #require(try await app.publish([earlier: script(1)]).release)
        let second = try #require(try await app.publish([later: script(2)]).release)
        try await app.withServer { (server) async throws in
            let codings = [("Accept-Encoding", "zstd, dcz")]
            let old = try server.send("files/\(first)/\(earlier)", fields: [("Accept-Encoding", "dcz")])
            let rule = "match=\"/-/updates/shop/files/*/\(pattern)\""
            #expect(old["Use-As-Dictionary"]?.contains(rule) == true)
            #expect(old.all("Cache-Control") == ["public, max-age=31536000, immutable"])
            let digest = DigestStream.digest(.sha256, of: old.body.span).bytes
            let offer = codings + [("Available-Dictionary", ":\(Base64.encode(digest)):")]
            let delta = try server.send("files/\(second)/\(later)", fields: offer)
            #expect(delta["Content-Encoding"] == "dcz")
            #expect(delta.body.count < 200)
            #expect(try DictionaryServingTests.decode(delta, from: old.body) == script(2))
            // A dictionary that the server does not have.
            let other =
                codings + [("Available-Dictionary", ":\(Base64.encode([UInt8](repeating: 1, count: 32))):")]
            let whole = try server.send("files/\(second)/\(later)", fields: other)
            #expect(whole["Content-Encoding"] == "zstd")
            #expect(try DictionaryServingTests.decode(whole) == script(2))
            let metrics = try server.send("/-/metrics").text
            #expect(metrics.contains("larder_updates_requests_total{service=\"files\",outcome=\"file\"} 3"))
            #expect(!metrics.contains("larder_updates_saved_bytes_total 0"))
            #expect(metrics.contains("larder_update_share{app=\"shop\""))
        }
    }

    @Test(arguments: [
        ("gzip, deflate, br, zstd", "zstd"), ("gzip", "gzip"), ("deflate, gzip", "gzip"), ("br", nil),
        ("gzip;q=0", nil),
    ])
    func `a client gets text in the best coding that it accepts`(accepted: String, coding: String?)
        async throws
    {
        let text = String(repeating: "larder ", count: 1000)
        let names = ["main.js", "index.html", "data.bin", "picture.png", "small.js"]
        let files = Dictionary(uniqueKeysWithValues: names.map { ($0, $0 == "small.js" ? "x" : text) })
        let release = try #require(try await app.publish(files).release)
        try await app.withServer { (server) async throws in
            // Twice: the second answer is from memory.
            for _ in 0..<2 {
                for name in names {
                    let fields = [("Accept-Encoding", accepted)]
                    let answer = try server.send("files/\(release)/\(name)", fields: fields)
                    let isText = name != "picture.png" && name != "small.js"
                    #expect(answer["Content-Encoding"] == (isText ? coding : nil), "\(name)")
                    #expect(answer["Vary"]?.contains("Accept-Encoding") == isText, "\(name)")
                    #expect(answer.all("Vary").count == 1 && answer.all("ETag").count == 1)
                    guard answer["Content-Encoding"] != nil else {
                        #expect(answer.text == files[name] && answer["Repr-Digest"] != nil)
                        continue
                    }
                    #expect(answer.body.count < 200 && answer["ETag"]?.hasPrefix("W/") == true)
                    #expect(answer["Repr-Digest"] == nil && answer["Accept-Ranges"] == nil)
                    #expect(try DictionaryServingTests.decode(answer) == text)
                    let head = try server.send(
                        "files/\(release)/\(name)", method: "HEAD", fields: fields)
                    #expect(head["Content-Length"] == "\(answer.body.count)" && head.body.isEmpty)
                    let part = try server.send(
                        "files/\(release)/\(name)", fields: fields + [("Range", "bytes=7-13")])
                    #expect(part.status == 206 && part.text == "larder ")
                }
            }
        }
    }

    @Test func `a slow client does not keep others from their files`() async throws {
        let text = String(repeating: "x", count: 4_000_000)
        let release = try #require(try await app.publish(["big.txt": text, "main.js": "one"]).release)
        try await app.withServer { (server) async throws in
            let slow = try RawClient(port: Int(server.port))
            try slow.send("GET /-/updates/shop/files/\(release)/big.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let half = try RawClient(port: Int(server.port))
            try half.send("GET /-/updates/shop/manifest HT")
            for _ in 0..<20 { #expect(try server.send("files/\(release)/main.js").text == "one") }
            #expect(try slow.response().body.count == text.utf8.count)
        }
    }
}
