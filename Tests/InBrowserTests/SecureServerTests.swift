import LarderKit
import TestOrigin
import Testing
import Web

/// Tests a server with TLS, as browsers on other machines use it.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct SecureServerTests {
    private let origin: TestOrigin
    private let larder: Larder
    private let scratch: TemporaryFolder

    init() async throws {
        origin = try TestOrigin()
        origin.on(
            "/",
            .page(
                "<!DOCTYPE html><title>Jam</title><link rel=stylesheet href=/a.css><a href=\"\(origin.url("/plum"))\">plum</a>"
            ))
        origin.on("/a.css", .file("body { color: rgb(1, 2, 3) }", type: "text/css"))
        origin.on("/plum", .page("<!DOCTYPE html><title>Plum</title>plum"))
        origin.otherwise { _ in .failure(404) }
        scratch = try TemporaryFolder()
        larder = Larder(at: scratch.file("larder"))
        var options = PrefetchOptions()
        options.browser = ""
        _ = try await larder.prefetch([origin.url("/")], options: options)
    }

    /// Starts a server with TLS and Larder's own certificate.
    private func serve(_ address: String?, root: String? = nil) throws -> MirrorService {
        var options = ServeOptions()
        (options.security, options.address, options.root) = (.own, address, root)
        return try larder.serve(port: 0, options: options)
    }

    @Test func `with a site at the root, links have the scheme https and the host that the client used`()
        throws
    {
        let service = try serve("*", root: origin.url("/"))
        defer { service.stop() }
        let browser = try Chromium(trusting: try larder.authority().keyDigest)
        for host in ["localhost", "127.0.0.1"] {
            let visit = try browser.open("https://\(host):\(service.port)/")
            #expect(visit.failures.isEmpty, "\(visit.failures)")
            let shown = try visit.text()
            #expect(
                try visit.evaluate("getComputedStyle(document.body).color")?.string == "rgb(1, 2, 3)",
                "\(host): \(shown)")
            #expect(
                try visit.evaluate("document.links[0].href")?.string
                    == "https://\(host):\(service.port)/plum")
            _ = try visit.evaluate("document.links[0].click()")
            try visit.settle()
            #expect(try visit.text().contains("plum"))
            #expect(try visit.evaluate("isSecureContext")?.bool == true)
        }
    }

    @Test func `the portal accepts its password over https, and plain http only redirects`() throws {
        try larder.setPortalPassword("correct horse")
        let service = try serve("*")
        defer { service.stop() }
        let browser = try Chromium(trusting: try larder.authority().keyDigest)
        let visit = try browser.open("https://127.0.0.1:\(service.port)/")
        #expect(try visit.text().contains("Password"))
        _ = try visit.evaluate(
            """
            document.querySelector("[type=password]").value = "correct horse"
            document.querySelector("form button").click()
            """)
        try visit.settle()
        #expect(try visit.text().contains("Jam"))
        #expect(try visit.address() == "https://127.0.0.1:\(service.port)/")
        // Over plain http, the server only sends a redirect.
        let plain = try RawClient(port: Int(service.port)).get("/", host: "localhost:\(service.port)")
        #expect(plain.status == 307 && plain.body.isEmpty)
        #expect(plain["Location"] == "https://localhost:\(service.port)/")
    }

    @Test func `a server on loopback gives each origin its own https host name`() throws {
        let service = try serve(nil)
        defer { service.stop() }
        let copy = try #require(service.address(of: origin.url("/")))
        #expect(copy == "https://port-\(origin.port).127-0-0-1.localhost:\(service.port)/")
        let browser = try Chromium(trusting: try larder.authority().keyDigest)
        let visit = try browser.open(copy)
        #expect(visit.failures.isEmpty, "\(visit.failures)")
        #expect(try visit.evaluate("getComputedStyle(document.body).color")?.string == "rgb(1, 2, 3)")
        #expect(
            try visit.evaluate("document.links[0].href")?.string
                == "https://port-\(origin.port).127-0-0-1.localhost:\(service.port)/plum")
    }

    @Test func `a GET over plain http is redirected to https, and other requests get a 400`() throws {
        let service = try serve(nil)
        defer { service.stop() }
        let port = Int(service.port)
        let answer = try RawClient(port: port).get("/plum?a=b", host: "x.localhost:\(port)")
        #expect(answer.status == 307 && answer["Location"] == "https://x.localhost:\(port)/plum?a=b")
        for text in ["POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "HELO a.test\r\n\r\n"] {
            let client = try RawClient(port: port)
            try client.send(text)
            let answer = try client.response()
            #expect(answer.status == 400 && answer.text.contains("use https instead of http"))
        }
        let visit = try Chromium(trusting: try larder.authority().keyDigest).open("http://localhost:\(port)/")
        #expect(try visit.address() == "https://larder.localhost:\(port)/")
    }

    @Test func `a server uses the given certificate, and names a file that contains none`() async throws {
        let own = try larder.authority().file
        let other = Larder(at: scratch.file("other"))
        let strange = try other.authority().file
        let text = try scratch.write("no certificate\n", to: "text.pem")
        for (certificate, key, words) in [
            (scratch.file("none.pem"), own, "none.pem"), (text, text, "text.pem"), (own, text, "text.pem"),
            (own, strange, "its key does not belong"),
        ] {
            var options = ServeOptions()
            options.security = .files(certificate: certificate, key: key)
            let error = #expect(throws: LarderError.self) { _ = try larder.serve(port: 0, options: options) }
            #expect(error?.kind == .input)
            #expect(
                words == "its key does not belong" || error?.description.contains(words) == true,
                "\(String(describing: error))")
        }
        var options = ServeOptions()
        options.security = .files(certificate: own, key: own)
        let service = try larder.serve(port: 0, options: options)
        defer { service.stop() }
        // A browser would reject this certificate for a server, because it is that of an authority.
        let target = try #require(service.address(of: origin.url("/plum")))
        var loading = LoadOptions()
        loading.network.isInsecure = true
        let report = try await other.load(target, policy: .reload, options: loading)
        #expect(String(decoding: report.body, as: UTF8.self).contains("plum"))
    }
}
