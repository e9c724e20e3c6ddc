import Glibc
import LarderKit
import TestOrigin
import Web

/// The sites that make attempts on each other: all `*.example` hosts on one port of loopback, distinguished by the `Host`
/// header. Here a host is named by the part before `.example`: `bank`, `www.bank`.
///
/// A document named `agent` runs scripts that it receives by `postMessage`, so that one attempt can act in several
/// documents. Responses below `/act/` are never cached, and requests for them are counted.
final class WebRange {
    static let hosts = [
        "bank", "www.bank", "static.bank", "evil", "cdn", "player", "app", "www.app", "static.app",
    ]

    private let web: TestOrigin
    /// A host that is not mirrored: a request that arrives here has left the mirror.
    private let outside: TestOrigin
    /// A server that is addressed by IP address, such as a service on this machine or its network.
    let near: TestOrigin
    private let datagrams: Datagrams
    private var connectionCount = 0

    init() throws {
        web = try TestOrigin()
        outside = try TestOrigin()
        near = try TestOrigin()
        datagrams = try Datagrams()
        let font = try Self.file("/Sources/larder/Demo/Site/fonts/stencil.woff2")
        let leak = "http://outside.example:\(outside.port)/leak"
        web.otherwise { RangeFiles(request: $0, font: font, leak: leak).answer() }
        outside.otherwise { _ in .page("<!DOCTYPE html><title>outside</title>").closing() }
        near.otherwise { _ in
            .page("<!DOCTYPE html><title>near</title>SECRET").adding("Access-Control-Allow-Origin", "*")
        }
    }

    var port: Int { web.port }

    static func origin(_ host: String, _ port: Int) -> String { "http://\(host).example:\(port)" }

    func url(_ place: String) -> String {
        let host = place.prefix { $0 != "/" }
        return Self.origin(String(host), web.port) + place.dropFirst(host.count)
    }

    /// The names and addresses of all hosts, for scripts.
    var addresses: [(name: String, address: String)] {
        Self.hosts.map { ($0, url($0)) } + [("outside", outsideOrigin)]
    }

    private var outsideOrigin: String { "http://outside.example:\(outside.port)" }

    /// Further values for scripts, beside the addresses of the hosts.
    var constants: [(name: String, address: String)] {
        [("stun", "stun:127.0.0.1:\(datagrams.port)"), ("bankHost", "bank.example:\(web.port)")]
    }

    /// The origins that a browser treats as secure, as they would be on the web.
    var secureOrigins: [String] { Self.hosts.map { url($0) } + [outsideOrigin] }

    // MARK: - Prefetch

    /// The values for `--resolve`.
    var resolutions: [String] {
        Self.hosts.map { "\($0).example:\(web.port):127.0.0.1" } + [
            "outside.example:\(outside.port):127.0.0.1"
        ]
    }

    /// Prefetches all hosts: each site by itself, with the user's cookies for the sites of the bank and the application.
    func prefetch(
        into larder: Larder, _ folder: TemporaryFolder, asOneSite isOne: Bool = false
    ) async throws {
        if isOne {
            var options = PrefetchOptions()
            options.network = try network(folder, hasCookies: true)
            _ = try await larder.prefetch(Self.hosts.map { url($0 + "/") }, options: options)
            return
        }
        for site in [
            ["cdn", "player"], ["evil"], ["bank", "www.bank", "static.bank"],
            ["app", "www.app", "static.app"],
        ] {
            var options = PrefetchOptions()
            options.network = try network(folder, hasCookies: site[0] == "bank" || site[0] == "app")
            _ = try await larder.prefetch(site.map { url($0 + "/") }, options: options)
        }
    }

    /// Returns the network options.
    ///
    /// - Parameter hasCookies: Whether they contain the user's cookie of the bank.
    func network(_ folder: TemporaryFolder, hasCookies: Bool) throws -> NetworkOptions {
        var network = NetworkOptions()
        network.resolve = resolutions
        if hasCookies {
            let lines = "# Netscape HTTP Cookie File\nbank.example\tFALSE\t/\tFALSE\t0\tjar\t1\n"
            network.cookies = [try folder.write(lines, to: "cookies.txt")]
        }
        return network
    }

    // MARK: - Record

