import Digest
import Glibc
import Store
import System
import TestOrigin
import Testing
import Web

@testable import HTTPServer
@testable import Mirror
@testable import Origins
@testable import Portal

@Suite struct PortalCommandTests {
    private static let number = String(repeating: "0f", count: 16)

    private func command(_ name: String, _ form: String) throws -> PortalCommand? {
        try PortalCommand(name, PortalRequest(path: "/", form: Array(form.utf8)))
    }

    @Test func `a form is parsed as a command`() throws {
        var plan = SiteSettingsForm()
        (plan.depth, plan.maxPages, plan.scope, plan.maxBytes) = (2, 50, "path", "200M")
        #expect(
            try command("prefetch", "url=example.com/a&depth=2&pages=50&scope=path&bytes=200M")
                == .prefetch(address: "https://example.com/a", plan))
        var page = SiteSettingsForm()
        page.isOnlyPage = true
        #expect(
            try command("prefetch", "url=example.com/a&what=page")
                == .prefetch(address: "https://example.com/a", page))
        #expect(
            try command("prefetch", "url=a.test&what=site")
                == .prefetch(address: "https://a.test/", SiteSettingsForm())
        )
        #expect(try command("update", "") == .update(site: nil))
        #expect(try command("update", "site=https%3A%2F%2Fa.test%2F") == .update(site: "https://a.test/"))
        #expect(try command("links", "site=a") == .checkLinks(site: "a"))
        #expect(try command("pin", "site=a") == .pin(.init(isSite: true, name: "a")))
        #expect(
            try command("unpin", "url=https://a.test/")
                == .unpin(.init(isSite: false, name: "https://a.test/"))
        )
        #expect(try command("drop", "site=a&snapshot=3") == .drop(snapshot: 3, site: "a"))
        #expect(try command("rollback", "site=a&snapshot=3") == .rollBack(site: "a", snapshot: 3))
        #expect(try command("collect", "limit=2G") == .collect(limit: "2G"))
        #expect(try command("nothing", "site=a") == nil)
        var settings = SiteSettingsForm()
        settings.exclude = ["*.pdf", "/private/**"]
        #expect(
            try command("settings", "site=a&exclude=*.pdf%0D%0A/private/**")
                == .changeSettings(site: "a", settings))
    }

    @Test(arguments: [
        ("prefetch", "url="), ("prefetch", "url=javascript:alert(1)"), ("prefetch", "url=file:///etc/passwd"),
        ("prefetch", "url=http://u:p@a.test/"), ("prefetch", "url=a.test&depth=-1"),
        ("prefetch", "url=a.test&depth=x"), ("prefetch", "url=a.test&pages=0"),
        ("prefetch", "url=a.test&scope=all"), ("prefetch", "url=a.test&what=all"),
        ("prefetch", "url=a.test&render=maybe"),
        ("prefetch", "url=a.test&bytes=much"), ("drop", "site=a"), ("drop", "snapshot=1"), ("remove", ""),
        ("links", ""),
        ("collect", "limit=-1"), ("pin", ""), ("settings", "site=a&perHost=65"),
        ("prefetch", "url=nope"), ("prefetch", "url=--help"), ("prefetch", "url=-x.test"),
        ("prefetch", "url=ftp://x"), ("prefetch", "url=ftp://x.test/"), ("prefetch", "url=a b"),
        ("prefetch", "url=https://"), ("fetch", "url=nope"), ("pin", "url=nope"), ("export", "site=a"),
        ("export", "site=a&form=exe"), ("export", "form=zip"), ("import", "name=a.zip"),
        ("import", "upload=../../etc&name=passwd"), ("import", "upload=\(number)&name=../passwd"),
        ("import", "upload=\(number)&name=.hidden"), ("import", "upload=\(number)&name=a.zip&site=nope"),
        ("import", "upload=\(number)&name=a.zip&base=file:///etc/"),
    ])
    func `an invalid field is reported`(name: String, form: String) {
        #expect(throws: PortalFormError.self) { try command(name, form) }
    }

    @Test(arguments: [
        ("nope", "“nope” is a word, not a URL", "https://nope/"),
        ("--help", "“--help” is a word, not a URL", "https://--help/"),
        ("ftp://x.test/", "only http and https are supported", "https://example.com/"),
        ("http://u:p@a.test/", "The URL for a.test contains a user name or password", "Remove them"),
        ("https://", "“https://” is not a URL", "https://example.com/"),
    ])
    func `an invalid address is shown in the form for correction`(
        address: String, words: String, help: String
    ) throws {
        let shelf = try PortalShelf([.init(href: "https://example.test/", title: "Recipes")])
        let jobRunner = JobRunner { _, _ in (.done, []) }
        defer { jobRunner.close() }
        let answer = try send("prefetch", "url=\(address)&depth=3&scope=path&bytes=200M", shelf, jobRunner)
        #expect(answer.status == 400)
        let page = String(decoding: answer.bytes, as: UTF8.self)
        #expect(page.contains(words) && page.contains(help), "\(page)")
        #expect(page.contains("name=\"url\" type=\"text\" value=\"\(address)\""))
        #expect(
            page.contains("aria-invalid=\"true\"") && page.contains("aria-describedby=\"mistake f-url-hint\"")
        )
        #expect(page.contains("name=\"depth\" type=\"number\" value=\"3\""))
        #expect(page.contains("name=\"bytes\" type=\"text\" value=\"200M\""))
        #expect(page.contains("<option value=\"path\" selected"))
        #expect(jobRunner.jobs.isEmpty)
    }

    @Test(arguments: [
        ("update", "site=https://other.test/", "has no site “https://other.test/”"),
        ("check", "site=x", "has no site “x”"), ("links", "site=x", "has no site “x”"),
        ("pin", "site=x", "has no site"),
        ("export", "site=x&form=zip", "has no site"),
        ("export", "site=https://example.test/&form=zip&snapshot=9", "has no snapshot 9"),
        ("remove", "site=x", "has no site"), ("settings", "site=x", "has no site"),
        ("drop", "site=x&snapshot=1", "has no site"),
        ("drop", "site=https://example.test/&snapshot=9", "has no snapshot 9"),
        ("rollback", "site=https://example.test/&snapshot=7", "has no snapshot 7"),
    ])
    func `a command for a missing site or snapshot is refused`(name: String, form: String, words: String)
        throws
    {
        let shelf = try PortalShelf([.init(href: "https://example.test/", title: "Recipes")])
        let jobRunner = JobRunner { _, _ in (.done, []) }
        defer { jobRunner.close() }
        let answer = try send(name, form, shelf, jobRunner)
        #expect(answer.status == 404)
        #expect(String(decoding: answer.bytes, as: UTF8.self).contains(words))
        #expect(jobRunner.jobs.isEmpty)
    }

    @Test func `a job restarted by another principal has the rights that both have`() throws {
        let shelf = try PortalShelf([.init(href: "https://example.test/", title: "Recipes")])
        let principals = Monitor<[Principal]>([])
        let jobRunner = JobRunner { _, run in
            principals.change { $0.append(run.principal) }
            return (.done, [])
        }
        defer { jobRunner.close() }
        var forwarded = PortalVisitor()
        forwarded.isForwarded = true
        let site = "site=https://example.test/"
        for (visitor, first) in [(forwarded, PortalVisitor()), (PortalVisitor(), forwarded)] {
            _ = try send("update", site, shelf, jobRunner, by: first)
            let count = jobRunner.jobs.count
            _ = principals.wait { $0.count == count ? true : nil }
            let number = try #require(jobRunner.jobs.last?.number)
            while jobRunner.jobs.last?.isOver == false { sched_yield() }
            _ = try send("goon", "job=\(number)", shelf, jobRunner, by: visitor)
            _ = principals.wait { $0.count == count + 1 ? true : nil }
        }
        #expect(principals.change { $0 } == [.localUser, .remoteUser, .remoteUser, .remoteUser])
    }

    @Test func `only the user of this machine installs a timer, where one can be installed`() throws {
        let shelf = try PortalShelf([.init(href: "https://example.test/", title: "Recipes")])
        let jobRunner = JobRunner { _, _ in (.done, []) }
        defer { jobRunner.close() }
        var forwarded = PortalVisitor()
        forwarded.isForwarded = true
        for (visitor, canInstall) in [(forwarded, true), (PortalVisitor(), false)] {
            let answer = try #require(
                try send("timer", "", shelf, jobRunner, by: visitor, canInstallTimer: canInstall))
            #expect(answer.status == 403)
        }
        #expect(jobRunner.jobs.isEmpty)
        // The response is sent when the command has been executed.
        #expect(try send("timer", "", shelf, jobRunner, canInstallTimer: true) == nil)
        #expect(jobRunner.jobs.map(\.command) == [.installTimer])
    }

    @Test func `the form that the bookmarklet opens has the URL, and does nothing by itself`() throws {
        let shelf = try PortalShelf()
        let jobRunner = JobRunner { _, _ in (.done, []) }
        defer { jobRunner.close() }
        let portal = Portal(
            layout: OriginLayout(port: 8080),
            services: PortalServices(accessGuard: PortalGuard(.init()), jobRunner: jobRunner),
            now: { PortalShelf.now })
        func page(_ target: String) throws -> String {
            String(decoding: try portal.answer(target, reader: shelf.reader()).bytes, as: UTF8.self)
        }
        let add = try page("/-/add?url=https%3A%2F%2Fa.test%2F%3Fq%3D%22%3E%3Cb%3E")
        #expect(
            add.contains("name=\"url\" type=\"text\" value=\"https://a.test/?q=&quot;&gt;&lt;b&gt;\""),
            "\(add)")
        #expect(add.contains("<option value=\"page\" selected"))
        #expect(add.contains("frame-ancestors 'none'"))
        #expect(jobRunner.jobs.isEmpty)
        let save = try page("/-/save")
        #expect(
            save.contains("href=\"javascript:void(open(")
                && save.contains("http://larder.localhost:8080/-/add?url="),
            "\(save)")
        #expect(!save.contains("script-src"))
    }

    @Test(arguments: [true, false])
    func `the portal offers the browser extension as a file if it is installed`(isInstalled: Bool) throws {
        let shelf = try PortalShelf()
        let jobRunner = JobRunner { _, _ in (.done, []) }
        defer { jobRunner.close() }
        var services = PortalServices(accessGuard: PortalGuard(.init()), jobRunner: jobRunner)
        services.extensions = ExtensionPairings(shelf.folder)
        if isInstalled { services.extensionFile = { Array("PK zip".utf8) } }
        let page = try shelf.get("/-/save", services: services).body
        #expect(page.contains("href=\"/-/extension.zip\"") == isInstalled, "\(page)")
        #expect(page.contains("Unpack the file") == isInstalled && page.contains("chrome://extensions"))
        let file = try shelf.get("/-/extension.zip", services: services)
        #expect(file.status == (isInstalled ? 200 : 404))
        guard isInstalled else { return }
        #expect(file.body == "PK zip" && file.fields("Content-Type") == ["application/zip"])
        #expect(file.fields("Content-Disposition") == ["attachment; filename=\"larder-extension.zip\""])
    }

    @Test func `pages say that nothing runs the scheduled updates, and offer a timer`() throws {
        let shelf = try PortalShelf([.init(href: "https://example.test/", title: "Recipes")])
        let jobRunner = JobRunner { _, _ in (.done, []) }
        defer { jobRunner.close() }
        func page(_ target: String, isScheduled: Bool = false, canInstallTimer: Bool = true) throws -> String
        {
            let services = PortalServices(
                accessGuard: PortalGuard(.init()), jobRunner: jobRunner, isScheduled: { isScheduled },
                canInstallTimer: canInstallTimer)
            let portal = Portal(
                layout: OriginLayout(port: 8080), services: services, now: { PortalShelf.now })
            return String(
                decoding: try portal.answer(target, reader: shelf.reader()).bytes, as: UTF8.self)
        }
        let (words, button) = ("Nothing runs the scheduled updates", "/-/do/timer")
        let targets = ["/", "/-/sites/1", "/-/sites/1/settings"]
        for target in targets { #expect(try !page(target).contains(words), "\(target)") }
        try StoreWriter(shelf.folder).storeSchedule(.daily, ofSite: PortalShelf.site)
        for target in targets {
            let idle = try page(target)
            #expect(idle.contains(words) && idle.contains(button), "\(target)")
            #expect(try !page(target, canInstallTimer: false).contains(button))
            #expect(try !page(target, isScheduled: true).contains(words))
        }
    }

    @Test(arguments: [false, true])
    func `the field of the schedule links to the button that installs the timer, or names the command`(
        canInstallTimer: Bool
    ) throws {
        let shelf = try PortalShelf([.init(href: "https://example.test/", title: "Recipes")])
        let jobRunner = JobRunner { _, _ in (.done, []) }
        defer { jobRunner.close() }
        try StoreWriter(shelf.folder).storeSchedule(.daily, ofSite: PortalShelf.site)
        for isScheduled in [false, true] {
            let services = PortalServices(
                accessGuard: PortalGuard(.init()), jobRunner: jobRunner, isScheduled: { isScheduled },
                canInstallTimer: canInstallTimer)
            let portal = Portal(
                layout: OriginLayout(port: 8080), services: services, now: { PortalShelf.now })
            let page = String(
                decoding: try portal.answer("/-/sites/1/settings", reader: shelf.reader()).bytes,
                as: UTF8.self)
            #expect(page.contains("href=\"#timer\"") == canInstallTimer, "\(page)")
            #expect(page.count(of: "action=\"/-/do/timer\"") == (canInstallTimer ? 1 : 0), "\(page)")
            #expect(page.contains("larder help schedule") != canInstallTimer, "\(page)")
            if canInstallTimer { #expect(page.count(of: "id=\"timer\"") == 1, "\(page)") }
        }
    }

    @Test func `a wrong size limit is shown in its form again, with a link to the storage page`() throws {
        let shelf = try PortalShelf([.init(href: "https://example.test/", title: "Recipes")])
        let jobRunner = JobRunner { _, _ in (.done, []) }
        defer { jobRunner.close() }
        let answer = try send("forecast", "limit=8+MB+please", shelf, jobRunner)
        #expect(answer.status == 400)
        let page = String(decoding: answer.bytes, as: UTF8.self)
        #expect(page.contains("value=\"8 MB please\"") && page.contains("href=\"/-/room\""), "\(page)")
        #expect(jobRunner.jobs.isEmpty)
    }

    @Test(arguments: [(4, false), (8, false), (9, true), (40, true)])
    func `the result of a job is folded only if that hides many lines`(count: Int, isFolded: Bool) throws {
        let shelf = try PortalShelf([.init(href: PortalShelf.site, title: "Recipes")])
        let urls = (2..<count).map { Phrase(.untranslated, "https://example.test/\($0)") }
        let job = PortalJob(
            number: 1, command: .check(site: PortalShelf.site), principal: .localUser, end: .done,
            outcome: [Phrase(.checkCleanExcept, "9"), Phrase(.endedBroken, "\(count - 2)")] + urls,
            addedAt: 0)
        let context = PortalContext(
            layout: OriginLayout(port: 8080), links: PortalLinks(), hasProxy: false, now: 0,
            address: "/-/jobs", jsonAddress: "/-/jobs")
        var html = HTMLWriter()
        JobsPage([job], sites: try shelf.reader().sites(), now: 0).write(to: &html, context)
        let list = String(decoding: html.bytes, as: UTF8.self)
        #expect(list.contains("<summary>Log</summary>") == isFolded, "\(list)")
        #expect(list.contains("https://example.test/\(count - 1)"))
        #expect(list.contains("href=\"/-/sites/1/missing\" class=\"button quiet\">Missing URLs"))
    }

    @Test func `a removal that has not started says that it can be undone`() throws {
        let shelf = try PortalShelf([.init(href: PortalShelf.site, title: "Recipes")])
        let jobRunner = JobRunner { _, _ in (.done, []) }
        defer { jobRunner.close() }
        let number = try #require(jobRunner.add(.remove(site: PortalShelf.site), by: .localUser))
        let services = PortalServices(accessGuard: PortalGuard(.init()), jobRunner: jobRunner)
        let page = try shelf.get("/?did=\(number)", services: services).body
        let words = "https://example.test/ will be removed in a few seconds. You can undo that"
        #expect(page.contains(words) && page.contains("Cancel"), "\(page)")
    }

    @Test func `a preview offers the cleanup that it describes, until something changes`() throws {
        let shelf = try PortalShelf([.init(href: "https://example.test/", title: "Recipes")])
        let isOver = Monitor(0)
        let jobRunner = JobRunner { command, _ in
            guard case .forecast = command else { return (.done, []) }
            return (
                .done,
                [Phrase(.cleanupSnapshots, "2"), Phrase(.cleanupSnapshot, "1", "a", "2026-11-28", "9 kB")]
            )
        }
        defer { jobRunner.close() }
        func run(_ command: PortalCommand, _ count: Int) throws {
            _ = try #require(jobRunner.add(command, by: .localUser) { isOver.change { $0 += 1 } })
            _ = isOver.wait { $0 >= count ? true : nil }
        }
        let portal = Portal(
            layout: OriginLayout(port: 8080),
            services: PortalServices(accessGuard: PortalGuard(.init()), jobRunner: jobRunner),
            now: { PortalShelf.now })
        func page(_ target: String) throws -> String {
            String(decoding: try portal.answer(target, reader: shelf.reader()).bytes, as: UTF8.self)
        }
        try run(.forecast(limit: "5M"), 1)
        try run(.check(site: "https://example.test/"), 2)
        let (button, link) = ("Clean up and remove 2 snapshots", "/-/room?limit=5M")
        let preview = try page("/-/jobs")
        #expect(
            preview.contains(button) && preview.contains("Snapshot 1 of a, 2026-11-28, 9 kB"), "\(preview)")
        #expect(preview.contains("action=\"/-/do/collect\"") && preview.contains(link))
        // Only the check was done.
        #expect(preview.count(of: ">Done<") == 1, "\(preview)")
        #expect(try page(link).contains("value=\"5M\""))
        #expect(try !page("/-/room").contains("/-/do/collect"))
        try run(.update(site: nil), 3)
        let outdated = try page("/-/jobs")
        #expect(!outdated.contains(button) && !outdated.contains("Snapshot 1 of a"), "\(outdated)")
        #expect(outdated.contains("This preview is out of date") && outdated.contains(link))
        // A newer preview replaces the older one. Without a limit, there is none to change.
        try run(.forecast(limit: nil), 4)
        let newer = try page("/-/jobs")
        #expect(newer.contains(button) && !newer.contains("out of date") && !newer.contains(link), "\(newer)")
        #expect(newer.split(separator: "Cleanup preview").count == 2, "\(newer)")
    }

    @Test(arguments: [("5M", true), ("6M", false)])
    func `a preview says that its cleanup was carried out, unless another one was`(
        limit: String, isCarriedOut: Bool
    ) {
        let commands = [PortalCommand.forecast(limit: "5M"), .collect(limit: limit)]
        let jobs = commands.enumerated().map { index, command in
            PortalJob(
                number: index + 1, command: command, principal: .localUser, end: .done, outcome: [],
                addedAt: 0)
        }
        let context = PortalContext(
            layout: OriginLayout(port: 8080), links: PortalLinks(), hasProxy: false, now: 0,
            address: "/-/jobs", jsonAddress: "/-/jobs")
        var html = HTMLWriter()
        JobsPage(jobs, now: 0).write(to: &html, context)
        let text = String(decoding: html.bytes, as: UTF8.self)
        #expect(text.contains("The cleanup of this preview was carried out.") == isCarriedOut, "\(text)")
        #expect(text.contains("This preview is out of date") != isCarriedOut)
    }

    @Test func `a page of a removed site links to where the removal can be undone, and offers no prefetch`() {
        var page = MissPage(url: "https://example.test/a", isNoted: false)
        page.removedSite = "https://example.test/"
        let fields = HTTPFields([.init(name: "Sec-Fetch-Dest", value: "document")])
        let answer = page.answer(to: fields, layout: OriginLayout(port: 8080))
        let text = String(decoding: answer.bytes, as: UTF8.self)
        #expect(text.contains("The site https://example.test/ was removed."), "\(text)")
        #expect(text.contains("/-/jobs\">Undo the removal") && !text.contains("larder prefetch"))
    }

    @Test func `a page that another site has is saved only if the user says so again`() throws {
        let site = "https://example.test/"
        let shelf = try PortalShelf([
            .init(href: site, title: "Python docs"), .init(href: site + "json", title: "json"),
        ])
        let jobRunner = JobRunner { _, _ in (.done, []) }
        defer { jobRunner.close() }
        func save(_ form: String) throws -> (status: Int, text: String) {
            let answer = try send("prefetch", form, shelf, jobRunner)
            return (answer.status, String(decoding: answer.bytes, as: UTF8.self))
        }
        let notice = try save("url=https://example.test/json&what=page&every=daily")
        #expect(notice.status == 409 && jobRunner.jobs.isEmpty)
        for words in [
            "This page is stored already, as part of <a href=\"/-/sites/1\">", "Python docs", "1 minute ago",
            "href=\"http://example-test.localhost:8080/json\"", "Update that site", "Save it anyway",
            "name=\"again\" value=\"1\"", "name=\"every\" value=\"daily\"", "name=\"what\" value=\"page\"",
        ] {
            #expect(notice.text.contains(words), "\(words): \(notice.text)")
        }
        // Another page, the page for which there is a site, and the second request.
        for form in [
            "url=https://example.test/other&what=page", "url=\(site)&what=page",
            "url=https://example.test/json&what=page&again=1",
        ] {
            #expect(try save(form).status == 303, "\(form)")
        }
    }

    @Test(arguments: [
        // The start page is in another site; the other site starts within the new one, also by http.
        ("url=https://example.test/docs/json", true), ("url=https://example.test/", true),
        ("url=http://example.test/", true), ("url=example.test/docs/&scope=path", true),
        ("url=https://example.test/blog/", true), ("url=https://example.test/blog/&scope=path", false),
        ("url=https://example.test/docs/start", false), ("url=https://example.test/&again=1", false),
        ("url=https://example.test:81/", false), ("url=https://www.example.test/", false),
        // A site whose first run failed has no pages.
        ("url=https://failed.test/a", false),
    ])
    func `a site that has pages of another one is added if the user says so again`(
        form: String, isAsked: Bool
    ) throws {
        let start = "https://example.test/docs/start"
        let shelf = try PortalShelf()
        try shelf.snapshot(
            [
                .init(href: start, title: "Docs"),
                .init(href: "https://example.test/docs/json", title: "json"),
            ],
            site: start)
        try shelf.snapshot([], site: "https://failed.test/", isComplete: false)
        let jobRunner = JobRunner { _, _ in (.done, []) }
        defer { jobRunner.close() }
        let answer = try send("prefetch", "\(form)&what=site&every=daily", shelf, jobRunner)
        #expect(answer.status == (isAsked ? 409 : 303))
        #expect(jobRunner.jobs.isEmpty == isAsked)
        guard isAsked else { return }
        let text = String(decoding: answer.bytes, as: UTF8.self)
        for words in [
            "Pages of this site are stored already, as part of <a href=\"/-/sites/1\">", "Docs",
            "Update that site", "Add it as a separate site", "name=\"again\" value=\"1\"",
            "name=\"every\" value=\"daily\"",
        ] {
            #expect(text.contains(words), "\(words): \(text)")
        }
        // Only a stored start page can be opened.
        #expect(text.contains("localhost:8080/docs/json\"") == form.hasSuffix("json"))
    }

    @Test func `saved settings offer an update until one is queued`() {
        let site = "https://example.test/"
        let settings = PortalJob(
            number: 1, command: .changeSettings(site: site, SiteSettingsForm()), principal: .localUser,
            end: .done, outcome: [Phrase(.settingsSaved)], addedAt: 0)
        let update = PortalJob(
            number: 2, command: .update(site: site), principal: .localUser, end: .done, outcome: [],
            addedAt: 0)
        var context = PortalContext(
            layout: OriginLayout(port: 8080), links: PortalLinks(), hasProxy: false, now: 0,
            address: "/-/jobs", jsonAddress: "/-/jobs")
        context.token = "t"
        func text(of jobs: [PortalJob]) -> String {
            var html = HTMLWriter()
            JobsPage(jobs, now: 0).write(to: &html, context)
            return String(decoding: html.bytes, as: UTF8.self)
        }
        // The page also has a button that updates all sites.
        let field = "name=\"site\" value=\"\(site)\""
        #expect(text(of: [settings]).contains(field))
        #expect(!text(of: [settings, update]).contains(field))
        /// The notice on the page of the settings, to which the browser returns.
        func notice() -> String {
            var html = HTMLWriter()
            PortalFrame.writeNotice(settings, to: &html, context)
            return String(decoding: html.bytes, as: UTF8.self)
        }
        #expect(notice().contains(field) && notice().contains("Update"))
        context.token = nil
        #expect(!text(of: [settings]).contains(field))
        #expect(!notice().contains(field))
    }

    @Test func `a fetch that got nothing has failed, and offers a retry and the URL`() {
        let url = "https://example.test/radar.html"
        let job = PortalJob(
            number: 1, command: .fetch(url: url), principal: .localUser, end: .failed,
            outcome: [Phrase(.urlFailed, url, "the server answered 503")], addedAt: 0)
        var context = PortalContext(
            layout: OriginLayout(port: 8080), links: PortalLinks(), hasProxy: false, now: 0,
            address: "/-/jobs", jsonAddress: "/-/jobs")
        context.token = "t"
        var html = HTMLWriter()
        JobsPage([job], now: 0).write(to: &html, context)
        let text = String(decoding: html.bytes, as: UTF8.self)
        for words in [
            ">Failed<", "/-/do/goon", "Retry", "href=\"/-/page?url=\(url)\"", "the server answered 503",
        ] {
            #expect(text.contains(words), "\(words): \(text)")
        }
    }

    @Test(arguments: [
        ("the server answered 503", "the server answered 503", "der Server antwortete mit 503"),
        ("host not found", "its host has no address", "der Host hat keine Adresse"),
        ("timed out", "the server did not answer in time", "der Server antwortete nicht rechtzeitig"),
        (
            "cannot connect (refused)", "no connection to the server was possible (refused)",
            "es war keine Verbindung zum Server möglich (refused)"
        ),
        ("(odd", "(odd", "(odd"), ("(odd)", "(odd)", "(odd)"), ("", "", ""),
    ])
    func `a reason of a failure has one wording in each language`(
        reason: String, english: String, german: String
    ) {
        #expect(FailureText.text(for: reason, in: .english) == english)
        #expect(FailureText.text(for: reason, in: .german) == german)
        let check = Phrase(.checkItem, "missing", "https://a.test/x, \(reason)")
        #expect(check.text(in: .german) == "fehlt: https://a.test/x, \(german)")
        #expect(Phrase(.urlFailed, "a", reason).text(in: .english) == "a could not be fetched: \(english).")
    }

    @Test
    func `a page that the last update could not fetch says so, and makes no promise about the next one`() {
        var page = MissPage(url: "https://example.test/a", isNoted: true)
        page.site = "https://example.test/other"
        let fields = HTTPFields([.init(name: "Sec-Fetch-Dest", value: "document")])
        func text() -> String {
            String(decoding: page.answer(to: fields, layout: OriginLayout(port: 8080)).bytes, as: UTF8.self)
        }
        #expect(
            text().contains("The request is recorded")
                && text().contains("larder update &#39;https://example.test/other&#39;"))
        // No update fetches what the settings exclude.
        page.excludingSite = ("https://example.test/other", 7)
        #expect(!text().contains("The request is recorded") && !text().contains("larder update"), "\(text())")
        #expect(text().contains("The settings of the site https://example.test/other exclude this URL"))
        #expect(text().contains("/-/sites/7/settings"))
        // A prefetch of the URL would store all pages of the host once more.
        #expect(!text().contains("<pre>larder"))
        page.excludingSite = nil
        page.failure = LastFailure(
            site: "https://example.test/", reason: "timed out (no response for 30 s)", at: 100)
        page.now = 400
        #expect(!text().contains("The request is recorded"))
        #expect(
            text().contains(
                "The last update, 5 minutes ago, could not fetch this URL: the server did not answer in time (no response for 30 s).</bdi> The next update tries again."
            ), "\(text())")
        #expect(text().contains("larder update &#39;https://example.test/&#39;"))
        page.language = .german
        #expect(
            text().contains("vor 5 Minuten") && text().contains("der Server antwortete nicht rechtzeitig"))
    }

    @Test func `the page for a URL that is not stored has the link that fetches it before the command`()
        throws
    {
        var page = MissPage(url: "https://example.test/a", isNoted: false)
        page.hasOrders = true
        let fields = HTTPFields([.init(name: "Sec-Fetch-Dest", value: "document")])
        let answer = page.answer(to: fields, layout: OriginLayout(port: 8080))
        let text = String(decoding: answer.bytes, as: UTF8.self)
        let link = try #require(text.firstRange(of: "Fetch it now in the portal"))
        let command = try #require(text.firstRange(of: "<pre>"))
        #expect(link.lowerBound < command.lowerBound && text.contains("Or in a terminal:"), "\(text)")
    }

    @Test func `a finished download links to its site, and names the interval of automatic updates`() throws {
        let shelf = try PortalShelf([.init(href: PortalShelf.site, title: "Recipes")])
        try StoreWriter(shelf.folder).storeSchedule(.daily, ofSite: PortalShelf.site)
        let job = PortalJob(
            number: 1, command: .prefetch(address: PortalShelf.site, SiteSettingsForm()),
            principal: .localUser, end: .done, outcome: [], addedAt: 0)
        let context = PortalContext(
            layout: OriginLayout(port: 8080), links: PortalLinks(), hasProxy: false, now: 0,
            address: "/-/jobs", jsonAddress: "/-/jobs")
        var html = HTMLWriter()
        JobsPage([job], sites: try shelf.reader().sites(), now: 0).write(to: &html, context)
        let text = String(decoding: html.bytes, as: UTF8.self)
        #expect(text.contains("href=\"/-/sites/1\""), "\(text)")
        #expect(text.contains("Automatic updates: Every day"), "\(text)")
    }

    @Test(arguments: [
        ([Phrase(.cleanupPreview, "9 MB", "9 MB"), Phrase(.cleanupNothing)], nil as String?),
        ([Phrase(.cleanupPreview, "9 MB", "8 MB"), Phrase(.cleanupNothing)], "class=\"quiet\">Clean up<"),
        (
            [Phrase(.cleanupPreview, "9 MB", "8 MB"), Phrase(.cleanupOneSnapshot)],
            "class=\"warn\">Clean up and remove 1 snapshot<"
        ),
    ])
    func `a preview offers a cleanup only if that frees space, and warns only of removals`(
        outcome: [Phrase], button: String?
    ) {
        let job = PortalJob(
            number: 1, command: .forecast(limit: nil), principal: .localUser, end: .done, outcome: outcome,
            addedAt: 0)
        var context = PortalContext(
            layout: OriginLayout(port: 8080), links: PortalLinks(), hasProxy: false, now: 0,
            address: "/-/jobs",
            jsonAddress: "/-/jobs")
        context.token = "t"
        var html = HTMLWriter()
        JobsPage([job], now: 0).write(to: &html, context)
        let text = String(decoding: html.bytes, as: UTF8.self)
        #expect(text.contains("/-/do/collect") == (button != nil))
        if let button { #expect(text.contains(button), "\(text)") }
    }

    /// Sends the form of a command with a valid token, and returns the response; nil if it is sent later.
    private func send(
        _ name: String, _ form: String, _ shelf: PortalShelf, _ jobRunner: JobRunner,
        by visitor: PortalVisitor = PortalVisitor()
    ) throws -> Answer {
        try #require(try send(name, form, shelf, jobRunner, by: visitor, canInstallTimer: false))
    }

    private func send(
        _ name: String, _ form: String, _ shelf: PortalShelf, _ jobRunner: JobRunner,
        by visitor: PortalVisitor = PortalVisitor(), canInstallTimer: Bool
    ) throws -> Answer? {
        var visitor = visitor
        var accessGuard = PortalGuard(.init())
        // Only a server that listens for other machines accepts forwarded requests, after a login.
        if visitor.isForwarded {
            let hash = try #require(PasswordHash("correct horse"))
            accessGuard = PortalGuard(.init(isExposed: true, password: { hash }))
            guard case .success(let session) = accessGuard.logIn("correct horse") else {
                throw TestError("the password was not taken")
            }
            visitor.session = session
        }
        let portal = Portal(
            layout: OriginLayout(port: 8080),
            services: PortalServices(
                accessGuard: accessGuard, jobRunner: jobRunner, canInstallTimer: canInstallTimer),
            now: { PortalShelf.now })
        guard case .full(let token) = accessGuard.access(of: visitor, now: SystemClock.seconds()) else {
            throw TestError("no token")
        }
        let later = DeferredReply(try ReplyMailbox(), token: 1, DisconnectFlag())
        let answer = try portal.handleCommand(
            "/-/do/\(name)", type: "application/x-www-form-urlencoded",
            body: Array("token=\(token)&\(form)".utf8), from: visitor, reader: shelf.reader(),
            slot: later.makeSlot)
        return answer
    }

    @Test(
        arguments: [
            ("/-/sites/1", nil, "/-/sites/1"), ("/-/sites/1", 4, "/-/sites/1?did=4"),
            ("/-/sites/1?did=3", 4, "/-/sites/1?did=4"), ("/-/search?q=a&did=3", nil, "/-/search?q=a"),
            ("//evil.test/", nil, "/"), ("https://evil.test/", 4, "/?did=4"), ("/\\evil.test", nil, "/"),
            ("/a\r\nSet-Cookie: b", nil, "/"), ("", nil, "/"), (nil, 4, "/?did=4"),
        ] as [(String?, Int?, String)])
    func `a return path outside the portal is replaced by the home page`(
        place: String?, number: Int?, expected: String
    ) {
        #expect(Portal.returnPath(place, noticeOfJob: number) == expected)
    }

    @Test func `the boxes of a treemap have proportional areas, lie inside the map and do not overlap`() {
        let whole = Treemap.Box(x: 10, y: 20, width: 300, height: 200)
        for numbers in [[6.0, 6, 4, 3, 2, 2, 1], [1], [5, 0, -1, .nan], [1000, 1, 1, 1], []] {
            let boxes = Treemap.boxes(numbers, in: whole)
            #expect(boxes.count == numbers.count)
            let sum = numbers.filter { $0 > 0 }.reduce(0, +)
            for (number, box) in zip(numbers, boxes) {
                let area = number > 0 ? number / sum * 60_000 : 0
                #expect(abs(box.width * box.height - area) < 0.001)
                guard area > 0 else { continue }
                #expect(box.x >= 10 - 1e-6 && box.x + box.width <= 310 + 1e-6)
                #expect(box.y >= 20 - 1e-6 && box.y + box.height <= 220 + 1e-6)
            }
            for one in boxes.indices {
                for other in boxes.indices where other > one {
                    let (a, b) = (boxes[one], boxes[other])
                    let width = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
                    let height = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
                    #expect(width < 1e-6 || height < 1e-6)
                }
            }
        }
        #expect(
            Treemap.boxes([1, 1], in: .init(x: 0, y: 0, width: 0, height: 9)).allSatisfy { $0.width == 0 })
    }

    @Test func `only pages for visitors with full access contain commands and the token`() throws {
        let shelf = try PortalShelf([.init(href: "https://example.test/", title: "Recipes")])
        let jobRunner = JobRunner { _, _ in (.done, []) }
        defer { jobRunner.close() }
        func page(_ accessGuard: PortalGuard, _ target: String, accept: String? = nil) throws -> String {
            let portal = Portal(
                layout: OriginLayout(port: 8080),
                services: PortalServices(accessGuard: accessGuard, jobRunner: jobRunner),
                now: { PortalShelf.now })
            var visitor = PortalVisitor()
            visitor.accept = accept
            let answer = try portal.answer(target, for: visitor, reader: shelf.reader())
            return String(decoding: answer.bytes, as: UTF8.self)
        }
        let open = PortalGuard(.init())
        let targets = [
            "/", "/-/sites/1", "/-/page?url=https://example.test/", "/-/jobs", "/-/room",
            "/-/sites/1/settings",
        ]
        for target in targets {
            #expect(try page(open, target).contains("name=\"token\""), "\(target)")
            #expect(!(try page(open, target, accept: "application/json")).contains("token"), "\(target)")
            #expect(!(try page(PortalGuard(.init(isReadOnly: true)), target)).contains("<form class=\"order"))
            let stranger = try page(PortalGuard(.init(isExposed: true)), target)
            #expect(stranger.hasPrefix("HTTP/1.1 403 ") && !stranger.contains("Recipes"), "\(target)")
        }
    }

    @Test func `watching clients receive progress events, and pages without scripts reload`() throws {
        let accessGuard = Monitor(false)
        let jobRunner = JobRunner { command, run in
            run.report(JobProgress())
            _ = accessGuard.wait { $0 ? true : nil }
            return (.done, [Phrase(.untranslated, "well")])
        }
        defer { jobRunner.close() }
        let hasSentEvent = Monitor(false)
        let number = try #require(
            jobRunner.add(.update(site: nil), by: .localUser) { hasSentEvent.change { $0 = true } })
        #expect(JobsPage(jobRunner.jobs, now: 0).refreshWithoutScript == 3)
        accessGuard.change { $0 = true }
        _ = hasSentEvent.wait { $0 ? true : nil }
        let job = try #require(jobRunner.jobs.first { $0.number == number })
        #expect(job.state == .ended(.done) && job.outcome == [Phrase(.untranslated, "well")])
        #expect(JobsPage(jobRunner.jobs, now: 0).refreshWithoutScript == nil)
    }
}
