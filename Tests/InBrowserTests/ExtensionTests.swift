import LarderKit
import TestOrigin
import Testing
import Web

/// Tests the browser extension in a browser as users have it.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct ExtensionTests {
    private let origin: TestOrigin
    private let larder: Larder
    private let scratch: TemporaryFolder

    private static let folder =
        #filePath.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 }
        + "/extension"

    init() throws {
        origin = try TestOrigin()
        origin.on("/login") { _ in
            OriginAnswer(
                status: 303, fields: [("Set-Cookie", "session=sesame"), ("Location", "/account")], text: "")
        }
        origin.on("/account") { request in
            guard request["Cookie"]?.contains("session=sesame") == true else { return .failure(403) }
            return .page(
                """
                <!DOCTYPE html><title>Account</title><link rel=stylesheet href=/style.css><p id=secret>walrus</p>
                <script>document.body.append("capybara")</script>
                """)
        }
        origin.on("/style.css", .file(Array("p { color: rgb(1, 2, 3) }".utf8), type: "text/css"))
        origin.otherwise { _ in .failure(404) }
        scratch = try TemporaryFolder()
        larder = Larder(at: scratch.file("larder"))
    }

    /// Presses the button of a portal command. The server replies with a redirect to the same page. Waits until a
    /// condition is true there.
    private func press(_ order: String, _ visit: ChromiumVisit, until condition: String) throws {
        _ = try visit.evaluate(
            "setTimeout(() => document.querySelector('form[action$=\"do/\(order)\"] button').click()); 0")
        // The result is lost if the page is replaced meanwhile.
        while (try? visit.evaluate(condition, within: .seconds(2)))?.bool != true {}
    }

    @Test func `a page behind a login that the extension saves can be searched and opened offline`()
        async throws
    {
        var options = ServeOptions()
        options.createsStore = true
        let service = try larder.serve(port: 0, options: options)
        defer { service.stop() }
        let browser = try Chromium(extensionFolder: Self.folder)
        let portal = try browser.open(
            "http://larder.localhost:\(service.port)/-/save", quiet: nil, hasOwnContext: false)
        try press("pair", portal, until: "document.querySelector('.notice code') !== null")
        let code = try portal.evaluate("document.querySelector('.notice code')?.innerText")?.string
        func pair(_ code: String) throws -> String? {
            try browser.evaluateInExtension(
                "pair('localhost:\(service.port)', '\(code)').catch(error => error.message)")?.string
        }
        #expect(try pair("wrong")?.contains("The code is wrong") == true)
        #expect(try pair(code ?? "") == "http://larder.localhost:\(service.port)")
        // A code can be used once.
        #expect(try pair(code ?? "")?.contains("The code is wrong") == true)

        let account = try browser.open(origin.url("/login"), quiet: nil, hasOwnContext: false)
        #expect(try account.text().contains("walrus"))
        let answer = try browser.evaluateInExtension(
            """
            (async () => {
              const answers = []
              for (const tab of await chrome.tabs.query({})) {
                const saved = await saveTab({...tab, url: tab.url ?? "\(origin.url("/account"))"})
                if (saved.title === "Account") return saved
                answers.push(saved)
              }
              return {error: JSON.stringify(answers)}
            })()
            """)
        #expect(answer?["url"]?.string == origin.url("/account"), "\(answer?["error"]?.string ?? "")")
        let copy = try #require(answer?["address"]?.string)
        origin.stop()

        let found = try await larder.search("walrus")
        #expect(found.hits.map(\.url) == [origin.url("/account")])
        #expect(try await !larder.search("capybara").hits.isEmpty)
        let shown = try await larder.describe(origin.url("/account"))
        #expect(shown.responses.allSatisfy(\.isPrivate) && !shown.responses.isEmpty)
        let visit = try Chromium().open(copy)
        #expect(try visit.text().contains("walrus") && visit.text().contains("capybara"))
        #expect(
            try visit.evaluate("getComputedStyle(document.getElementById('secret')).color")?.string
                == "rgb(1, 2, 3)")
        #expect(visit.failures.isEmpty)

        // The portal lists the paired extension, and can remove it.
        let list = try Chromium().open("http://larder.localhost:\(service.port)/-/save", quiet: nil)
        #expect(try list.text().contains("Paired extensions"))
        try press(
            "unpair", list, until: "!document.body.innerText.includes('Paired extensions')")
        let refused = try browser.evaluateInExtension(
            """
            (async () => {
              const {portal, token} = await pairing()
              const answer = await fetch(portal + "/-/extension/save", {
                method: "POST", headers: {Authorization: "Bearer " + token}, body: new FormData(),
              })
              return answer.status
            })()
            """)
        #expect(refused?.int == 401)
    }

    @Test func `the bookmarklet opens the portal's form with the URL of the page`() async throws {
        var options = ServeOptions()
        options.createsStore = true
        let service = try larder.serve(port: 0, options: options)
        defer { service.stop() }
        origin.on("/page", .page("<!DOCTYPE html><title>Page</title>page"))
        let browser = try Chromium()
        let portal = try browser.open("http://larder.localhost:\(service.port)/-/save")
        let bookmark = try #require(
            try portal.evaluate("document.querySelector('a[href^=javascript]').href")?.string)
        // Opens the form in the same tab, because `ChromiumVisit` does not record new windows.
        let here = bookmark.replacing("open('", with: "location.assign('")
        let page = try browser.open(origin.url("/page"))
        try page.navigate(to: here, quiet: nil)
        // The result is lost if the page is replaced meanwhile.
        let address = "document.getElementById('f-url')?.value"
        while (try? page.evaluate(address, within: .seconds(2)))?.string != origin.url("/page") {}
        #expect(try page.address().hasPrefix("http://larder.localhost:\(service.port)/-/add?url="))
        #expect(try page.evaluate("document.getElementById('f-what').value")?.string == "page")
    }
}