    /// Discards all recorded requests, connections and datagrams.
    func forget() {
        for origin in [web, outside, near] { origin.forgetRequests() }
        connectionCount = outside.connectionCount
        datagrams.forget()
    }

    /// Returns the requests that arrived under `/act/` or on hosts that are not mirrored, and datagrams, one per line:
    /// `POST bank/transfer {none} O:evil R:evil/ cross-site no-cors empty`.
    ///
    /// The braces contain the names of the cookies. `Origin` follows `O:`, `Referer` follows `R:`, and the rest are the
    /// `Sec-Fetch-` headers. Preflight requests are left out, because browsers decide when to send them.
    func arrivals(withConnections: Bool) -> [String] {
        var lines = web.requests.filter { $0.path.hasPrefix("/act/") && $0.method != "OPTIONS" }.map(line)
        lines += outside.requests.filter { $0.path != "/favicon.ico" }.map {
            "\($0.method) outside\($0.path)"
        }
        lines += near.requests.map { "\($0.method) near\($0.path)" }
        if withConnections && outside.connectionCount > connectionCount {
            lines.append("a connection to outside")
        }
        if datagrams.haveCome { lines.append("a datagram") }
        return lines
    }

    /// Returns the arrivals when there are at least `count`, or at the limit.
    func arrivals(_ count: Int, within limit: Duration, withConnections: Bool) -> [String] {
        let deadline = ContinuousClock.now + limit
        while true {
            let lines = arrivals(withConnections: withConnections)
            if lines.count >= count || deadline <= .now { return lines.sorted() }
            _ = web.waitForRequests(web.requests.count + 1, within: .milliseconds(10))
        }
    }

    /// The line about a request in `arrivals`.
    private func line(_ request: OriginRequest) -> String {
        let host = (request["Host"] ?? "").prefix { $0 != ":" }.replacing(".example", with: "")
        let fetch = ["Site", "Mode", "Dest"].map { request["Sec-Fetch-\($0)"] ?? "-" }.joined(separator: " ")
        return
            "\(request.method) \(host)\(request.path.dropFirst(4)) {\(request.cookieNames.joined(separator: " "))} "
            + "O:\(place(request["Origin"])) R:\(place(request["Referer"])) \(fetch)"
    }

    /// The short form of an address: the name of the host and the path.
    private func place(_ address: String?) -> String {
        guard let address else { return "-" }
        let known = addresses.filter { address == $0.address || address.hasPrefix($0.address + "/") }
        return known.first.map { $0.name + address.dropFirst($0.address.count) } ?? address
    }

    private static func file(_ path: String) throws(TestError) -> [UInt8] {
        let root = #filePath.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 }
        guard let file = fopen(root + path, "r") else { throw TestError("opening \(path)") }
        defer { fclose(file) }
        return [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
            count = fread(buffer.baseAddress, 1, buffer.count, file)
        }
    }
}

extension OriginRequest {
    /// The distinct names of the cookies, sorted.
    fileprivate var cookieNames: [String] {
        let all = (self["Cookie"] ?? "").split(separator: ";").map { cookie in
            String(cookie.drop { $0 == " " }.prefix { $0 != "=" })
        }
        return Set(all).sorted()
    }
}

/// Responds to requests for the hosts of the range.
private struct RangeFiles {
    let request: OriginRequest
    let font: [UInt8]
    /// A URL outside the mirror.
    let leak: String

    private var port: Int { Int((request["Host"] ?? "").split(separator: ":").last ?? "") ?? 80 }
    private var host: String {
        String((request["Host"] ?? "").prefix { $0 != ":" }.replacing(".example", with: ""))
    }

    private func url(_ place: String) -> String {
        let host = place.prefix { $0 != "/" }
        return WebRange.origin(String(host), port) + place.dropFirst(host.count)
    }

    /// Returns the response to the request. Responses below `/act/` may not be stored.
    func answer() -> OriginAnswer? {
        let answer = onEveryHost() ?? onItsHost()
        return request.path.hasPrefix("/act/") ? answer?.adding("Cache-Control", "no-store") : answer
    }

    // MARK: - Stored pages

