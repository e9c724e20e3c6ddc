import Reports
import Store
import Synchronization
import Testing
import Web

@testable import Mirror
@testable import Origins
@testable import Portal

@Suite struct PortalTests {
    private let shelf: PortalShelf

    init() throws {
        shelf = try PortalShelf([
            .init(
                href: "https://example.test/", title: "Recipes", text: "start", fields: "Server: jar\r\n",
                pages: ["https://example.test/jam/plum", "https://example.test/lost", "https://far.test/"],
                assets: ["https://example.test/app.js", "https://example.test/lost.css"]),
            .init(href: "https://example.test/jam/plum", title: "Plum jam", text: "plum"),
            .init(href: "https://example.test/jam/pear?a=1&b=2", title: "Pear jam", text: "pear"),
            .init(
                href: "https://example.test/app.js", text: "run()", role: 1, type: "text/javascript",
                form: "javaScript;utf-8"),
            .init(href: "https://example.test/old", text: nil, status: 410),
        ])
    }

    private static let pages = [
        "/", "/-/", "/-/sites/1", "/-/sites/1/pages", "/-/sites/1/pages?under=https://example.test/jam/",
        "/-/sites/1/missing", "/-/sites/1/missing?kind=pages", "/-/sites/1/changes", "/-/sites/1/pictures",
        "/-/sites/1/search?q=jam",
        "/-/search", "/-/search?q=jam", "/-/scripts", "/-/room", "/-/sites/1/titles", "/-/sites/1/settings",
        "/-/page?url=https://example.test/",
    ]

    @Test(arguments: pages)
    func `every page is available as HTML and as JSON`(target: String) throws {
        let page = try shelf.get(target)
        #expect(page.status == 200)
        #expect(page.fields("Content-Type") == ["text/html; charset=utf-8"])
        #expect(page.fields("Cache-Control") == ["no-store"])
        #expect(page.body.count(of: "<h1>") == 1)
        #expect(page.body.count(of: "<main ") == 1)
        let separator = target.contains("?") ? "&" : "?"
        let program = try shelf.get("\(target)\(separator)format=json")
        #expect(program.fields("Content-Type") == ["application/json"])
        _ = try program.json()
        #expect(try shelf.get(target, accept: "application/json").body == program.body)
        #expect(try shelf.get(target, accept: "text/html,application/json;q=0.9,*/*").body == page.body)
        #expect(page.fields("Vary") == ["Accept, Accept-Language, Cookie"])
    }

