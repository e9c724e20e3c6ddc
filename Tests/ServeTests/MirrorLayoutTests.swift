import Store
import TestOrigin
import Testing
import Web

@testable import HTTPServer
@testable import Mirror
@testable import Origins

@Suite struct MirrorLayoutTests {
    private let store: StockedStore

    private static let page = """
        <!doctype html><a href="/own">own</a><a href="https://example.test/a?b#c">own</a><a href=//cdn.test/d>other</a>
        """
    private static let frame = """
        <!doctype html><a href="/e">e</a><a href="f">f</a><a href="#g">g</a><a href="../../../h">h</a>\
        <a href="https://example.test/">home</a><a href="mailto:a@b">mail</a><base href="https://cdn.test/x/y/">
        """

    init() throws {
        store = try StockedStore([
            .init(href: "https://example.test/", text: Self.page),
            .init(
                href: "https://example.test/moved", status: 301, extra: "Location: https://cdn.test:81/z\r\n"),
            .init(
                href: "https://example.test/headed", text: "x", type: "text/plain",
                extra: """
                    Link: </a.css>; rel=preload, <https://cdn.test/b.js>; rel="preload; x"\r
                    Refresh: 5; url=https://cdn.test/next\r
                    Content-Location: /headed.en\r

                    """),
            .init(href: "https://cdn.test/x/y/frame", text: Self.frame),
            .init(href: "http://cdn.test/only", text: "only by http", type: "text/plain"),
        ])
    }