    private static let everywhere = ["/agent", "/act/login", "/act/seen.png"]
    private static let linked: [String: [String]] = [
        "bank": [
            "/act/account", "/act/account.json", "/act/card.png", "/style.css", "/module.js", "/doc.svg",
            "/doc.pdf",
            "/sw.js", "/framed", "/framed-deny", "/framed-self", "/framed-app", "/coop", "/corp.png",
            "/corp-site.png",
            "/act/events", "/frames", "/worker.js",
        ],
        "www.bank": ["/own-domain"], "static.bank": ["/own-domain"],
        "evil": [
            "/agent.svg", "/agent.xhtml", "/agent.xml", "/act/account.json", "/act/plant", "/to-bank",
            "/sw.js", "/sw-routes.js",
            "/folder/sw.js", "/folder/sw-wide.js", "/refresh",
        ],
        "cdn": [
            "/pic.png", "/style.css", "/lib.js", "/jsonp.js?callback=took", "/closed.woff2", "/closed.json",
            "/closed.js", "/corp.png",
        ],
        "player": ["/embed"],
        "app": ["/isolated", "/sw.js", "/literal", "/worker.js"],
    ]

    /// The start page of a host, with links to all documents that are to be stored.
    private func index() -> OriginAnswer {
        let links = (Self.everywhere + (Self.linked[host] ?? [])).map { "<a href=\"\($0)\">\($0)</a>" }
        // Requests across origins with CORS, as pages make them: with the page's origin.
        let shared = """
            <style>@font-face { font-family: A; src: url(\(url("cdn/any.woff2"))) }
            @font-face { font-family: B; src: url(\(url("cdn/reflected.woff2"))) }
            @font-face { font-family: C; src: url(\(url("static.app/own.woff2"))) }</style>
            <link rel=preload as=fetch crossorigin href="\(url("cdn/data.json"))">
            <link rel=preload as=fetch crossorigin=use-credentials href="\(url("cdn/act/api.json"))">
            <link rel=preload as=fetch crossorigin=use-credentials href="\(url("www.app/act/own.json"))">
            <script type=module src="\(url("cdn/module.js"))"></script>
            <img crossorigin src="\(url("cdn/open.png"))"><script crossorigin src="\(url("cdn/open.js"))"></script>
            """
        return .page(
            "<!DOCTYPE html><title>\(host)</title>\(links.joined(separator: "\n"))\(host == "app" ? shared : "")"
        )
    }

    // MARK: - Every host

    private static let script = """
        addEventListener("message", async (event) => {
          if (!event.data || !event.data.code) return
          globalThis.asker = event.origin
          let said
          try { said = String(await (0, eval)(event.data.code)) } catch (error) { said = "refused" }
          event.source.postMessage({ id: event.data.id, said }, "*")
        })
        """
    /// A service worker that answers all requests below `/-/` from its cache without a fetch event.
    private static let routes = """
        addEventListener("install", (event) => {
          const route = { condition: { urlPattern: { pathname: "/-/*" } }, source: "cache" }
          if (event.addRoutes) event.waitUntil(event.addRoutes(route))
          skipWaiting()
        })
        addEventListener("activate", (event) => event.waitUntil(clients.claim()))
        """

    private static let worker = """
        oninstall = () => skipWaiting()
        onactivate = (event) => event.waitUntil(clients.claim())
        onfetch = (event) => {
          if (!event.request.url.includes("account")) return
          const fields = { "Content-Type": "text/html" }
          event.respondWith(new Response("<script>parent.postMessage('taken', '*')</scr" + "ipt>", { headers: fields }))
        }
        onmessage = async (event) => (await clients.get(event.source.id)).navigate(event.data)
        """

    /// A document that runs scripts that it receives by `postMessage`.
    private func agent(_ extra: String = "") -> OriginAnswer {
        .page(
            "<!DOCTYPE html><title>\(host)</title><link rel=icon href=data:,><body><script>\(Self.script)</script>\(extra)"
        )
    }

    private func page(_ text: String) -> OriginAnswer {
        .page("<!DOCTYPE html><title>\(host)</title><link rel=icon href=data:,><body>\(text)")
    }

