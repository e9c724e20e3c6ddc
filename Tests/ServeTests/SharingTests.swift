import Store
import TestOrigin
import Testing
import Web

@testable import HTTPServer
@testable import Mirror
@testable import Origins

/// The access of pages of other origins to the mirrored response of `https://b.test/x`.
@Suite struct SharingTests {
    private static let url = WebURL("https://b.test/x") ?? .blank

    private enum Page: String {
        case own = "http://b-test.localhost:8080"
        case neighbour = "http://www.b-test.localhost:8080"
        case other = "http://a-test.localhost:8080"
        case outside = "https://evil.test"

        var site: String {
            switch self {
            case .own: "same-origin"
            case .neighbour: "same-site"
            case .other, .outside: "cross-site"
            }
        }
    }

    /// The CORS header lines that a page gets with the response; nil if the response is refused, or "withheld".
    private func corsLines(
        _ sharing: Sharing, to page: String, site: String, destination: String = "empty",
        mode: String = "cors",
        layout: OriginLayout = OriginLayout(port: 8080), authority: String = "b-test.localhost:8080",
        referrer: String? = nil, byUser: Bool = false
    ) -> String? {
        var fields: HTTPFields = [
            "Origin": page, "Sec-Fetch-Site": site, "Sec-Fetch-Dest": destination, "Sec-Fetch-Mode": mode,
            "Referer": referrer ?? page + "/",
        ]
        if byUser { fields.set("Sec-Fetch-User", "?1") }
        if mode == "no-cors" || destination == "document" { fields.remove("Origin") }
        let context = RequestContext(fields, authority: authority, layout: layout)
        switch sharing.verdict(for: context, origin: fields["Origin"], in: layout) {
        case .given(let lines):
            return String(decoding: lines, as: UTF8.self).replacing("Access-Control-Allow-", with: "")
                .replacing("\r\n", with: " ")
        case .refused: return nil
        case .withheld: return "withheld"
        }
    }

    /// The sharing of a stored response with these header fields and flags.
    private func storedSharing(_ fields: HTTPFields, _ flags: ResponseFlags = [], role: UInt8 = 1) -> Sharing
    {
        Sharing(Self.url, fields, flags, isPage: role == 0)
    }

    private static let star: HTTPFields = ["Access-Control-Allow-Origin": "*"]
    private static let named: HTTPFields = [
        "Access-Control-Allow-Origin": "https://a.test", "Access-Control-Allow-Credentials": "true",
        "Vary": "Origin",
    ]
    private static let echoed: HTTPFields = [
        "Access-Control-Allow-Origin": "https://c.test", "Vary": "Accept, origin",
    ]
    private static let twice = HTTPFields([
        .init(name: "Access-Control-Allow-Origin", value: "*"),
        .init(name: "Access-Control-Allow-Origin", value: "*"),
    ])
    private static let a = "Origin: http://a-test.localhost:8080 Credentials: true "