    private func serving(
        _ change: (inout MirrorOptions) -> Void, _ use: (_ client: RawClient, _ port: UInt16) throws -> Void
    ) throws {
        var options = MirrorOptions()
        options.root = WebURL("https://example.test/some/page")
        change(&options)
        let server = try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, options: options)
        defer { server.stop() }
        try use(RawClient(port: Int(server.port)), server.port)
    }

    @Test func `on loopback the site is at the root, and other origins have their own host names`() throws {
        try serving { _ in
        } _: { (client: RawClient, port: UInt16) throws -> Void in
            let here = "http://localhost:\(port)"
            let page = try client.get("/", host: "localhost:\(port)")
            #expect(page.status == 200)
            #expect(
                page.text
                    == Self.page.replacing("https://example.test/a?b#c", with: "\(here)/a?b#c")
                    .replacing("//cdn.test/d", with: "http://cdn-test.localhost:\(port)/d"))
            #expect(
                page["Content-Security-Policy"]?.hasPrefix(
                    "default-src 'self' \(here) http://*.localhost:\(port) data:") == true)
            let moved = try client.get("/moved", host: "localhost:\(port)")
            #expect(moved["Location"] == "http://port-81.cdn-test.localhost:\(port)/z")
            let cdn = "cdn-test.localhost:\(port)"
            #expect(try client.get("/only", host: cdn).text == "only by http")
            // Links of other origins to the site are rewritten to the root.
            let frame = try client.get("/x/y/frame", host: cdn)
            #expect(frame.text.contains("\"\(here)/\""))
            // The site has only the name of the root, and other origins have only their own host names.
            let own = try client.get("/a?b", host: "example-test.localhost:\(port)")
            #expect(own.status == 307 || own.status == 302)
            #expect(own["Location"] == "\(here)/a?b")
            for target in ["/-/web/https/cdn.test/only", "/-/as/0.https.cdn.test/https/cdn.test/only"] {
                #expect(try client.get(target, host: "localhost:\(port)").text != "only by http")
            }
        }
    }

    /// Runs a server for other machines. `folder` is the sealed path below which pages of the root find other origins.
    private func exposed(_ use: (_ client: RawClient, _ here: String, _ folder: String) throws -> Void) throws
    {
        try serving {
            $0.address = ListenAddress("*") ?? .loopback
        } _: { (client: RawClient, port: UInt16) throws -> Void in
            let here = "192.168.7.7:\(port)"
            let page = try client.get("/", host: here)
            let start = try #require(page.text.firstRange(of: "http://\(here)/-/web/")).upperBound
            let seal = page.text[start...].prefix { $0 != "/" }
            try use(client, here, "/-/web/\(seal)/")
        }
    }

    @Test func `other machines see other origins under sealed paths`() throws {
        try exposed { client, here, folder in
            let page = try client.get("/", host: here)
            #expect(
                page.text
                    == Self.page.replacing("https://example.test/a?b#c", with: "http://\(here)/a?b#c")
                    .replacing("//cdn.test/d", with: "http://\(here)\(folder)https/cdn.test/d"))
            #expect(page["Content-Security-Policy"]?.hasPrefix("default-src 'self' data:") == true)
            #expect(page["Origin-Agent-Cluster"] == "?1")
            let beside = try client.get("\(folder)https/cdn.test/x/y/frame", host: here)
            #expect(beside["Origin-Agent-Cluster"] == nil)
            let moved = try client.get("/moved", host: here)
            #expect(moved["Location"] == "http://\(here)\(folder)https/cdn.test:81/z")
            let asScript = [
                ("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Dest", "script"),
                ("Sec-Fetch-Mode", "no-cors"),
                ("Referer", "http://\(here)/"),
            ]
            for fields in [[], asScript] {
                let other = try client.get("\(folder)https/cdn.test/only", host: here, fields: fields)
                #expect(other.text == "only by http")
            }
            #expect(try client.get("\(folder)ftp/cdn.test/only", host: here).status == 403)
        }
    }

    @Test(arguments: [
        "/-/web/https/cdn.test/only", "/-/web/0.https.example.test/https/cdn.test/only",
        "/-/as/0.https.example.test/https/cdn.test/only", "/-/web//https/cdn.test/only",
        "/-/web/SEAL.https.cdn.test/https/cdn.test/only",
        "/-/web/SEAL.https.example.test:81/https/cdn.test/only",
    ])
    func `a path without a seal of this server gets a 403 or 404`(target: String) throws {
        try exposed { client, here, folder in
            let seal = folder.dropFirst("/-/web/".utf8.count).prefix { $0 != "." }
            for fields in [[], [("Accept", "text/html")], [("Sec-Fetch-Dest", "document")]] {
                let answer = try client.get(target.replacing("SEAL", with: seal), host: here, fields: fields)
                #expect(answer.status == 403 || answer.status == 404)
                #expect(!answer.text.contains("only by http"))
            }
        }
    }

    @Test func `a server that shows one site to other machines serves no other site`() throws {
        try store.publish(
            [.init(href: "https://other.test/", text: "other site", type: "text/plain")],
            site: "https://other.test/")
        try exposed { client, here, folder in
            #expect(try client.get("\(folder)https/cdn.test/only", host: here).status == 200)
            let other = try client.get("\(folder)https/other.test/", host: here)
            #expect(other.status != 200 && !other.text.contains("other site"))
        }
    }

    @Test
    func `in pages under sealed paths, relative links that would leave their origin are rewritten too`()
        throws
    {
        try exposed { client, here, folder in
            let frame = try client.get("\(folder)https/cdn.test/x/y/frame", host: here)
            let cdn = "http://\(here)\(folder)https/cdn.test"
            #expect(
                frame.text
                    == Self.frame.replacing("\"/e\"", with: "\"\(cdn)/e\"")
                    .replacing("../../../h", with: "\(cdn)/h")
                    .replacing("https://example.test/\"", with: "http://\(here)/\"")
                    .replacing("https://cdn.test/x/y/", with: "\(cdn)/x/y/"))
        }
    }

    @Test func `links name the host that the client used, and each host gets another ETag`()
        throws
    {
        try serving { _ in
        } _: { (client: RawClient, port: UInt16) throws -> Void in
            let names = ["localhost:\(port)", "127.0.0.1:\(port)", "[::1]:\(port)"]
            let tags = try names.map { name in
                let page = try client.get("/", host: name)
                #expect(page.text.contains("\"http://\(name)/a?b#c\""))
                return page["ETag"]
            }
            #expect(Set(tags).count == 3)
        }
    }

    @Test(arguments: [
        ("localhost", 200, 200), ("evil.test", 421, 421), ("192.168.7.7", 421, 200),
        ("example-test.localhost", 307, 421), ("larder.localhost", 200, 421),
    ])
    func `a server for other machines accepts any IP address as Host, and no foreign name`(
        host: String, atHome: Int, exposed: Int
    ) throws {
        try serving { _ in
        } _: { (client: RawClient, port: UInt16) throws -> Void in
            #expect(try client.get("/", host: "\(host):\(port)").status == atHome)
        }
        try serving {
            $0.address = ListenAddress("*") ?? .loopback
        } _: { (client: RawClient, port: UInt16) throws -> Void in
            #expect(try client.get("/", host: "\(host):\(port)").status == exposed)
        }
    }

    @Test func `an original URL in the path redirects to its copy`() throws {
        try serving { _ in
        } _: { (client: RawClient, port: UInt16) throws -> Void in
            let answer = try client.get("/https://cdn.test/only", host: "localhost:\(port)")
            #expect(answer.status == 302)
            #expect(answer["Location"] == "http://cdn-test.localhost:\(port)/only")
        }
    }

    /// The redirect contains a seal, by which a foreign page could request other origins.
    @Test(
        arguments: [
            ([:], 302), (["Sec-Fetch-Site": "none"], 302), (["Sec-Fetch-Site": "same-origin"], 302),
            (["Referer": "http://HERE/"], 302), (["Sec-Fetch-Site": "cross-site"], 403),
            (["Referer": "https://evil.test/"], 403), (["Origin": "https://evil.test"], 403),
            (["Origin": "https://evil.test", "Accept": "text/html"], 403),
            (["Accept": "image/avif,*/*"], 403),
        ] as [(HTTPFields, Int)])
    func `if origins share a name, a request from an unknown page is not redirected to a copy`(
        evidence: HTTPFields, status: Int
    ) throws {
        try exposed { client, here, folder in
            var fields = [("User-Agent", "Mozilla/5.0 X")]
            if evidence.isEmpty { fields = [("User-Agent", "curl/8")] }
            fields += evidence.list.map { ($0.name, $0.value.replacing("HERE", with: here)) }
            let answer = try client.get("/https://cdn.test/only", host: here, fields: fields)
            #expect(answer.status == status)
            #expect((answer["Location"] == "http://\(here)\(folder)https/cdn.test/only") == (status == 302))
            #expect(!answer.text.contains("/-/web/"))
        }
    }

    @Test(arguments: [[], [("Referer", "https://evil.test/")]])
    func `if origins share a name, a pasted URL gets a page with a link to the copy`(
        evidence: [(String, String)]
    ) throws {
        try exposed { client, here, folder in
            let fields = [("User-Agent", "Mozilla/5.0 X"), ("Accept", "text/html,*/*")] + evidence
            let answer = try client.get("/https://cdn.test/only", host: here, fields: fields)
            #expect(answer.status == 200)
            #expect(answer["Access-Control-Allow-Origin"] == nil)
            #expect(answer["Cache-Control"] == "no-store")
            #expect(answer.text.contains("<a href=\"http://\(here)\(folder)https/cdn.test/only\">"))
        }
    }

    /// To plain http a browser does not say whether a script or a window requests a document.
    @Test func `a script of the root that knows another page's seal gets no private response`() throws {
        try store.publish([
            .init(href: "https://cdn.test/mine", text: "<!doctype html>mine", flags: .isPrivate)
        ])
        try serving {
            $0.address = ListenAddress("*") ?? .loopback
            $0.showsPrivate = true
        } _: { (client: RawClient, port: UInt16) throws -> Void in
            let here = "192.168.7.7:\(port)"
            let page = try client.get("/", host: here)
            let start = try #require(page.text.firstRange(of: "http://\(here)/-/web/")).upperBound
            let folder = "/-/web/\(page.text[start...].prefix { $0 != "/" })/"
            let asDocument = [("Accept", "text/html"), ("Referer", "http://\(here)/")]
            let address = "\(folder)https/cdn.test/mine"
            let redirect = try client.get(address, host: here, fields: asDocument)
            #expect(redirect.status == 307)
            let learnt = try #require(redirect["Location"]?.split(separator: here).last.map(String.init))
            let browser = [("User-Agent", "Mozilla/5.0 X")]
            for fields in [
                [], browser, [("Referer", "http://\(here)/")], [("Origin", "http://\(here)")],
                [("Origin", "null")], [("Sec-Fetch-Site", "same-origin")], asDocument,
                browser + [("Accept", "text/html")],
            ] {
                let answer = try client.get(learnt, host: here, fields: fields)
                #expect(answer.status == 403 && !answer.text.contains("mine"), "\(fields)")
            }
            // For a browser, the root's page and what it embeds have one origin: scripts of the page can read it.
            for fields in [
                browser + [("Referer", "http://\(here)/")],
                [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Dest", "image")],
            ] {
                #expect(try client.get(address, host: here, fields: fields).status == 403, "\(fields)")
            }
            // A document of another origin has an opaque origin, and its browser sends `cross-site`.
            let own = try client.get(
                learnt, host: here,
                fields: browser + [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Dest", "image")])
            #expect(own.status == 200)
        }
    }

    @Test func `URLs in response headers are rewritten to the mirror`() throws {
        try serving {
            $0.root = nil
        } _: { (client: RawClient, port: UInt16) throws -> Void in
            let answer = try client.get("/headed", host: "example-test.localhost:\(port)")
            let cdn = "http://cdn-test.localhost:\(port)"
            #expect(answer["Link"] == "</a.css>; rel=preload, <\(cdn)/b.js>; rel=\"preload; x\"")
            #expect(answer["Refresh"] == "5; url=\(cdn)/next")
            // A relative URL needs no rewriting.
            #expect(answer["Content-Location"] == "/headed.en")
        }
    }

    @Test func `a page with scripts gets the shim as its first script, and any other page is unchanged`()
        throws
    {
        try store.publish([
            .init(
                href: "https://example.test/s",
                text: "<!DOCTYPE html><html lang=en><HEAD a=b><script>1</script>"),
            .init(
                href: "https://example.test/t",
                text: "<!-- <head> --><!doctype html>\n<title>T</title><script src=x>"),
            .init(href: "https://example.test/piece", text: "<div><script>1</script></div>"),
        ])
        try serving {
            $0.root = nil
        } _: { (client: RawClient, port: UInt16) throws -> Void in
            let host = "example-test.localhost:\(port)"
            let page = try client.get("/s", host: host)
            let start = "<!DOCTYPE html><html lang=en><HEAD a=b><script src=\""
            #expect(page.text.hasPrefix(start + "/-/larder/shim.js?"))
            #expect(
                try client.get("/t", host: host).text.hasPrefix(
                    "<!-- <head> --><!doctype html>\n<script src=\"/-/"))
            #expect(try client.get("/piece", host: host).text == "<div><script>1</script></div>")
            // HTML without doctype, `<html>` and `<head>` may be a fragment. It is a page only if the browser loads it as one.
            for (destination, hasShim) in [
                ("document", true), ("iframe", true), ("frame", true), ("object", true), ("embed", true),
                ("empty", false),
                ("script", false),
            ] {
                let piece = try client.get("/piece", host: host, fields: [("Sec-Fetch-Dest", destination)])
                #expect(piece.text.hasPrefix("<script src=\"/-/larder/shim.js?") == hasShim, "\(destination)")
                #expect(piece.text.hasSuffix("<div><script>1</script></div>"))
            }
            let shim = try client.get(
                String(page.text.dropFirst(start.count).prefix { $0 != "\"" }), host: host)
            #expect(shim.status == 200)
            #expect(shim["Content-Type"] == "text/javascript; charset=utf-8")
            #expect(shim["Cache-Control"]?.contains("immutable") == true)
        }
        try serving {
            $0.root = nil
            $0.hasShim = false
        } _: { (client: RawClient, port: UInt16) throws -> Void in
            let host = "example-test.localhost:\(port)"
            #expect(try !client.get("/s", host: host).text.contains("shim"))
            #expect(try client.get("/-/larder/shim.js", host: host).status == 404)
        }
    }

    @Test
    func `the portal has its own host name if a site is at the root, and is hidden from other machines`()
        throws
    {
        try serving { _ in
        } _: { (client: RawClient, port: UInt16) throws -> Void in
            let led = try client.get("/-/search?q=a", host: "localhost:\(port)")
            #expect(led.status == 302)
            #expect(led["Location"] == "http://larder.localhost:\(port)/-/search?q=a")
            let portal = try client.get("/", host: "larder.localhost:\(port)")
            #expect(portal.status == 200)
            #expect(portal.text.contains("http://localhost:\(port)/"))
        }
        try serving {
            $0.address = ListenAddress("*") ?? .loopback
        } _: { (client: RawClient, port: UInt16) throws -> Void in
            #expect(try client.get("/-/search?q=a", host: "localhost:\(port)").status == 404)
        }
    }

    @Test func `documents that share the root's name have an opaque origin, no workers and no referrer`()
        throws
    {
        try exposed { client, host, folder in
            let frame = try client.get("\(folder)https/cdn.test/x/y/frame", host: host)
            #expect(frame["Referrer-Policy"] == "no-referrer")
            #expect(
                frame.fields.contains {
                    $0.name == "Content-Security-Policy" && $0.value.hasPrefix("sandbox ")
                })
            #expect(!frame.fields.contains { $0.value.utf8.contains("allow-same-origin".utf8) })
            let page = try client.get("/", host: host)
            #expect(!page.fields.contains { $0.value.hasPrefix("sandbox") })
            for destination in ["worker", "sharedworker", "serviceworker"] {
                let fields = [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Dest", destination)]
                let worker = try client.get("\(folder)http/cdn.test/only", host: host, fields: fields)
                #expect(worker.status == 403)
            }
        }
    }

    private static let navigation = [
        ("Sec-Fetch-Site", "none"), ("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Mode", "navigate"),
    ]
    private static let ofOwnPage = [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Dest", "empty")]

    @Test func `a browser must clear the data of an earlier site at the root before it gets a page`() throws {
        for _ in 0..<2 {
            try serving { _ in
            } _: { (client: RawClient, port: UInt16) throws -> Void in
                let host = "localhost:\(port)"
                let part = [
                    ("Sec-Fetch-Site", "cross-site"), ("Referer", "http://cdn-test.localhost:\(port)/"),
                ]
                // Programs and pages of other origins are not affected by an earlier site.
                #expect(try client.get("/headed", host: host).status == 200)
                #expect(try client.get("/headed", host: host, fields: part).status == 200)
                #expect(try client.get("/headed", host: host, fields: Self.ofOwnPage).status == 403)
                let first = try client.get("/headed?a", host: host, fields: Self.navigation)
                #expect(first.status == 307 && first["Location"] == "/headed?a")
                #expect(first["Clear-Site-Data"] == "\"cache\", \"storage\"")
                let second = try client.get("/headed", host: host, fields: Self.navigation)
                #expect(second.status == 200 && second["Clear-Site-Data"] == nil)
                #expect(try client.get("/headed", host: host, fields: Self.ofOwnPage).status == 200)
                // Browsers store data separately for each host name.
                let other = try client.get("/", host: "127.0.0.1:\(port)", fields: Self.navigation)
                #expect(other["Clear-Site-Data"] != nil)
                #expect(store.folder.servedRoots["localhost:\(port)"] == "https://example.test")
            }
        }
    }

    @Test func `the store remembers which site each name and port had at the root`() throws {
        let example = try #require(WebURL("https://example.test/").flatMap(RootOrigin.init))
        let other = try #require(WebURL("https://other.test/").flatMap(RootOrigin.init))
        let first = RootHistory(example, in: store.folder)
        #expect(!first.isCurrent(at: "localhost:8080"))
        first.noteCleared(at: "localhost:8080")
        #expect(first.isCurrent(at: "localhost:8080") && !first.isCurrent(at: "localhost:8081"))
        #expect(RootHistory(example, in: store.folder).isCurrent(at: "localhost:8080"))
        let second = RootHistory(other, in: store.folder)
        #expect(!second.isCurrent(at: "localhost:8080"))
        second.noteCleared(at: "localhost:8080")
        #expect(!RootHistory(example, in: store.folder).isCurrent(at: "localhost:8080"))
    }

    @Test(arguments: [true, false])
    func `a service worker whose script is not stored in the site at the root is unregistered`(
        isExposed: Bool
    ) throws {
        try store.publish([
            .init(href: "https://example.test/own.js", text: "onfetch = null", type: "text/javascript")
        ])
        let fields =
            Self.ofOwnPage.dropLast() + [
                ("Sec-Fetch-Dest", "serviceworker"), ("Service-Worker", "script"),
            ]
        try serving {
            if isExposed { $0.address = ListenAddress("*") ?? .loopback }
        } _: { (client: RawClient, port: UInt16) throws -> Void in
            let host = "localhost:\(port)"
            _ = try client.get("/", host: host, fields: Self.navigation)
            let own = try client.get("/own.js", host: host, fields: Array(fields))
            #expect(own.status == 200 && own.text.contains("onfetch = null"))
            let earlier = try client.get("/sw.js", host: host, fields: Array(fields))
            #expect(earlier.status == 200 && earlier.text.contains("registration.unregister()"))
            #expect(earlier["Cache-Control"] == "no-store")
            #expect(try client.get("/sw.js", host: host).status == 504)
        }
    }

    @Test
    func `if origins share a name, a service worker script starts with the guard and cannot be a module`()
        throws
    {
        try store.publish([
            .init(href: "https://example.test/own.js", text: "onfetch = null", type: "text/javascript")
        ])
        try exposed { client, host, _ in
            // The script is cached in the form for pages.
            for _ in 0..<2 { #expect(try client.get("/own.js", host: host).text == "onfetch = null") }
            for fields in [
                [("Service-Worker", "script")],
                [("Service-Worker", "script"), ("Sec-Fetch-Site", "same-origin")],
                // The headers of an import by a module.
                [("Sec-Fetch-Dest", "serviceworker"), ("Sec-Fetch-Site", "same-origin")],
            ] {
                let script = try client.get("/own.js", host: host, fields: fields).text
                #expect(script.contains("stopImmediatePropagation") && script.hasSuffix("onfetch = null"))
                // `await` is not a valid name in a module, so that this makes a module fail. Its imports would run first.
                #expect(script.contains(", await = 0;"))
            }
            #expect(try client.get("/own.js", host: host).text == "onfetch = null")
        }
    }

    @Test
    func `a server that shows one site to other machines reveals no other site and no private page`()
        throws
    {
        try store.publish(
            [
                .init(href: "https://other.test/page", text: "<a href=https://example.test/d/missing>x</a>"),
                .init(href: "https://example.test/only-there", text: "of another site", type: "text/plain"),
                .init(href: "https://example.test/headed", text: "newer elsewhere", type: "text/plain"),
            ], site: "https://other.test/")
        try store.publish([
            .init(href: "https://example.test/d/secret", text: "s", flags: .isPrivate),
            .init(href: "https://example.test/headed", text: "own", type: "text/plain"),
        ])
        try store.publish(
            [.init(href: "https://example.test/headed", text: "newest elsewhere", type: "text/plain")],
            site: "https://other.test/")
        try exposed { client, host, _ in
            let miss = try client.get("/d/missing", host: host, fields: [("Accept", "text/html")])
            #expect(miss.status == 504 && miss.text.contains("https://example.test/d/missing"))
            #expect(!miss.text.contains("other.test") && !miss.text.contains("secret"))
            let elsewhere = try client.get("/only-there", host: host)
            #expect(elsewhere.status == 504 && !elsewhere.text.contains("of another site"))
            #expect(try client.get("/headed", host: host).text == "own")
        }
    }

    @Test func `a browser that hides the requesting page gets private responses only as documents`() throws {
        try store.publish([
            .init(href: "https://example.test/mine", text: "mine", type: "text/plain", flags: .isPrivate)
        ])
        try serving {
            $0.address = ListenAddress("*") ?? .loopback
            $0.showsPrivate = true
        } _: { (client: RawClient, port: UInt16) throws -> Void in
            let host = "192.168.7.7:\(port)"
            let browser = [("User-Agent", "Mozilla/5.0 X")]
            for _ in 0..<2 {
                for (fields, status) in [
                    (browser + [("Accept", "image/avif,*/*")], 403), (browser, 403),
                    (browser + [("Accept", "text/html,*/*")], 200),
                    (browser + [("Referer", "http://\(host)/")], 200),
                    (browser + [("Referer", "http://evil.test/")], 403),
                    (browser + [("Sec-Fetch-Site", "same-origin")], 200), ([("User-Agent", "curl/8")], 200),
                ] {
                    #expect(try client.get("/mine", host: host, fields: fields).status == status, "\(fields)")
                }
            }
            // Public responses are served.
            #expect(try client.get("/headed", host: host, fields: browser).status == 200)
        }
    }

    @Test func `a CORS preflight is allowed if the requesting page may read the response`() throws {
        try store.publish([
            .init(
                href: "https://example.test/api", text: "1",
                extra: "Access-Control-Allow-Origin: https://cdn.test\r\n")
        ])
        try serving {
            $0.root = nil
        } _: { (client: RawClient, port: UInt16) throws -> Void in
            func ask(_ origin: String) throws -> RawResponse {
                try client.get(
                    "/api", method: "OPTIONS", host: "example-test.localhost:\(port)",
                    fields: [
                        ("Origin", origin), ("Access-Control-Request-Method", "PUT"),
                        ("Access-Control-Request-Headers", "x-token, content-type"),
                    ])
            }
            let answer = try ask("http://cdn-test.localhost:\(port)")
            #expect(answer.status == 204)
            #expect(answer["Access-Control-Allow-Origin"] == "http://cdn-test.localhost:\(port)")
            #expect(answer["Access-Control-Allow-Methods"] == "PUT")
            #expect(answer["Access-Control-Allow-Headers"] == "x-token, content-type")
            #expect(try ask("http://evil.test")["Access-Control-Allow-Origin"] == nil)
            #expect(try ask("http://evil-test.localhost:\(port)")["Access-Control-Allow-Origin"] == nil)
        }
    }
}