    @Test(arguments: pages + ["/nothing", "/-/jar-1.svg"])
    func
        `pages run no script except those of search and home, cannot be framed, and send forms only to portal and mirror`(
            target: String
        ) throws
    {
        let page = try shelf.get(target)
        let policy = page.fields("Content-Security-Policy").last
        let script = Self.script(of: target)
        let scripts = script == nil ? "" : " script-src 'self'; connect-src 'self';"
        #expect(
            policy?.hasPrefix(
                "default-src 'none';\(scripts) style-src 'self'; img-src 'self'; form-action 'self' http://*.localhost:8080;"
            ) == true)
        #expect(policy?.contains("frame-ancestors 'none'") == true)
        let element = script.map { "<script src=\"\($0)\" defer=\"\"></script>" } ?? ""
        #expect(!page.body.replacing(element, with: "", maxReplacements: 1).contains("<script"))
        #expect(!page.body.contains(" style="))
        #expect(page.fields("X-Content-Type-Options") == ["nosniff"])
    }

    @Test(
        arguments: [
            (nil, false, "'self' http://*.localhost:8080"), (nil, true, "'self'"),
            ("https://example.test/", false, "'self' http://localhost:8080 http://*.localhost:8080"),
            ("https://example.test/", true, "'self'"),
        ] as [(String?, Bool, String)])
    func `forms may lead to the hosts of the mirror that the portal links to`(
        root: String?, isExposed: Bool, sources: String
    ) {
        let layout = OriginLayout(
            port: 8080, root: root.flatMap { WebURL($0) }.flatMap { RootOrigin($0) }, isExposed: isExposed)
        #expect(layout.portalFormSources == sources)
    }

    @Test(arguments: [
        ("https://example.test/jam/plum", "http://example-test.localhost:8080/jam/plum"),
        ("example.test/jam/plum", "http://example-test.localhost:8080/jam/plum"),
        ("plain.test/a", "http://plain-test.localhost:8080/a"),
        ("https://plain.test/a", "http://plain-test.localhost:8080/a"),
        ("plain.test/none", "/-/page?url=https://plain.test/none"),
    ])
    func `an address that a user typed opens the stored page, whether it has the scheme http or https`(
        text: String, location: String
    ) throws {
        try shelf.snapshot([.init(href: "http://plain.test/a")], site: "http://plain.test/")
        #expect(try shelf.get("/-/open?url=\(text)").fields("Location") == [location])
    }

    /// The path of the script of a page; nil if it has none.
    fileprivate static func script(of target: String) -> String? {
        if target.contains("/search") { return SearchScript.path }
        return ["/", "/-/"].contains(target) ? OfflineWorker.Registration.path : nil
    }

    @Test(arguments: pages + ["/nothing"], [PortalLanguage.chinese, .german])
    func `every page has no English sentence if the language is another one`(
        target: String, language: PortalLanguage
    ) throws {
        let page = try shelf.get(target, in: language).body
        #expect(page.contains("<html lang=\"\(language.tag)\">"))
        for sentence in Sentence.allCases {
            let pattern = sentence.pattern(in: .english)
            guard pattern.utf8.count > 14, pattern != sentence.pattern(in: language),
                !pattern.utf8.contains(UInt8(ascii: "%"))
            else {
                continue
            }
            var text: [UInt8] = []
            text.append(escaping: pattern)
            let english = String(decoding: text, as: UTF8.self)
            #expect(!page.contains(">\(english)<"), "\(sentence)")
        }
        #expect(try shelf.get(target).body.contains("<html lang=\"en\">"))
    }

    @Test func `the footer of every page has a link for each language, which stores it in a cookie`() throws {
        let link = "/-/language?to=de&back=/-/search%3Fq%3Djam"
        let page = try shelf.get("/-/search?q=jam").body
        #expect(page.contains("href=\"\(link.replacing("&", with: "&amp;"))\""), "\(page.suffix(900))")
        #expect(page.contains(">Deutsch</a>") && page.contains(">中文</a>"))
        #expect(page.count(of: "aria-current=\"true\">English</a>") == 1)
        for site in ["same-origin", "none", nil] {
            let answer = try shelf.get(link, fetchSite: site)
            #expect(answer.fields("Location") == ["/-/search?q=jam"])
            let cookie = answer.fields("Set-Cookie").first
            #expect(cookie?.hasPrefix("larder-language=de; Path=/; Max-Age=") == true)
        }
        #expect(try shelf.get(link, fetchSite: "cross-site").fields("Set-Cookie") == [])
        #expect(try shelf.get("/-/language?to=fr&back=/").status == 404)
        #expect(try shelf.get("/-/language?to=de&back=//evil.test/").fields("Location") == ["/"])
    }

    @Test func `pages are listed by the titles of their visible responses`() throws {
        func titles(_ target: String) throws -> [String] {
            try shelf.get(target + "format=json").json()["pages"]?.array?.compactMap { $0["title"]?.string }
                ?? []
        }
        #expect(try titles("/-/sites/1/titles?") == ["Pear jam", "Plum jam", "Recipes"])
        let after = "/-/sites/1/titles?after=pear+jam%0Ahttps://example.test/jam/pear?a=1%26b=2&"
        #expect(try titles(after) == ["Plum jam", "Recipes"])
        try shelf.snapshot([
            .init(href: "https://example.test/jam/plum", text: nil, status: 410),
            .init(href: "https://example.test/jam/pear?a=1&b=2", title: "apple jam"),
        ])
        #expect(try titles("/-/sites/1/titles?") == ["apple jam", "Recipes"])
    }

    @Test func `the storage page shows the size of each site`() throws {
        let room = try shelf.get("/-/room?format=json").json()
        #expect(room["bytes"]?.int ?? 0 > 0)
        let site = try #require(room["sites"]?.array?.first)
        #expect(site["site"]?.string == "https://example.test/")
        let report = try shelf.get("/-/sites/1?format=json").json()
        let byteCount = try #require(site["bytes"]?.int)
        #expect(byteCount == report["bytes"]?.int && byteCount > 0)
        // A body that has several types counts for each of them.
        let sum = site["types"]?.array?.reduce(0) { $0 + ($1["bytes"]?.int ?? 0) } ?? 0
        #expect(sum + (site["additionalBytes"]?.int ?? 0) >= byteCount)
        #expect(try shelf.get("/-/room").body.contains("<svg viewBox=\"0 0 720 420\" role=\"img\""))
    }

    @Test func `a browser may install the portal as an app`() throws {
        let manifest = try shelf.get(PortalManifest.path)
        #expect(manifest.fields("Content-Type") == ["application/manifest+json"])
        #expect(try manifest.json()["start_url"]?.string == "/")
        let icon = try #require(try manifest.json()["icons"]?.array?.first?["src"]?.string)
        #expect(try shelf.get(icon).status == 200)
        #expect(try shelf.get("/").body.contains(PortalManifest.path))
        #expect(
            try shelf.get("/").body.contains("rel=\"apple-touch-icon\" href=\"\(PortalIcon.PNG.small.path)\"")
        )
        for icon in PortalIcon.PNG.allCases {
            // The signature, the first chunk, and its width and height (PNG, third edition, 11.2.1).
            #expect(icon.bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]))
            let size = [UInt8(icon.rawValue >> 8), UInt8(icon.rawValue & 255)]
            #expect(Array(icon.bytes[16..<24]) == [0, 0] + size + [0, 0] + size)
            // The end of the last chunk.
            #expect(icon.bytes.suffix(8) == [0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82])
            #expect(try shelf.get(icon.path).fields("Content-Type") == ["image/png"])
        }
    }

    @Test func `the style sheet is cacheable forever under a name that changes with its content`() throws {
        let style = try shelf.get(PortalStyle.path)
        #expect(style.fields("Cache-Control") == ["public, max-age=31536000, immutable"])
        #expect(style.body.contains("prefers-color-scheme: dark"))
        #expect(try shelf.get("/").body.contains("href=\"\(PortalStyle.path)\""))
        #expect(try shelf.get("/-/portal-0.css").status == 404)
    }

    @Test(arguments: [
        "/nothing", "/-/sites/", "/-/sites/9", "/-/sites/x", "/-/sites/1/", "/-/sites/1/else",
        "/-/sites/1/pages/x",
        "/-/page", "/-/page?url=javascript:alert(1)", "/-/page?url=not", "/favicon.ico", "/?", "*",
    ])
    func `an unknown path gets a 404 page`(target: String) throws {
        let page = try shelf.get(target)
        #expect(page.status == (target == "/?" ? 200 : 404))
        #expect(!page.body.contains("href=\"javascript:"))
    }

    @Test(arguments: ["/", "/-/"])
    func `an original URL after the portal's address redirects to its copy`(home: String) throws {
        let answer = try shelf.get("\(home)https://example.test/jam/pear?a=1&b=2")
        #expect(answer.status == 302)
        #expect(answer.fields("Location") == ["http://example-test.localhost:8080/jam/pear?a=1&b=2"])
    }

    @Test func `the home page of an empty store explains how to add a site`() throws {
        let empty = try PortalShelf()
        #expect(try empty.get("/").body.contains("larder prefetch https://example.com/"))
        #expect(try empty.get("/-/search?q=a").body.contains("No results."))
        #expect(try empty.get("/-/scripts").body.contains("No scripts are stored."))
    }

    @Test func `the home page shows the size, the age and the completeness of each site`() throws {
        let page = try shelf.get("/").body
        for words in [
            "Recipes", ">Stored<", "1 minute ago", "3 pages",
            "http://example-test.localhost:8080/",
        ] {
            #expect(page.contains(words), "\(words)")
        }
        try shelf.snapshot(
            [.init(href: "https://other.test/", title: "Other")], site: "https://other.test/",
            isComplete: false)
        #expect(try shelf.get("/").body.contains("Incomplete"))
        let sites = try #require(try shelf.get("/?format=json").json()["sites"]?.array)
        #expect(sites.count == 2)
        #expect(sites[0]["pages"]?.int == 3)
        #expect(sites[0]["assets"]?.int == 1)
        #expect(sites[0]["failed"]?.content == .null)
        #expect(sites[0]["complete"]?.content == .null)
        #expect(sites[1]["complete"]?.bool == false)
        #expect(sites.map { $0["state"]?.string } == ["live", "incomplete"])
    }

    @Test func `a site's page lists its folders, its types and its snapshots`() throws {
        let page = try shelf.get("/-/sites/1").body
        #expect(page.contains("/-/sites/1/pages?under=https://example.test/jam/"))
        #expect(page.contains("2 URLs"))
        #expect(page.contains("text/javascript"))
        #expect(page.contains(">Live snapshot<") && page.contains(">Stored<"))
        #expect(page.contains("scope=\"col\""))
    }

    @Test func `the links and buttons of a stored URL are in one row`() throws {
        let jobRunner = JobRunner { _, _ in (.done, []) }
        defer { jobRunner.close() }
        let services = PortalServices(accessGuard: PortalGuard(.init()), jobRunner: jobRunner)
        let page = try shelf.get("/-/page?url=https://example.test/", services: services).body
        let rows = page.split(separator: "class=\"orders\"")
        #expect(rows.count == 2 && page.contains(">Snapshot 1</a>"), "\(page)")
        let row = try #require(rows.last?.split(separator: "<h2").first)
        for words in ["Open the original page", "Fetch now", "Pin (protect from cleanup)"] {
            #expect(row.contains(words), "\(words) in \(row)")
        }
    }

    @Test func `a URL that no stored response links to names the page that requested it`() throws {
        let (site, picture) = (PortalShelf.site, "https://example.test/made-by-script.gif")
        try shelf.snapshot([
            .init(href: site, title: "Recipes"),
            .init(href: picture, text: nil, status: 404, role: 1, referrer: site),
        ])
        let page = try shelf.get("/-/page?url=\(picture)").body
        let section = try #require(page.split(separator: ">Linked from</h2>").dropFirst().first)
        #expect(
            section.contains("where it may be no URL: <a href=\"/-/page?url=\(site)\""), "\(section)")
        #expect(try !shelf.get("/-/page?url=\(site)jam/plum").body.contains("where it may be no URL"))
    }

    @Test func `a folder lists its pages by their titles`() throws {
        let page = try shelf.get("/-/sites/1/pages?under=https://example.test/jam/").body
        #expect(page.contains("Plum jam"))
        #expect(page.contains("/-/page?url=https://example.test/jam/pear%3Fa%3D1%26b%3D2"))
        #expect(!page.contains("Recipes"))
    }

    @Test func `missing URLs are listed with the pages that link to them`() throws {
        let notes = try ActivityDatabase(shelf.folder)
        try notes.recordMisses([
            Miss(
                href: "https://example.test/asked", referrer: "https://example.test/jam/plum", isPage: true,
                count: 3,
                first: PortalShelf.now - 90, last: PortalShelf.now - 60),
            Miss(href: "https://elsewhere.test/", isPage: true, first: 1, last: 1),
        ])
        let files = try shelf.get("/-/sites/1/missing").body
        for words in ["lost.css", "Needed by", "3 times", "jam/<wbr>plum", "/<wbr>old", "status 410"] {
            #expect(files.contains(words), "\(words)")
        }
        #expect(!files.contains("elsewhere.test"))
        #expect(!files.contains("app.js"))
        let pages = try shelf.get("/-/sites/1/missing?kind=pages&format=json").json()
        #expect(
            pages["unheld"]?.array?.map { $0["url"]?.string } == [
                "https://example.test/lost", "https://far.test/",
            ])
        #expect(pages["misses"]?.array?.count == 1)
    }

    @Test func `two snapshots are compared`() throws {
        #expect(try shelf.get("/-/sites/1/changes").body.contains("only one snapshot"))
        try shelf.snapshot([
            .init(href: "https://example.test/", title: "Recipes", text: "another start"),
            .init(href: "https://example.test/new", title: "New", text: "new"),
            .init(href: "https://example.test/jam/plum", text: nil, status: 404),
        ])
        let page = try shelf.get("/-/sites/1/changes").body
        for words in ["Added: 1", "Changed: 1", "Gone: 1", "/-/page?url=https://example.test/new"] {
            #expect(page.contains(words), "\(words)")
        }
        #expect(page.contains("<span class=\"name\"><bdi>New</bdi></span>"), "\(page)")
        let back = try shelf.get("/-/sites/1/changes?from=2&to=1&format=json").json()
        #expect(back["gone"]?.array?.map(\.string) == ["https://example.test/new"])
        #expect(try shelf.get("/-/sites/1/changes?kind=added&page=7").status == 200)
        #expect(try shelf.get("/-/sites/1/changes?kind=added&page=-9223372036854775808").status == 200)
    }

    @Test
    func
        `screenshots of two snapshots are shown side by side, and other responses are not served as pictures`()
        throws
    {
        let png = "\u{89}PNG\r\n\u{1a}\n"
        func screenshot(_ href: String, _ text: String) -> PortalShelf.Entry {
            var entry = PortalShelf.Entry(href: href, text: nil, role: 2, type: "image/png", form: "opaque")
            entry.bytes = Array(png.unicodeScalars.map { UInt8($0.value) }) + Array(text.utf8)
            entry.request = .renderedPicture
            return entry
        }
        #expect(!(try shelf.get("/-/sites/1").body.contains("Screenshots")))
        #expect(try shelf.get("/-/sites/1/pictures").body.contains("larder help rendering"))
        let (start, plum) = ("https://example.test/", "https://example.test/jam/plum")
        try shelf.snapshot([
            .init(href: start, text: "b"), screenshot(start, "old"), .init(href: plum),
            screenshot(plum, "as it was"),
        ])
        var wrong = screenshot("https://example.test/evil", "")
        wrong.bytes = Array("<script>".utf8)
        try shelf.snapshot([
            .init(href: start, text: "c"), screenshot(start, "new"),
            .init(href: plum, text: nil, status: 404),
            .init(href: "https://example.test/evil"), wrong,
        ])
        let report = try shelf.get("/-/sites/1/pictures?format=json").json()
        #expect(
            report["pages"]?.array?.map { "\($0["url"]?.string ?? "") \($0["state"]?.string ?? "")" }
                == ["\(start) changed", "https://example.test/evil added", "\(plum) gone"])
        let page = try shelf.get("/-/sites/1/pictures").body
        #expect(page.contains("/-/sites/1/picture?snapshot=2&amp;url=\(start)"))
        #expect(page.contains("Differences"))
        #expect(try shelf.get("/-/sites/1").body.contains("Screenshots"))
        // Changed pictures are not listed among the changed URLs.
        #expect(
            try shelf.get("/-/sites/1/changes?format=json").json()["changed"]?.array?.map(\.string) == [start]
        )

        let picture = try shelf.get("/-/sites/1/picture?snapshot=3&url=\(start)")
        #expect(picture.status == 200)
        #expect(picture.fields("Content-Type") == ["image/png"])
        for target in [
            "picture?snapshot=3&url=https://example.test/evil", "picture?snapshot=9&url=\(start)",
            "picture?snapshot=3",
            "picture",
            "picture?snapshot=3&url=\(plum)",
        ] {
            #expect(try shelf.get("/-/sites/1/\(target)").status == 404, "\(target)")
        }
        #expect(try shelf.get("/-/sites/2/picture?snapshot=3&url=\(start)").status == 404)
    }

    @Test func `the details of a page show its digests, its headers and its links`() throws {
        let page = try shelf.get("/-/page?url=https://example.test/%23part").body
        for words in [
            // The MD5 of "start".
            "ea2b2676c28c0db26d39331a336c6b92",
            "Server", "jar", "not stored", "href=\"https://example.test/\"", "Links: 3", "Assets: 2",
        ] {
            #expect(page.contains(words), "\(words)")
        }
        let plum = try shelf.get("/-/page?url=https://example.test/jam/plum&format=json").json()
        #expect(plum["linkedFrom"]?.array?.map(\.string) == ["https://example.test/"])
        let row = try #require(plum["rows"]?.array?.first)
        #expect(row["role"]?.string == "page")
        #expect(row["body"]?["md5"]?.string?.count == 32)
        #expect(row["body"]?["place"]?.string != nil)
        #expect(plum["instead"] == nil)
    }

    @Test func `the details of a URL that is not stored say so, and link to similar stored URLs`() throws {
        let page = try shelf.get("/-/page?url=https://example.test/jam/cherry")
        #expect(page.status == 404)
        #expect(page.body.contains("Not stored"))
        #expect(page.body.contains("/-/page?url=https://example.test/jam/plum"))
        let instead = try shelf.get("/-/page?url=https://example.test/jam/cherry&format=json").json()[
            "instead"]
        #expect(instead?["nearby"]?.array?.map(\.string).contains("https://example.test/jam/plum") == true)
        // The page names the stored URL that is served instead.
        let twin = try shelf.get("/-/page?url=http://example.test/jam/plum").body
        #expect(twin.contains("it differs only in the scheme, http or https"))
    }

    @Test
    func `the details of a URL name an update only if it fetches the URL`()
        throws
    {
        let page = "/-/page?url=https://example.test/jam/fig"
        let before = try shelf.get(page).body
        #expect(!before.contains("<pre>larder") && !before.contains("The request is recorded"), "\(before)")
        try ActivityDatabase(shelf.folder).recordMisses([
            Miss(href: "https://example.test/jam/fig", isPage: true, first: 1, last: 1)
        ])
        let after = try shelf.get(page).body
        #expect(after.contains("<pre>larder update") && after.contains("The request is recorded"))
        // The settings exclude the URL, so that no update fetches it.
        let excluded = try shelf.get(page, isExcluded: { url, _, _ in url.path == "/jam/fig" }).body
        #expect(
            !excluded.contains("<pre>larder") && !excluded.contains("The request is recorded"), "\(excluded)")
        #expect(excluded.contains("exclude this URL, so updates do not fetch it."))
        #expect(excluded.contains("href=\"/-/sites/1/settings\""))
        let missing = try shelf.get("/-/sites/1/missing", isExcluded: { _, _, _ in true }).body
        #expect(
            missing.contains("Excluded by the settings of the site") && !missing.contains("fetches them."))
    }

    @Test
    func `the details of a URL that failed give the reason, and promise no update for a recorded request`()
        throws
    {
        let settings =
            #"{"failures":{"snapshot":1,"reasons":{"the server answered 500":["https://example.test/jam/fig"]}}}"#
        let writer = try StoreWriter(shelf.folder)
        try writer.storeSettings(settings, ofSite: PortalShelf.site)
        let page = "/-/page?url=https://example.test/jam/fig"
        let body = try shelf.get(page).body
        #expect(
            body.contains(
                "The last update, just now, could not fetch this URL: the server answered 500.</bdi> The next"
            ),
            "\(body)")
        #expect(!body.contains("larder add") && body.contains("larder update"))
        #expect(!(try shelf.get(page, in: .german).body.contains("the server answered")))
        #expect(!body.contains("settings?exclude="))
        let jobRunner = JobRunner { _, _ in (.done, []) }
        defer { jobRunner.close() }
        let services = PortalServices(accessGuard: PortalGuard(.init()), jobRunner: jobRunner)
        #expect(
            try shelf.get(page, services: services).body.contains(
                "/-/sites/1/settings?exclude=https://example.test/jam/fig#f-exclude"))
        // The promise of a recorded miss would be in doubt after such a failure.
        try ActivityDatabase(shelf.folder).recordMisses([
            Miss(href: "https://example.test/jam/fig", isPage: true, first: 1, last: 1)
        ])
        #expect(!(try shelf.get(page).body.contains("The request is recorded")))
    }

    @Test
    func `requests of pages are listed before those that only a browser made, and failures before both`()
        throws
    {
        let icon = "https://example.test/favicon.ico"
        var miss = Miss(href: "https://example.test/lost.png", isPage: false, first: 1, last: 1)
        miss.referrer = "https://example.test/"
        try ActivityDatabase(shelf.folder).recordMisses([
            Miss(href: icon, isPage: false, first: 2, last: 2), miss,
        ])
        let page = try shelf.get("/-/sites/1/missing").body
        func place(_ text: String) throws -> String.Index {
            try #require(page.firstRange(of: text), "\(text) in \(page)").lowerBound
        }
        let places = try [
            "Unanswered requests", "fetches them.", "lost.png", icon, "Requested by a browser",
        ].map(place)
        #expect(places == places.sorted())
        #expect(!page.contains("GET"))
        let heading = try place(">Assets that are not stored</h2>")
        #expect(heading < places[0])
    }

    @Test func `a URL that the server never answers can be retried and excluded`() throws {
        let jobRunner = JobRunner { _, _ in (.done, []) }
        defer { jobRunner.close() }
        let services = PortalServices(accessGuard: PortalGuard(.init()), jobRunner: jobRunner)
        let radar = "https://example.test/radar.html"
        var needs = SiteNeeds()
        needs.missing = [
            .init(
                href: radar, reason: .other("the server answered 503"), isAsset: false,
                referrer: PortalShelf.site)
        ]
        needs.counts = MissingURLCounts(broken: 0, failed: 1, notFetched: 0)
        let page = try shelf.get("/-/sites/1/missing", services: services, needs: needs).body
        let link = "/-/sites/1/settings?exclude=\(radar)#f-exclude"
        #expect(page.contains("href=\"\(link)\"") && page.contains("the server answered 503"), "\(page)")
        #expect(
            page.contains("Update the site to retry all") && page.contains("it no longer counts as failed"))
        #expect(
            try shelf.get("/-/sites/1/missing", in: .german, services: services, needs: needs).body.contains(
                "der Server antwortete mit 503"))
        #expect(!(try shelf.get("/-/sites/1/missing", needs: needs).body.contains("?exclude=")))

        let settings = try shelf.get("/-/sites/1/settings?exclude=\(radar)", services: services).body
        #expect(
            settings.contains(">\(radar)</textarea>") && settings.contains("has a new line"), "\(settings)")
        for target in ["/-/sites/1/settings", "/-/sites/1/settings?exclude=javascript:alert(1)"] {
            let plain = try shelf.get(target, services: services).body
            // The address of the page itself is in its forms.
            #expect(!plain.contains("radar") && !plain.contains("has a new line"))
            #expect(plain.contains("></textarea>") && !plain.contains("alert(1)</textarea>"))
        }
        let writer = try StoreWriter(shelf.folder)
        try writer.storeSettings("{\"exclude\":[\"\(radar)\"]}", ofSite: PortalShelf.site)
        let known = try shelf.get("/-/sites/1/settings?exclude=\(radar)", services: services).body
        #expect(known.contains(">\(radar)</textarea>") && !known.contains("has a new line"))
    }

    @Test func `a folder links titles to the stored pages, and says which URLs the server does not have`()
        throws
    {
        let jam = try shelf.get("/-/sites/1/pages?under=https://example.test/jam/").body
        #expect(
            jam.contains(
                "<a href=\"http://example-test.localhost:8080/jam/plum\" class=\"name\">"), "\(jam)")
        #expect(jam.contains("<a href=\"/-/page?url=https://example.test/jam/plum\">Details"))
        let root = try shelf.get("/-/sites/1/pages?under=https://example.test/").body
        #expect(root.contains("<a href=\"/-/page?url=https://example.test/old\" class=\"name\">"), "\(root)")
        #expect(root.contains("<span class=\"badge warn\">status 410</span>"))
    }

    @Test func `a recorded miss is not listed once the URL is stored`() throws {
        try ActivityDatabase(shelf.folder).recordMisses([
            Miss(href: "https://example.test/jam/plum", isPage: true, first: 1, last: 1),
            Miss(href: "https://example.test/jam/fig", isPage: true, first: 1, last: 1),
        ])
        let misses = try shelf.get("/-/sites/1/missing?format=json").json()["misses"]?.array
        #expect(misses?.map { $0["url"]?.string } == ["https://example.test/jam/fig"])
        #expect(misses?.first?["role"]?.string == "page")
    }

    @Test func `the list of scripts shows their digests and the findings of a check`() throws {
        let reader = try shelf.reader()
        let page = try shelf.get("/-/scripts") { hrefs in
            hrefs.compactMap { href in
                guard let sha256 = try? reader.response(for: href)?.body?.sha256 else { return nil }
                return BundleVerdict(href: href, sha256: sha256, name: "verified", detail: nil, isGood: true)
            }
        }
        let other = try shelf.get("/-/scripts") { hrefs in
            hrefs.map { BundleVerdict(href: $0, sha256: [], name: "verified", detail: nil, isGood: true) }
        }
        #expect(!other.body.contains("verified"))
        #expect(page.body.contains("app.js"))
        #expect(page.body.contains("verified"))
        let script = try shelf.get("/-/scripts?format=json").json()["scripts"]?.array?.first
        #expect(script?["md5"]?.string?.count == 32)
        #expect(script?["sha256"]?.string?.count == 64)
    }

    @Test(arguments: [
        (
            "sha256, signed by RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3; by its old name",
            ["by SHA-256", "signed by RWQf6LRCGA9i53ml…73Y7GFO3", "by its old name"]
        ),
        ("md5", ["by MD5, which detects damage, but no attack"]),
        // Stored by an earlier version.
        ("by MD5, which detects damage, but no attack", ["by MD5, which detects damage, but no attack"]),
    ])
    func `the list of scripts names the digest and the key that verified a script`(
        detail: String, words: [String]
    ) throws {
        let reader = try shelf.reader()
        let lookUp: ScriptsPage.VerdictLookup = { hrefs in
            hrefs.compactMap { href in
                guard let sha256 = try? reader.response(for: href)?.body?.sha256 else { return nil }
                return BundleVerdict(
                    href: href, sha256: sha256, name: "verified", detail: detail, isGood: true)
            }
        }
        let page = try shelf.get("/-/scripts", verdicts: lookUp)
        for words in words { #expect(page.body.contains(words)) }
        let json = try shelf.get("/-/scripts?format=json", verdicts: lookUp).json()["scripts"]?[0]
        #expect(
            json?["algorithm"]?.string == (detail.hasPrefix("by") ? nil : words.count == 3 ? "sha256" : "md5")
        )
        #expect(json?["signer"]?.string?.count == (words.count == 3 ? 56 : nil))
    }
}