    private var picture: OriginAnswer { .file(ChromiumTests.pixel, type: "image/png") }
    private func code(_ text: String) -> OriginAnswer { .file(text, type: "text/javascript") }
    private func json(_ text: String) -> OriginAnswer { .file(text, type: "application/json") }
    private var fontFile: OriginAnswer { .file(font, type: "font/woff2") }

    private var word: String {
        let cookies = Set(request.cookieNames)
        return cookies.isDisjoint(with: ["jar", "lax", "none", "strict"]) ? "log in" : "SECRET"
    }

    private func onEveryHost() -> OriginAnswer? {
        switch request.path {
        case "/": return index()
        case "/agent": return agent()
        case "/sw.js", "/folder/sw.js": return code(Self.worker)
        case "/sw-routes.js": return code(Self.routes)
        case "/folder/sw-wide.js": return code(Self.worker).adding("Service-Worker-Allowed", "/")
        case "/act/seen.png": return picture
        case "/act/login":
            return page("welcome").adding("Set-Cookie", "lax=1; Path=/; SameSite=Lax")
                .adding("Set-Cookie", "strict=1; Path=/; SameSite=Strict").adding(
                    "Set-Cookie", "jar=1; Path=/; SameSite=Lax"
                )
                .adding("Set-Cookie", "none=1; Path=/; SameSite=None; Secure")
        case "/act/account": return page(word)
        case "/act/account.json":
            return granting(json("{\"word\": \"\(word)\"}")) { $0.hasSuffix("." + host + ".example:\(port)") }
        case "/act/transfer": return page("sent")
        default: return nil
        }
    }

    /// Allows the requesting origin by CORS with credentials, if the closure accepts it.
    private func granting(_ answer: OriginAnswer, _ isGranted: (String) -> Bool) -> OriginAnswer {
        let answer = answer.adding("Vary", "Origin")
        guard let origin = request["Origin"], isGranted(origin) else { return answer }
        return answer.adding("Access-Control-Allow-Origin", origin).adding(
            "Access-Control-Allow-Credentials", "true"
        )
        .adding("Access-Control-Allow-Methods", "GET, PUT").adding("Access-Control-Allow-Headers", "x-own")
    }

    // MARK: - Single hosts

