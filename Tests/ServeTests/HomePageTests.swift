import Reports
import Store
import Testing
import Web

@testable import Mirror
@testable import Portal

@Suite struct HomePageTests {
    private static let png = "\u{89}PNG\r\n\u{1a}\n".unicodeScalars.map { UInt8($0.value) }

    /// A store with the sites `a.test` to `f.test`; later ones are larger.
    private static func shelf() throws -> PortalShelf {
        let shelf = try PortalShelf()
        for (index, letter) in "abcdef".enumerated() {
            let site = "https://\(letter).test/"
            let text = String(repeating: "\(letter)", count: 10 * (index + 1))
            try shelf.snapshot([.init(href: site, title: "Site \(letter)", text: text)], site: site)
        }
        let writer = try StoreWriter(shelf.folder)
        try writer.storeSettings(
            #"{"tags":["work","news"],"note":"Read on Mondays"}"#, ofSite: "https://b.test/")
        return shelf
    }

    /// The sites of the page, in order.
    private static func sites(_ target: String, _ shelf: PortalShelf) throws -> [Character] {
        let body = try shelf.get(target).body
        return body.split(separator: ">Site ", omittingEmptySubsequences: false).dropFirst().compactMap(
            \.first)
    }

    @Test(arguments: [
        ("/", "abcdef"), ("/?sort=largest", "fedcba"), ("/?sort=none", "abcdef"), ("/?find=C.test", "c"),
        ("/?find=mondays", "b"), ("/?tag=work", "b"), ("/?tag=work&find=x", ""), ("/?find=", "abcdef"),
    ])
    func `the home page filters and sorts the sites`(target: String, expected: String) throws {
        #expect(try String(Self.sites(target, Self.shelf())) == expected)
    }

    @Test func `the form selects the current filter, and a filter without matches says so`() throws {
        let shelf = try Self.shelf()
        let page = try shelf.get("/?sort=largest&tag=news&find=zzz").body
        for words in [
            "<option value=\"largest\" selected=\"\">", "<option value=\"news\" selected=\"\">",
            "value=\"zzz\"",
            "No site matches",
        ] {
            #expect(page.contains(words), "\(words)")
        }
        #expect(try shelf.get("/?find=zzz&format=json").json()["sites"]?.array?.count == 6)
    }

    @Test func `a site has the name that the user gave it, in place of the title of its start page`() throws {
        let shelf = try Self.shelf()
        let writer = try StoreWriter(shelf.folder)
        try writer.storeSettings(#"{"title":"My newspaper"}"#, ofSite: "https://b.test/")
        #expect(try shelf.get("/").body.contains(">My newspaper<"))
        #expect(try Self.sites("/", shelf) == Array("acdef"))
        #expect(try shelf.get("/-/sites/2/settings?format=json").json()["title"]?.string == "My newspaper")
    }

    @Test func `a card shows the tags and the note of the site`() throws {
        let page = try Self.shelf().get("/").body
        #expect(page.contains("Read on Mondays"))
        #expect(page.contains("href=\"/?tag=work\""))
    }

    @Test func `the pages that were read last are listed, without assets and lost pages`() throws {
        let shelf = try Self.shelf()
        #expect(!(try shelf.get("/").body.contains("Continue reading")))
        try shelf.snapshot(
            [
                .init(href: "https://g.test/", title: "Site g"),
                .init(href: "https://g.test/a.js", title: "Script", role: 1, type: "text/javascript"),
                .init(href: "https://g.test/old", title: "Old", status: 410),
            ], site: "https://g.test/")
        let reader = try shelf.reader()
        var readings = [Reading(url: 9_999, snapshot: nil, at: PortalShelf.now)]
        for (index, href) in [
            "https://c.test/", "https://g.test/", "https://g.test/a.js", "https://g.test/old",
        ]
        .enumerated() {
            let response = try #require(try reader.response(for: href))
            readings.append(
                Reading(url: response.url, snapshot: nil, at: PortalShelf.now - 100 + Int64(index)))
            // Programs and assets of pages do not make a page read.
            try ActivityDatabase(shelf.folder).recordServed([(response.url, PortalShelf.now)])
        }
        #expect(!(try shelf.get("/").body.contains("Continue reading")))
        try ActivityDatabase(shelf.folder).recordReadings(readings)
        let recent = try shelf.get("/?format=json").json()["recent"]?.array
        #expect(recent?.map { $0["url"]?.string } == ["https://g.test/", "https://c.test/"])
        #expect(try shelf.get("/").body.contains("Continue reading"))
    }

    @Test func `a page that was read in an earlier snapshot is opened there again`() throws {
        let shelf = try PortalShelf()
        for fare in ["four", "five"] {
            try shelf.snapshot([
                .init(href: PortalShelf.site, title: "Ferry: \(fare) euros", text: "\(fare) euros")
            ])
        }
        let page = try #require(try shelf.reader().response(for: PortalShelf.site))
        let (earlier, live) = (
            "http://past-1-example-test.localhost:8080/", "http://example-test.localhost:8080/"
        )
        /// Snapshot 2 is live, and snapshot 9 was removed since.
        for (index, snapshot) in ([1, nil, 2, 9] as [Int64?]).enumerated() {
            try ActivityDatabase(shelf.folder).recordReadings([
                Reading(url: page.url, snapshot: snapshot, at: PortalShelf.now - 100 + Int64(index))
            ])
            let home = try shelf.get("/").body
            let list = home.split(separator: "class=\"recent\"").last ?? ""
            let isEarlier = snapshot == 1
            #expect(list.contains("href=\"\(isEarlier ? earlier : live)\" class=\"name\""), "\(list)")
            #expect(list.contains("Ferry: \(isEarlier ? "four" : "five") euros"), "\(list)")
            #expect(list.contains("snapshot 1") == isEarlier, "\(list)")
            let recent = try shelf.get("/?format=json").json()["recent"]?[0]
            #expect(recent?["snapshot"]?.string == (isEarlier ? "1" : nil))
        }
    }

    @Test(arguments: [
        ("<link rel=icon href=/i.png>", "https://a.test/i.png", true),
        ("<LINK\nREL='Shortcut Icon' HREF='i.png?a=1&amp;b=2'>", "https://a.test/i.png?a=1&b=2", true),
        ("<link rel=stylesheet href=/i.png>", "https://a.test/i.png", false),
        ("<link rel=icon", "https://a.test/i.png", false), ("no icon", "https://a.test/favicon.ico", true),
    ])
    func `the icon of a site is found in its start page`(html: String, icon: String, isFound: Bool) throws {
        var image = PortalShelf.Entry(href: icon, text: nil, role: 1, type: "text/html", form: "opaque")
        image.bytes = Self.png
        let shelf = try PortalShelf()
        try shelf.snapshot([.init(href: "https://a.test/", text: html), image], site: "https://a.test/")
        let answer = try shelf.get("/-/sites/1/icon")
        #expect(answer.status == (isFound ? 200 : 404))
        guard isFound else { return }
        #expect(answer.fields("Content-Type") == ["image/png"])
        #expect(answer.fields("Content-Security-Policy").allSatisfy { $0.contains("sandbox") })
        #expect(try shelf.get("/").body.contains("/-/sites/1/icon?snapshot=1"))
    }

    @Test func `only an image is served as the icon`() throws {
        let shelf = try PortalShelf()
        try shelf.snapshot(
            [.init(href: "https://a.test/"), .init(href: "https://a.test/favicon.ico", text: "<script>")],
            site: "https://a.test/")
        #expect(try shelf.get("/-/sites/1/icon").status == 404)
        #expect(!(try shelf.get("/").body.contains("/icon")))
        #expect(try shelf.get("/-/sites/2/icon").status == 404)
    }

    @Test func `the random page is a stored page`() throws {
        let shelf = try Self.shelf()
        let answer = try shelf.get("/-/random")
        #expect(answer.status == 302)
        #expect(answer.fields("Location").first?.hasSuffix("-test.localhost:8080/") == true)
        #expect(try PortalShelf().get("/-/random").status == 404)
    }

    @Test func `tags are trimmed, counted once, and limited`() throws {
        let tags = (0..<20).map { " t \($0) " }.joined(separator: ",") + ",t 0"
        let form = try SiteSettingsForm(
            PortalRequest(
                path: "/", fields: [("tags", tags), ("note", "n"), ("title", "My site"), ("every", "daily")]))
        #expect(form.tags == (0..<10).map { "t \($0)" })
        #expect(form.updateInterval == "daily" && form.title == "My site")
        #expect(try SiteSettingsForm(PortalRequest(path: "/", fields: form.fields)) == form)
        #expect(try SiteSettingsForm(PortalRequest(path: "/", fields: [("tags", ", ,")])).tags == [])
    }

    @Test func `many sites are listed on several pages of less than 100 kB`() throws {
        let shelf = try PortalShelf()
        for number in 0..<(PortalLimits.maxSiteCards + 2) {
            let site = "https://s\(number).test/"
            try shelf.snapshot([.init(href: site, title: "Site \(number)", text: site)], site: site)
        }
        let first = try shelf.get("/?sort=name")
        #expect(first.body.count(of: "class=\"card site\"") == PortalLimits.maxSiteCards)
        #expect(first.body.utf8.count < 100_000)
        #expect(first.body.contains("/?sort=name&amp;page=1"))
        #expect(try shelf.get("/?sort=name&page=1").body.count(of: "class=\"card site\"") == 2)
        for page in ["-9", "9", "99999999999999"] {
            #expect(try shelf.get("/?page=\(page)").status == 200)
        }
    }
}