extension String {
    /// The number of occurrences of a text.
    func count(of text: String) -> Int { ranges(of: text).count }
}

/// Text from outside at every place of a page where unescaped markup would take effect.
@Suite struct PortalEscapingTests {
    private static let bad =
        "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&amp;\u{202E}\u{0}\u{1b}"
    private static let href = "https://example.test/a'b?%22%3E=\"<script>'&q=<b>"

    @Test(arguments: [
        "/", "/-/sites/1", "/-/sites/1/pages?under=https://example.test/", "/-/sites/1/missing",
        "/-/sites/1/missing?kind=pages", "/-/search?q=script", "/-/search?q=example", "/-/scripts",
        PortalLinks().details(href),
        "/-/search?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "/-/sites/1/pages?under=%22%3E%3Cscript%3E",
        "/-/page?url=https://example.test/%22%3E%3Cscript%3E", "/%22%3E%3Cscript%3E",
        "/\"><script>alert(1)</script>",
        "/-/sites/1/search?q='%22%3E&after=a.%22%3E%3Cscript%3E",
        "/-/sites/1/changes?from=%22%3E%3Cscript%3E",
    ])
    func `hostile input is escaped on every page`(target: String) throws {
        let url = try #require(WebURL(Self.href))
        let shelf = try PortalShelf([
            .init(
                href: "https://example.test/", title: Self.bad, type: Self.bad,
                fields: "X\(Self.bad): \(Self.bad)\r\n",
                pages: [url.href, "https://x.test/\"><script>"], assets: ["https://x.test/'\"><script>"]),
            .init(
                href: url.href, title: Self.bad, text: "1", role: 1, type: "text/javascript",
                form: "javaScript;utf-8"),
        ])
        let page = try shelf.get(target)
        for mark in [
            "<script", "<img src=x", "<b>", "onerror=alert(1)>", "\u{0}", "\u{1b}", "\u{202E}",
            "&amp;amp;amp;",
        ] {
            let script = PortalTests.script(of: target) ?? SearchScript.path
            let own = "<script src=\"\(script)\" defer=\"\"></script>"
            #expect(!page.body.replacing(own, with: "", maxReplacements: 1).contains(mark), "\(mark)")
        }
        // Hostile quotes would break a tag, so that a strict parser would fail.
        #expect(Self.isWellFormed(page.body))
        // The JSON form of the page is valid.
        _ = try shelf.get(target + (target.contains("?") ? "&" : "?") + "format=json").json()
    }