    private func onItsHost() -> OriginAnswer? {
        let anybody = ("Access-Control-Allow-Origin", "*")
        switch host + request.path {
        case "bank/act/card.png", "cdn/pic.png": return picture
        case "bank/act/events": return .file("data: SECRET\n\n", type: "text/event-stream")
        case "bank/style.css": return .file("body { --word: SECRET }", type: "text/css")
        case "bank/module.js": return code("export const word = 'SECRET'")
        case "bank/doc.svg":
            return .file(
                "<svg xmlns='http://www.w3.org/2000/svg'><text id='word' y='9'>SECRET</text></svg>",
                type: "image/svg+xml")
        case "bank/doc.pdf": return .file("%PDF-1.4 SECRET", type: "application/pdf")
        case "bank/framed": return page("<script>parent.postMessage('shown', '*')</script>")
        case "bank/framed-deny":
            return page("<script>parent.postMessage('shown', '*')</script>").adding("X-Frame-Options", "DENY")
        case "bank/framed-self":
            return page("<script>parent.postMessage('shown', '*')</script>")
                .adding("Content-Security-Policy", "frame-ancestors 'self'")
        case "bank/framed-app":
            return page("<script>parent.postMessage('shown', '*')</script>")
                .adding("Content-Security-Policy", "frame-ancestors \(url("app"))")
        case "bank/frames": return page("<iframe srcdoc=a></iframe><iframe srcdoc=b></iframe>")
        case "bank/coop": return agent().adding("Cross-Origin-Opener-Policy", "same-origin")
        case "bank/corp.png": return picture.adding("Cross-Origin-Resource-Policy", "same-origin")
        case "bank/corp-site.png": return picture.adding("Cross-Origin-Resource-Policy", "same-site")
        case "www.bank/own-domain", "static.bank/own-domain":
            return agent().adding("Origin-Agent-Cluster", "?0")
        case "www.bank/act/share":
            return page("shared").adding("Set-Cookie", "shared=1; Path=/; Domain=bank.example; SameSite=Lax")

        case "evil/agent.svg":
            return .file(
                "<svg xmlns='http://www.w3.org/2000/svg'><script><![CDATA[\(Self.script)]]></script></svg>",
                type: "image/svg+xml")
        case "evil/agent.xhtml":
            return .file(
                """
                <html xmlns="http://www.w3.org/1999/xhtml"><head><title>evil</title></head>
                <body><script><![CDATA[\(Self.script)]]></script></body></html>
                """, type: "application/xhtml+xml")
        case "evil/agent.xml":
            return .file(
                "<evil xmlns:h='http://www.w3.org/1999/xhtml'><h:script><![CDATA[\(Self.script)]]></h:script></evil>",
                type: "application/xml")
        case "evil/act/plant":
            return ["bank.example", "example", "localhost"].reduce(page("planted")) {
                $0.adding("Set-Cookie", "planted=1; Path=/; SameSite=None; Secure; Domain=\($1)")
            }
        case "evil/to-bank": return .redirect(to: url("bank/act/account"))
        case "evil/refresh": return page("wait").adding("Refresh", "0; url=\(leak)")

        case "cdn/any.woff2", "static.app/own.woff2":
            return host == "cdn"
                ? fontFile.adding(anybody.0, anybody.1) : fontFile.adding(anybody.0, url("app"))
        case "cdn/reflected.woff2": return granting(fontFile) { _ in true }
        case "cdn/closed.woff2": return fontFile
        case "cdn/module.js": return code("export const word = 'SECRET'").adding(anybody.0, anybody.1)
        case "cdn/open.js": return code("self.took = 'ran'").adding(anybody.0, anybody.1)
        case "cdn/closed.js": return code("export const word = 'SECRET'")
        case "cdn/data.json": return json("[\"SECRET\"]").adding(anybody.0, anybody.1)
        case "cdn/closed.json": return json("[\"SECRET\"]")
        case "cdn/act/api.json":
            return granting(json("[\"SECRET\"]")) { $0 == url("app") || $0 == "https://app.example" }
        case "cdn/jsonp.js": return code("took({ word: 'SECRET' })")
        case "cdn/lib.js": return code("self.lib = 'ran'")
        case "cdn/style.css": return .file("body { color: rgb(1, 2, 3) }", type: "text/css")
        case "cdn/open.png": return picture.adding(anybody.0, anybody.1)
        case "cdn/corp.png": return picture.adding("Cross-Origin-Resource-Policy", "cross-origin")

        case "player/embed":
            return agent(
                """
                <script>addEventListener("message", (event) => {
                  if (event.origin === "\(url("app"))" && event.data === "play") parent.postMessage("plays", "\(url("app"))")
                })</script>
                """)
        case "app/literal":
            return agent(
                """
                <script>self.play = () => new Promise((done) => {
                  const frame = document.createElement("iframe")
                  frame.onload = () => frame.contentWindow.postMessage("play", "\(url("player"))")
                  addEventListener("message", (event) => {
                    if (event.origin === "\(url("player"))") done(event.data)
                  })
                  setTimeout(done, 1000, "nothing")
                  frame.src = "\(url("player/embed"))"
                  document.body.append(frame)
                })</script>
                """)
        case "app/worker.js": return code("postMessage('worked')")
        case "bank/worker.js":
            return code(
                "self.onconnect = (event) => event.ports[0].postMessage('worked'); self.postMessage?.('worked')"
            )
        case "app/isolated":
            return agent().adding("Cross-Origin-Opener-Policy", "same-origin")
                .adding("Cross-Origin-Embedder-Policy", "require-corp")
        case "www.app/act/own.json":
            return granting(json("[\"SECRET\"]")) { $0 == url("app") }
        default: return nil
        }
    }
}

/// A socket that receives datagrams.
private final class Datagrams {
    let port: Int
    private let descriptor: Int32
    private var isUsed = false

    init() throws(TestError) {
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw TestError("opening a socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        guard isBound else { throw TestError("binding a socket for datagrams") }
    }

    deinit { close(descriptor) }

    func forget() {
        _ = haveCome
        isUsed = false
    }

    /// Whether a datagram has arrived since `forget`.
    var haveCome: Bool {
        var byte: UInt8 = 0
        while recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT)) >= 0 { isUsed = true }
        return isUsed
    }
}