    @Test(
        arguments: [
            // The origin has sent CORS headers.
            (star, [.hadOriginHeader], 1, "Origin: * "), (star, [], 0, "Origin: * "),
            (named, [.hadOriginHeader], 1, a), (named, [], 0, a),
            ([:], [.hadOriginHeader], 1, ""), (twice, [], 1, ""),
            // The origin has sent none, or for another page.
            ([:], [], 1, ""), ([:], [], 0, ""), (echoed, [.hadOriginHeader], 1, "Origin: * "),
            // Responses of this machine or the private network, which public pages could not have requested.
            ([:], [.fromThisMachine], 1, ""), ([:], [.fromPrivateNetwork], 1, ""),
            (echoed, [.fromThisMachine], 1, ""),
        ] as [(HTTPFields, ResponseFlags, UInt8, String)])
    func `another site's page reads a response if CORS allows it`(
        fields: HTTPFields, flags: ResponseFlags, role: UInt8, told: String
    ) throws {
        #expect(
            corsLines(storedSharing(fields, flags, role: role), to: Page.other.rawValue, site: "cross-site")
                == told)
    }

    @Test(
        arguments: [
            ("font/woff2", [], "Origin: * "), ("application/font-woff", [], "Origin: * "),
            ("text/javascript", [], "Origin: * "), ("text/css", [], "Origin: * "),
            ("text/html", [], ""), ("application/json", [], ""), ("text/plain", [], ""),
            ("application/xml", [], ""), ("image/png", [], ""), ("image/svg+xml", [], ""),
            ("font/woff2", .hadOriginHeader, ""), ("font/woff2", .fromPrivateNetwork, ""),
            ("font/woff2", .isPrivate, nil),
        ] as [(String, ResponseFlags, String?)])
    func
        `without a recorded CORS decision, other sites' pages read only fonts, scripts and style sheets`(
            type: String, flags: ResponseFlags, told: String?
        ) throws
    {
        let fields = HTTPFields([.init(name: "Content-Type", value: type)])
        #expect(corsLines(storedSharing(fields, flags), to: Page.other.rawValue, site: "cross-site") == told)
        // On a server for other machines, a foreign page reads none of them.
        let layout = OriginLayout(
            port: 8080, root: WebURL("https://b.test/").flatMap(RootOrigin.init), isExposed: true)
        let foreign = corsLines(
            storedSharing(fields, flags), to: Page.outside.rawValue, site: "cross-site", layout: layout,
            authority: "192.0.2.1:8080")
        #expect(foreign != "Origin: * ")
    }

    @Test func `a CORS permission for one site does not apply to another`() throws {
        let sharing = storedSharing([
            "Access-Control-Allow-Origin": "https://c.test", "Access-Control-Allow-Credentials": "true",
            "Vary": "Origin",
        ])
        #expect(corsLines(sharing, to: Page.other.rawValue, site: "cross-site") == "")
        #expect(
            corsLines(
                storedSharing(Self.named), to: "null", site: "cross-site", referrer: Page.other.rawValue)
                == "")
        #expect(
            corsLines(storedSharing(Self.star), to: "null", site: "cross-site", referrer: Page.other.rawValue)
                == "Origin: * ")
    }

    @Test func `a private response is served only to pages of its own site`() throws {
        let sharing = storedSharing(Self.star, .isPrivate)
        #expect(corsLines(sharing, to: Page.own.rawValue, site: "same-origin") == "")
        #expect(
            corsLines(
                sharing, to: Page.neighbour.rawValue, site: "same-site", destination: "image", mode: "no-cors"
            ) == "")
        for (destination, mode) in [
            ("empty", "cors"), ("image", "no-cors"), ("script", "no-cors"), ("embed", "navigate"),
        ] {
            #expect(
                corsLines(
                    sharing, to: Page.other.rawValue, site: "cross-site", destination: destination, mode: mode
                ) == nil
            )
        }
        #expect(
            corsLines(
                sharing, to: Page.other.rawValue, site: "cross-site", destination: "document",
                mode: "navigate") == ""
        )
    }

    @Test(
        arguments: ["empty", "image", "script", "style", "iframe", "font"], [ResponseFlags.isPrivate, []])
    func `a foreign page gets the same refusal for stored and missing URLs of a site at the root`(
        destination: String, flags: ResponseFlags
    ) throws {
        let layout = OriginLayout(port: 8080, root: WebURL("https://b.test/").flatMap(RootOrigin.init))
        for sharing in [storedSharing(Self.star, flags), Sharing(missing: Self.url)] {
            let lines = corsLines(
                sharing, to: "http://localhost:3000", site: "same-site", destination: destination,
                mode: destination == "empty" ? "cors" : "no-cors", layout: layout,
                authority: "localhost:8080")
            #expect(lines == nil)
        }
    }

    @Test(arguments: [(true, false, "withheld"), (true, true, "Origin: * "), (false, false, "Origin: * ")])
    func `other machines get private responses only if the user allows it`(
        isExposed: Bool, showsPrivate: Bool, told: String
    ) {
        let layout = OriginLayout(
            port: 8080, root: WebURL("https://b.test/").flatMap(RootOrigin.init), isExposed: isExposed,
            showsPrivate: showsPrivate)
        let open = storedSharing(Self.star)
        let secret = storedSharing(Self.star, .isPrivate)
        let here = "http://localhost:8080"
        #expect(
            corsLines(open, to: here, site: "same-origin", layout: layout, authority: "localhost:8080")
                == "Origin: * ")
        let lines = corsLines(
            secret, to: here, site: "same-origin", layout: layout, authority: "localhost:8080")
        #expect(lines == (told == "withheld" ? told : ""))
    }

    @Test(arguments: ["empty", "image", "script", "iframe", "font", "audio", "object"])
    func `a foreign page gets no response, but the user may follow its links`(destination: String)
        throws
    {
        for sharing in [storedSharing(Self.star), Sharing(missing: Self.url), .portal] {
            #expect(
                corsLines(sharing, to: Page.outside.rawValue, site: "cross-site", destination: destination)
                    == nil
            )
            // A script can open a window and count its frames, which reveals something about the response.
            #expect(
                corsLines(sharing, to: Page.outside.rawValue, site: "cross-site", destination: "document")
                    == nil)
            #expect(
                corsLines(
                    sharing, to: Page.outside.rawValue, site: "cross-site", destination: "document",
                    byUser: true) == "Cross-Origin-Opener-Policy: same-origin ")
        }
        #expect(
            corsLines(.common, to: Page.outside.rawValue, site: "cross-site", destination: destination)
                == "Origin: * ")
    }

    @Test func `mirrored pages cannot read the portal`() {
        #expect(corsLines(.portal, to: Page.other.rawValue, site: "cross-site") == nil)
        #expect(
            corsLines(
                .portal, to: Page.other.rawValue, site: "cross-site", destination: "iframe", mode: "navigate")
                == nil)
        #expect(
            corsLines(
                .portal, to: "http://larder.localhost:8080", site: "same-origin",
                authority: "larder.localhost:8080") == "")
        #expect(
            corsLines(
                .portal, to: "http://localhost:8080", site: "same-site", authority: "larder.localhost:8080")
                == nil)
    }

    @Test(
        arguments: [
            // Pages of the root request a response of b.test. For the browser, it has the same origin as they.
            ([:], "empty", "cors", nil), ([:], "empty", "no-cors", nil),
            (star, "empty", "cors", "Origin: * "),
            ([:], "image", "no-cors", ""), ([:], "script", "no-cors", ""), ([:], "image", "cors", nil),
            ([:], "iframe", "navigate", ""), (star, "worker", "same-origin", nil),
            (star, "sharedworker", "same-origin", nil), (star, "serviceworker", "same-origin", nil),
        ] as [(HTTPFields, String, String, String?)])
    func `if all origins share one name, the server enforces the same-origin policy`(
        fields: HTTPFields, destination: String, mode: String, told: String?
    ) throws {
        let layout = OriginLayout(
            port: 8080, root: WebURL("https://a.test/").flatMap(RootOrigin.init), isExposed: true)
        let here = "http://192.0.2.1:8080"
        let folder = layout.forClient("192.0.2.1:8080").folder
        let lines = corsLines(
            storedSharing(fields, .hadOriginHeader), to: here, site: "same-origin", destination: destination,
            mode: mode,
            layout: layout.forClient("192.0.2.1:8080", target: folder + "https/b.test/x"),
            authority: "192.0.2.1:8080")
        #expect(lines == told)
    }

    /// For a browser, the root's page and what it embeds have one origin: scripts of the page can read it.
    @Test(
        arguments: [
            ([:], false), (["Access-Control-Allow-Origin": "*"], true),
            (
                [
                    "Access-Control-Allow-Origin": "https://a.test",
                    "Access-Control-Allow-Credentials": "true",
                ], true
            ),
        ] as [(HTTPFields, Bool)])
    func `if all origins share one name, the root's page embeds only private responses that it may read`(
        fields: HTTPFields, isGiven: Bool
    ) throws {
        let root = try #require(WebURL("https://a.test/").flatMap(RootOrigin.init))
        let layout = OriginLayout(port: 8080, root: root, isExposed: true, showsPrivate: true)
        let url = try #require(WebURL("https://b.test/picture"))
        let folder = layout.forClient("192.0.2.1:8080").folder
        let requestLayout = layout.forClient("192.0.2.1:8080", target: folder + "https/b.test/picture")
        let context = RequestContext(
            ["Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "image", "Sec-Fetch-Mode": "no-cors"],
            authority: "192.0.2.1:8080", layout: requestLayout)
        func gives(_ sharing: Sharing) -> Bool {
            if case .given = sharing.verdict(for: context, origin: nil, in: requestLayout) {
                true
            } else {
                false
            }
        }
        let personal = Sharing(loaded: fields, url, withCredentials: false, isPersonal: true)
        #expect(gives(personal) == isGiven)
        #expect(gives(Sharing(loaded: fields, url, withCredentials: false)))
    }

    @Test
    func
        `a sandboxed page beside the root reads responses of its own origin, and others only by CORS`()
        throws
    {
        let root = try #require(WebURL("https://a.test/").flatMap(RootOrigin.init))
        let layout = OriginLayout(port: 8080, root: root, isExposed: true).forClient("localhost:8080")
        func corsLines(_ sharing: Sharing, to page: String) throws -> String? {
            // The headers do not show which page it is, but the seal does.
            let url = try #require(WebURL("https://\(page)/"))
            let seal = try #require(layout.addressWithOwnSeal(of: url).flatMap { WebURL($0) })
            let requestLayout = layout.forClient("localhost:8080", target: seal.target)
            var fields: HTTPFields = ["Origin": "null", "Sec-Fetch-Site": "cross-site"]
            fields.set("Sec-Fetch-Dest", "empty")
            let context = RequestContext(fields, authority: "localhost:8080", layout: requestLayout)
            guard case .given(let lines) = sharing.verdict(for: context, origin: "null", in: requestLayout)
            else {
                return nil
            }
            return String(decoding: lines, as: UTF8.self)
        }
        let own = storedSharing([:], .hadOriginHeader)
        let lines = "Access-Control-Allow-Origin: null\r\nAccess-Control-Allow-Credentials: true\r\n"
        #expect(try corsLines(own, to: "b.test") == lines)
        #expect(try corsLines(own, to: "c.test") == nil)
        #expect(try corsLines(Sharing(missing: try #require(WebURL("https://a.test/y"))), to: "b.test") == "")
        // The seal is invented, or of another server.
        #expect(
            OriginLayout(port: 8080, root: root, isExposed: true)
                .forClient("x", target: "/-/web/0.https.b.test/https/b.test/").sealedPage == .unknown)
    }
}