    /// Whether all tags have the form of `HTMLWriter`: names of letters, and attribute values in double quotes.
    private static func isWellFormed(_ html: String) -> Bool {
        var rest = html.dropFirst("<!doctype html>".count)
        var open: [Substring] = []
        while let start = rest.firstIndex(of: "<") {
            rest = rest[start...].dropFirst()
            let isEnd = rest.first == "/"
            if isEnd { rest = rest.dropFirst() }
            let name = rest.prefix { $0.isLetter || $0.isNumber }
            guard !name.isEmpty else { return false }
            rest = rest.dropFirst(name.count)
            while rest.first == " " {
                rest = rest.dropFirst()
                let attribute = rest.prefix { $0.isLetter || $0 == "-" }
                rest = rest.dropFirst(attribute.count)
                guard !attribute.isEmpty, !attribute.hasPrefix("on"), rest.hasPrefix("=\""),
                    let end = rest.dropFirst(2).firstIndex(of: "\"")
                else { return false }
                rest = rest[end...].dropFirst()
            }
            guard rest.first == ">" else { return false }
            rest = rest.dropFirst()
            if ["meta", "link", "input", "img", "wbr"].contains(name) { continue }
            if isEnd {
                guard open.popLast() == name else { return false }
            } else {
                open.append(name)
            }
        }
        return open.isEmpty
    }

