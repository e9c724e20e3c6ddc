import TestOrigin
import Testing
import Web

@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct ChromiumTests {
    /// A PNG with one red pixel.
    static let pixel: [UInt8] = [
        0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00,
        0x00,
        0x00, 0x01,
        0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53, 0xde, 0x00, 0x00, 0x00, 0x0c,
        0x49,
        0x44, 0x41,
        0x54, 0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0x00, 0x00, 0x03, 0x01, 0x01, 0x00, 0xc9, 0xfe, 0x92, 0xef,
        0x00,
        0x00, 0x00,
        0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
    ]

    /// A page with a style sheet, an image and a module.
    static func site() throws -> TestOrigin {
        let origin = try TestOrigin()
        origin.on(
            "/",
            .page(
                """
                <!DOCTYPE html><title>Site</title><link rel=stylesheet href=/style.css>
                <h1>Hello</h1><img src=pixel.png width=50 height=50><script type=module src=main.js></script>
                """))
        origin.on("/style.css", .file("h1 { color: rgb(1, 2, 3) }", type: "text/css"))
        origin.on("/pixel.png", .file(pixel, type: "image/png"))
        origin.on(
            "/main.js",
            .file("import { word } from './part.js'; document.body.append(word)", type: "text/javascript"))
        origin.on("/part.js", .file("export const word = 'from a module'", type: "text/javascript"))
        return origin
    }

    @Test func `a page is loaded with its style sheet, image and module`() throws {
        let origin = try Self.site()
        let browser = try Chromium()
        let visit = try browser.open(origin.url("/"))
        #expect(visit.failures.isEmpty)
        #expect(visit.escapes.isEmpty)
        #expect(visit.scriptErrors.isEmpty)
        #expect(
            Set(visit.requests.filter { !$0.isIconGuess }.map(\.url))
                == Set(["/", "/style.css", "/pixel.png", "/main.js", "/part.js"].map(origin.url)))
        #expect(visit.requests(ofType: "Image").map(\.outcome) == [.status(200)])
        #expect(try visit.text().contains("from a module"))
        #expect(try visit.evaluate("document.title")?.string == "Site")
        #expect(
            try visit.evaluate("getComputedStyle(document.querySelector('h1')).color")?.string
                == "rgb(1, 2, 3)")
        #expect(try visit.evaluate("document.images[0].naturalWidth")?.int == 1)
    }

    @Test func `screenshots of the same page are equal, and those of different pages differ`() throws {
        let origin = try Self.site()
        origin.on("/other", .page("<!DOCTYPE html><h1>Other</h1>"))
        let browser = try Chromium(viewport: .init(width: 640, height: 480))
        let first = try browser.open(origin.url("/")).screenshot()
        let second = try browser.open(origin.url("/")).screenshot()
        let other = try browser.open(origin.url("/other")).screenshot()
        #expect(first.starts(with: [0x89, 0x50, 0x4e, 0x47]))
        // The header of a PNG contains width and height.
        #expect(Array(first[16..<24]) == [0, 0, 2, 128, 0, 0, 1, 224])
        #expect(first == second)
        #expect(first != other)
    }

    @Test func `missing, truncated, refused and unresolvable requests are recorded as failures`() throws {
        let origin = try TestOrigin()
        let gone = try TestOrigin()
        gone.stop()
        origin.on("/moved", .redirect(to: "/missing"))
        origin.on("/cut", .file(Self.pixel, type: "image/png").truncated(after: 20))
        origin.on(
            "/",
            .page(
                """
                <!DOCTYPE html><img src=/moved><img src=/cut><img src=\(gone.url("/a"))><img src=http://example.com/b>
                <script>console.error("told", 1); throw new Error("thrown")</script>
                """))
        let browser = try Chromium()
        let visit = try browser.open(origin.url("/"))
        func outcomes(_ url: String) -> [ChromiumRequest.Outcome] {
            visit.requests.filter { $0.url == url }.map(\.outcome)
        }
        #expect(outcomes(origin.url("/")) == [.status(200)])
        #expect(outcomes(origin.url("/moved")) == [.status(302)])
        #expect(outcomes(origin.url("/missing")) == [.status(404)])
        #expect(outcomes(origin.url("/cut")) == [.failed("net::ERR_CONTENT_LENGTH_MISMATCH")])
        #expect(outcomes(gone.url("/a")) == [.failed("net::ERR_CONNECTION_REFUSED")])
        #expect(outcomes("http://example.com/b") == [.failed("net::ERR_NAME_NOT_RESOLVED")])
        #expect(visit.failures.count == 4)
        #expect(visit.escapes.map(\.host) == ["example.com"])
        #expect(visit.scriptErrors.contains { $0.hasPrefix("told") })
        #expect(visit.scriptErrors.contains { $0.contains("thrown") })
    }

    @Test func `requests of cross-origin frames and workers are recorded for names below localhost`() throws {
        let origin = try TestOrigin()
        let base = "http://a.localhost:\(origin.port)"
        let other = "http://b.localhost:\(origin.port)"
        origin.on(
            "/",
            .page(
                "<!DOCTYPE html><iframe src=\(other)/frame></iframe><script>new Worker('/worker.js')</script>"
            ))
        origin.on("/frame", .page("<!DOCTYPE html><img src=/pixel.png>"))
        origin.on("/pixel.png", .file(Self.pixel, type: "image/png"))
        origin.on("/worker.js", .file("fetch('/data.json')", type: "text/javascript"))
        origin.on("/data.json", .file("{}", type: "application/json"))
        let browser = try Chromium()
        let visit = try browser.open(base + "/")
        let expected = [
            base + "/", other + "/frame", other + "/pixel.png", base + "/worker.js", base + "/data.json",
        ]
        #expect(Set(visit.requests.map(\.url)).isSuperset(of: expected))
        #expect(visit.failures.isEmpty)
        #expect(visit.escapes.isEmpty)
    }

    @Test func `requests after a click are recorded for the same page`() throws {
        let origin = try TestOrigin()
        origin.on("/", .page("<!DOCTYPE html><a href=next>next</a>"))
        origin.on("/next", .page("<!DOCTYPE html>here"))
        let browser = try Chromium()
        let visit = try browser.open(origin.url("/"))
        _ = try visit.evaluate("document.querySelector('a').click()")
        try visit.settle()
        #expect(try visit.address() == origin.url("/next"))
        #expect(try visit.text() == "here")
        #expect(visit.requests(ofType: "Document").map(\.url) == ["/", "/next"].map(origin.url))
    }

    @Test func `a request without a response is pending when the time limit is over`() throws {
        let origin = try TestOrigin()
        origin.on("/", .page("<!DOCTYPE html><img src=/held>"))
        origin.hold("/held")
        let browser = try Chromium()
        // The page always has a pending request.
        let visit = try browser.open(origin.url("/"), within: .zero)
        #expect(origin.waitForRequests(1, to: "/held"))
        // Chromium reports the request before it replies to this command.
        _ = try visit.evaluate("0")
        #expect(visit.requests(ofType: "Image").map(\.outcome) == [.pending])
    }
}