    @Test(arguments: [
        ("javascript:alert(1)", false), ("data:text/html,x", false), ("//evil.test/", false), ("", false),
        ("/-/search", true), ("https://example.test/", true), ("http://a.test/", true),
        ("file:///etc/passwd", false),
    ])
    func `only http URLs and paths of this server become links`(address: String, isLink: Bool) {
        var html = HTMLWriter()
        html.link(address, text: "x")
        #expect(
            String(decoding: html.bytes, as: UTF8.self) == (isLink ? "<a href=\"\(address)\">x</a>" : "x"))
    }

    @Test(arguments: [
        ("a title", "a title"), ("Grüße, 日本語 👩‍👩‍👧", "Grüße, 日本語 👩‍👩‍👧"),
        ("\u{1B}]0;mine\u{07}", "\\u001b]0;mine\\u0007"),
        ("invoice\u{202E}fdp.exe", "invoice\\u202efdp.exe"),
        ("\u{2066}x\u{2069}\u{200F}", "\\u2066x\\u2069\\u200f"),
        ("\u{9B}31m\u{85}", "\\u009b31m\\u0085"), ("a\u{2028}b\r", "a\\u2028b\\u000d"),
    ])
    func `control characters in titles and header fields are shown as visible text`(
        text: String, shown: String
    ) throws {
        let shelf = try PortalShelf([
            .init(href: "https://example.test/", title: text, fields: "X-A: \(text)\r\n")
        ])
        let details = PortalLinks().details("https://example.test/")
        for target in ["/", "/-/sites/1", details, "/-/sites/1/pages?under=https://example.test/"] {
            let body = try shelf.get(target).body
            #expect(body.contains(shown), "\(target)")
            #expect(shown == text || !body.contains(text), "\(target)")
        }
    }

    @Test(arguments: [
        ("https://a.test/b/c?d&e", "https://a.test/<wbr>b/<wbr>c?<wbr>d&amp;<wbr>e"), ("", ""), ("/", "/"),
        ("//", "//"), ("a//b", "a//b"), ("https://", "https://"), ("/a", "/a"), ("é/ü", "é/<wbr>ü"),
    ])
    func `a line may break after a slash or question mark of a URL`(address: String, expected: String) {
        var html = HTMLWriter()
        html.url(address)
        #expect(String(decoding: html.bytes, as: UTF8.self) == "<bdi>\(expected)</bdi>")
    }
}

/// The counts that the portal caches until the store changes.
@Suite struct PortalCacheTests {
    @Test func `a site that is too large to walk is not walked again for each page`() throws {
        let shelf = try PortalShelf([.init(href: PortalShelf.site)])
        let limits = Mutex<[Int]>([])
        let memory = PortalCache { _, _, limit throws(StoreError) in
            limits.withLock { $0.append(limit) }
            return limit < 100 ? nil : SiteNeeds()
        }
        let reader = try shelf.reader()
        let site = try #require(try reader.sites().first)
        try memory.update(from: reader)
        for limit in [50, 50, 20, 0, 60, 100, 100] {
            #expect(try (memory.needs(of: site, limit: limit, reader) != nil) == (limit == 100))
        }
        #expect(limits.withLock { $0 } == [50, 60, 100])
    }
}
