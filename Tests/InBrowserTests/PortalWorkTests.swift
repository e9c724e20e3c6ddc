import LarderKit
import System
import TestOrigin
import Testing
import Web

/// Commands that a user gives in the portal, and that no page of the mirror may give.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct PortalWorkTests {
    private let origin: TestOrigin
    private let larder: Larder
    private let scratch: TemporaryFolder

    init() async throws {
        origin = try TestOrigin()
        origin.on("/", .page("<!DOCTYPE html><title>Jam</title><a href=/plum>plum</a><a href=/pear>pear</a>"))
        origin.on("/plum", .page("<!DOCTYPE html><title>Plum</title>plum"))
        origin.on("/alone", .page("<!DOCTYPE html><title>Alone</title>alone"))
        origin.otherwise { _ in .failure(404) }
        scratch = try TemporaryFolder()
        larder = Larder(at: scratch.file("larder"))
        var options = PrefetchOptions()
        options.browser = ""
        for number in 1...3 {
            // Changes the page, because an unchanged site gets no further snapshot.
            origin.on("/pear", .page("<!DOCTYPE html><title>Pear</title>pear \(number)"))
            _ = try await larder.prefetch([origin.url("/")], options: options)
        }
        origin.forgetRequests()
    }

    /// Presses the button with this text.
    private func press(_ words: String, _ visit: ChromiumVisit) throws {
        let found = try visit.evaluate(
            """
            (() => {
              const button = [...document.querySelectorAll("form button")]
                .find(b => b.textContent.replace(/\\s+/g, " ").trim().startsWith("\(words)"))
              if (!button) return false
              setTimeout(() => button.click())
              return true
            })()
            """)
        #expect(found?.bool == true, "no button \(words)")
    }

    /// Waits until a condition is true. The page may be replaced meanwhile.
    private func waitUntil(_ visit: ChromiumVisit, _ condition: String) throws {
        let end = ContinuousClock.now + .seconds(120)
        while ContinuousClock.now < end {
            let value = try? visit.evaluate(
                """
                new Promise((done) => {
                  const end = Date.now() + 2000
                  const look = () => {
                    if (\(condition)) done(true)
                    else if (Date.now() > end) done(false)
                    else setTimeout(look, 30)
                  }
                  look()
                })
                """, within: .seconds(5))
            if value?.bool == true { return }
        }
        Issue.record("\(condition): \(try visit.text())")
    }

    private func waitUntil(_ visit: ChromiumVisit, says words: String) throws {
        try waitUntil(visit, "document.body.innerText.includes('\(words)')")
    }

    @Test
    func `a prefetch started in the portal shows live progress, and the site is served when it is done`()
        async throws
    {
        origin.on("/slow/", .page("<!DOCTYPE html><title>Slow</title><a href=/slow/a>a</a>"))
        let gate = Monitor(false)
        defer { gate.change { $0 = true } }
        origin.on("/slow/a") { _ in
            _ = gate.wait { $0 ? true : nil }
            return .page("<!DOCTYPE html><title>Slow a</title>a")
        }
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let visit = try Chromium().open(service.address)
        _ = try visit.evaluate(
            """
            document.querySelector("details").open = true
            document.querySelector("[name=url]").value = "\(origin.url("/slow/"))"
            document.querySelector("[name=scope]").value = "path"
            document.querySelector("[name=render]").value = "never"
            0
            """)
        try press("Download", visit)
        try waitUntil(visit, "location.pathname === '/-/jobs'")
        // Marks the page, to test that it is updated by events alone, without a reload.
        _ = try visit.evaluate("globalThis.isSamePage = true; 0")
        try waitUntil(visit, "document.querySelector('[data-figure=pages]')?.textContent === '1'")
        for rule in [PortalTests.poorContrast, PortalTests.structuralFaults] {
            #expect(try visit.evaluate(rule)?.array?.compactMap(\.string) == [])
        }
        gate.change { $0 = true }
        try waitUntil(visit, "document.querySelector('.list .badge')?.innerText === 'Done'")
        #expect(try visit.evaluate("globalThis.isSamePage")?.bool == true)
        #expect(try visit.text().contains("Pages: 2, assets: 0"))
        let copy = try #require(service.address(of: origin.url("/slow/a")))
        try visit.navigate(to: copy, quiet: nil)
        #expect(try visit.text().contains("a"))
    }

    @Test func `the keyboard focus stays on a link when the end of a job replaces the cards`() throws {
        let gate = Monitor(false)
        defer { gate.change { $0 = true } }
        origin.on("/plum") { _ in
            _ = gate.wait { $0 ? true : nil }
            return .page("<!DOCTYPE html><title>Plum</title>ripe")
        }
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let visit = try Chromium().open(service.address)
        try press("Update", visit)
        try waitUntil(visit, "location.pathname === '/-/jobs'")
        try visit.navigate(to: service.address, quiet: nil)
        try waitUntil(visit, "document.querySelector('.card button')?.innerText.startsWith('Stop')")
        _ = try visit.evaluate(
            "globalThis.isSamePage = true; document.querySelector('.card a.button').focus()")
        gate.change { $0 = true }
        try waitUntil(visit, "document.querySelector('.card button')?.innerText.startsWith('Update')")
        #expect(try visit.evaluate("globalThis.isSamePage")?.bool == true)
        let isFocused = "document.activeElement === document.querySelector('.card a.button')"
        #expect(try visit.evaluate(isFocused)?.bool == true)
    }

    @Test func `a running prefetch is stopped, and continues when it is retried`() async throws {
        let gate = Monitor(false)
        defer { gate.change { $0 = true } }
        origin.on("/long/0", .page("<!DOCTYPE html><title>0</title><a href=/long/1>n</a>"))
        origin.on("/long/1") { _ in
            _ = gate.wait { $0 ? true : nil }
            return .page("<!DOCTYPE html><title>1</title>one")
        }
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let visit = try Chromium().open(service.address + "-/jobs")
        _ = try visit.evaluate(
            """
            document.querySelector("details").open = true
            document.querySelector("[name=url]").value = "\(origin.url("/long/0"))"
            document.querySelector("[name=render]").value = "never"
            0
            """)
        try press("Download", visit)
        // Another site starts on the same host.
        try waitUntil(visit, "document.querySelector('h1')?.innerText === 'Partly stored already'")
        try press("Add it as a separate site", visit)
        try waitUntil(visit, "Number(document.querySelector('[data-figure=pages]')?.textContent) >= 1")
        try press("Stop", visit)
        try waitUntil(visit, "document.querySelector('.list .badge')?.innerText === 'Stopped'")
        gate.change { $0 = true }
        try press("Retry", visit)
        try waitUntil(
            visit,
            "[...document.querySelectorAll('.list .badge')].length === 2 && !document.querySelector('.job')")
        let report = try await larder.snapshots(of: origin.url("/long/0"))
        #expect(report.sites.first?.live != nil)
    }

    @Test func `the portal makes a snapshot live, removes another, pins a site and saves its settings`()
        async throws
    {
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let visit = try Chromium().open(service.address + "-/sites/1")
        try press("Make this one live snapshot 2", visit)
        try waitUntil(visit, says: "Snapshot 2 is live now.")
        #expect(try await larder.snapshots().sites.first?.live == 2)
        try press("Remove snapshot 1", visit)
        try waitUntil(visit, says: "Snapshot 1 was removed.")
        #expect(try await larder.snapshots().sites.first?.snapshots.map(\.name) == [2, 3])
        try press("Pin", visit)
        try waitUntil(visit, says: "Pinned: ")
        #expect(try await larder.pins().pins.map(\.value) == [origin.url("/")])
        try press("Unpin", visit)
        try waitUntil(visit, says: "Unpinned.")
        #expect(try await larder.pins().pins.isEmpty)

        try visit.navigate(to: service.address + "-/sites/1/settings")
        _ = try visit.evaluate(
            """
            document.querySelector("[name=pages]").value = "7"
            document.querySelector("[name=every]").value = "daily"
            document.querySelector("[name=exclude]").value = "*.pdf\\n/private/**"
            0
            """)
        try press("Save", visit)
        try waitUntil(visit, says: "Settings saved")
        #expect(try visit.evaluate("document.querySelector('[name=pages]').value")?.string == "7")
        #expect(try visit.evaluate("document.querySelector('[name=every]').value")?.string == "daily")
        #expect(try await larder.schedules().sites.first?.schedule == .daily)
        #expect(
            try visit.evaluate("document.querySelector('[name=exclude]').value")?.string
                == "*.pdf\n/private/**")
        #expect(origin.requests.isEmpty)
    }

    @Test func `the setting of the bar is kept when the server is restarted`() throws {
        for (isOn, words) in [(true, "Turn page bar on"), (false, "Turn page bar off")] {
            let service = try larder.serve(port: 0)
            let visit = try Chromium().open(service.address + "-/bar")
            try press(words, visit)
            try waitUntil(visit, says: isOn ? "The page bar is on" : "The page bar is off")
            service.stop()
            let next = try larder.serve(port: 0)
            defer { next.stop() }
            let again = try Chromium().open(next.address + "-/bar")
            #expect(try again.text().contains("The page bar is on") == isOn)
        }
    }

    @Test func `the removal of a site can be cancelled before it starts`() async throws {
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let visit = try Chromium().open(service.address + "-/sites/1")
        try press("Remove site", visit)
        try waitUntil(visit, says: "will be removed in a few seconds")
        try press("Cancel", visit)
        try waitUntil(visit, says: "Cancelled")
        #expect(try await larder.snapshots().sites.count == 1)
    }

    /// A script that chooses a file in the form. Larger files are written to the disk during the upload.
    private static func choosing(_ name: String, _ text: String, padded byteCount: Int = 0) -> String {
        """
        (() => {
          const chosen = new DataTransfer()
          const text = \(literal(text)).replace("PADDING", "x".repeat(\(byteCount)))
          chosen.items.add(new File([text], "\(name)"))
          document.querySelector("[type=file]").files = chosen.files
        })()
        """
    }

    /// An archive with one page.
    private static let archive = """
        {"log": {"version": "1.2", "creator": {"name": "PADDING"}, "entries": [{"startedDateTime": "2026-11-01T10:00:00Z",
        "time": 1, "cache": {}, "timings": {},
        "request": {"method": "GET", "url": "https://archived.test/", "httpVersion": "HTTP/1.1", "headers": []},
        "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1",
        "headers": [{"name": "Content-Type", "value": "text/html"}],
        "content": {"size": 44, "mimeType": "text/html", "text": "<!DOCTYPE html><title>Kept</title><p>kept"}}}]}}
        """

    @Test(arguments: [0, 3_000_000])
    func `an uploaded archive is imported and its page is served, and a file of another type fails`(
        byteCount: Int
    ) async throws {
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let visit = try Chromium().open(service.address + "-/import")
        _ = try visit.evaluate(Self.choosing("old pages.har", Self.archive, padded: byteCount))
        try press("Import", visit)
        try waitUntil(visit, "document.querySelector('.list .badge')?.innerText === 'Done'")
        #expect(try visit.text().contains("https://archived.test/: 1 responses, 1 of them pages"))
        let copy = try #require(service.address(of: "https://archived.test/"))
        try visit.navigate(to: copy)
        #expect(try visit.text().contains("kept"))
        #expect(try Self.files(of: larder).isEmpty)

        try visit.navigate(to: service.address + "-/import")
        _ = try visit.evaluate(Self.choosing("nonsense.bin", "nonsense PADDING", padded: byteCount))
        try press("Import", visit)
        try waitUntil(visit, "document.querySelector('.list .badge')?.innerText === 'Failed'")
        #expect(try visit.text().contains("nonsense.bin"))
        #expect(try !visit.text().contains("upload-"))
        #expect(try Self.files(of: larder).isEmpty)
    }

    private static func files(of larder: Larder) throws -> [String] {
        (Folder.names(in: larder.path + "/portal") ?? []).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `an export is downloaded and then deleted`() async throws {
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let visit = try Chromium().open(service.address + "-/sites/1/export")
        _ = try visit.evaluate(
            "document.querySelector('[name=form]').value = 'har'; document.querySelector('[name=snapshot]').value = '2'; 0"
        )
        try press("Export", visit)
        try waitUntil(visit, "document.querySelector('.list .badge')?.innerText === 'Done'")
        let taken = try visit.evaluate(
            """
            (async () => {
              const link = document.querySelector(".list a.button")
              const reply = await fetch(link.href), har = JSON.parse(await reply.text())
              return [reply.headers.get("Content-Disposition"),
                har.log.entries.map(e => new URL(e.request.url).pathname).sort().join()]
            })()
            """)?.array?.compactMap(\.string)
        #expect(taken?.first?.hasPrefix("attachment; filename=\"127.0.0.1-snapshot-2.har\"") == true)
        #expect(taken?.last?.hasPrefix("/,/pear,/plum") == true, "\(taken ?? [])")
        for rule in [PortalTests.poorContrast, PortalTests.structuralFaults] {
            #expect(try visit.evaluate(rule)?.array?.compactMap(\.string) == [])
        }
        #expect(try Self.files(of: larder) == ["job-1"])
        try press("Delete file", visit)
        try waitUntil(visit, "!document.querySelector('.list li')")
        #expect(try Self.files(of: larder).isEmpty)
        #expect(origin.requests.isEmpty)
    }

    @Test func `the portal fetches a missing URL, checks a site and previews a cleanup`() async throws {
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let visit = try Chromium().open(service.address + "-/page?url=\(origin.url("/alone"))")
        try press("Fetch now", visit)
        try waitUntil(visit, "document.querySelector('.list .badge')?.innerText === 'Done'")
        let copy = try #require(service.address(of: origin.url("/alone")))
        try visit.navigate(to: copy)
        #expect(try visit.text().contains("alone"))

        try visit.navigate(to: service.address + "-/sites/1")
        try press("Check", visit)
        try waitUntil(visit, says: "No problems found")
        try visit.navigate(to: service.address + "-/room?limit=1M")
        try press("Preview", visit)
        try waitUntil(visit, says: "after cleanup")
        let link = "new URL(document.querySelector('.list a.button').href).pathname"
        #expect(try visit.evaluate(link)?.string == "/-/room")
    }

    @Test func `a mirrored page can neither read the portal nor send it commands`() async throws {
        origin.on("/evil", .page("<!DOCTYPE html><title>Evil</title><body>evil"))
        var options = PrefetchOptions()
        options.browser = ""
        _ = try await larder.prefetch([origin.url("/evil")], options: options)
        let before = try await larder.snapshots()
        for allowsNetwork in [false, true] {
            var options = ServeOptions()
            options.allowsNetwork = allowsNetwork
            let service = try larder.serve(port: 0, options: options)
            defer { service.stop() }
            let visit = try Chromium().open(
                try #require(service.address(of: origin.url("/evil"))), quiet: nil)
            let portal = "http://larder.localhost:\(service.port)/"
            let told =
                try visit.evaluate(
                    """
                    (async () => {
                      const told = [], portal = "\(portal)"
                      const soon = (promise) => Promise.race([promise, new Promise(r => setTimeout(r, 1500, "nothing"))])
                      const tell = async (name, body) => {
                        try { told.push(`${name}: ${await soon(body())}`) } catch (e) { told.push(`${name}: refused`) }
                      }
                      await tell("read", async () => (await fetch(portal)).text())
                      await tell("read json", async () => (await fetch(portal + "-/jobs?format=json")).text())
                      await tell("read with cookies", async () => (await fetch(portal, { credentials: "include" })).text())
                      await tell("events", () => new Promise((done) => {
                        const source = new EventSource(portal + "-/jobs/live")
                        source.onerror = () => { source.close(); done("refused") }
                        source.onopen = () => done("open")
                      }))
                      const form = new URLSearchParams({ site: "\(origin.url("/"))", token: "x" })
                      for (const deed of ["remove", "update", "pin", "collect", "export"]) {
                        await tell(deed, async () => {
                          const reply = await fetch(portal + "-/do/" + deed, { method: "POST", mode: "no-cors", body: form })
                          return reply.type === "opaque" ? "refused" : "read"
                        })
                      }
                      for (const size of [10, 3000000]) {
                        const form = new FormData()
                        form.append("token", "x")
                        form.append("file", new File(["x".repeat(size)], "a.har"))
                        await tell("import", async () => {
                          const reply = await fetch(portal + "-/do/import", { method: "POST", mode: "no-cors", body: form })
                          return reply.type === "opaque" ? "refused" : "read"
                        })
                      }
                      await tell("file", async () => (await fetch(portal + "-/files/1/127.0.0.1.zip")).text())
                      await tell("frame", () => new Promise((done) => {
                        const frame = document.createElement("iframe")
                        frame.src = portal
                        frame.onload = () => {
                          try { done(frame.contentDocument ? (frame.contentDocument.body.innerText ? "read" : "refused") : "refused") }
                          catch (e) { done("refused") }
                        }
                        document.body.append(frame)
                      }))
                      await tell("window", async () => {
                        const other = open(portal)
                        await new Promise(r => setTimeout(r, 800))
                        try { return other && other.document && other.document.body.innerText ? "read" : "refused" }
                        catch (e) { return "refused" }
                      })
                      return told
                    })()
                    """, within: .seconds(120), asUser: true)?.array?.compactMap(\.string) ?? ["none"]
            #expect(told.allSatisfy { $0.hasSuffix(": refused") || $0.hasSuffix(": nothing") }, "\(told)")
            // Submits a form, as for a user.
            for deed in ["remove", "update"] {
                _ = try visit.evaluate(
                    """
                    (() => {
                      const form = document.createElement("form")
                      Object.assign(form, { method: "post", action: "\(portal)-/do/\(deed)" })
                      form.innerHTML = "<input name=site value='\(origin.url("/"))'><input name=token value=x>"
                      document.body.append(form)
                      setTimeout(() => form.submit())
                    })()
                    """, asUser: true)
                try visit.settle(within: .seconds(3))
                try visit.navigate(to: try #require(service.address(of: origin.url("/evil"))), quiet: nil)
            }
            try visit.navigate(to: portal + "-/jobs")
            #expect(try visit.text().contains("No tasks in progress."))
            #expect(try visit.evaluate("document.querySelectorAll('.list li').length")?.int == 0)
        }
        #expect(try await larder.snapshots() == before)
    }

    @Test(arguments: [("zh-CN", "zh-Hans"), ("de-DE", "de")])
    func `pages are shown in the language that the browser prefers, and fit the screen`(
        accepted: String, tag: String
    ) throws {
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let browser = try Chromium()
        // A page whose security policy allows it to request other pages of its server.
        let visit = try browser.open(service.address + "-/search")
        for target in [
            "", "-/sites/1", "-/room", "-/jobs", "-/sites/1/settings", "-/sites/1/export", "-/import",
        ] {
            let page =
                try visit.evaluate(
                    """
                    fetch("/\(target)", { headers: { "Accept-Language": "\(accepted)", Accept: "text/html" } }).then(r => r.text())
                    """)?.string ?? ""
            #expect(page.contains("<html lang=\"\(tag)\">"), "\(target)")
            _ = try visit.evaluate(
                """
                (() => {
                  const page = new DOMParser().parseFromString(\(Self.literal(page)), "text/html")
                  document.body.replaceWith(document.adoptNode(page.body))
                })()
                """)
            try PortalTests.expectAccessible(visit, target)
        }
    }

    @Test func `every command of the portal works without scripts, on narrow and wide screens`() async throws
    {
        origin.on("/plain/", .page("<!DOCTYPE html><title>Plain</title><p>plain"))
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let visit = try Chromium().open(service.address)
        try visit.disableScripts()
        func go(_ target: String) throws {
            try visit.navigate(to: service.address + target, quiet: nil)
            try PortalTests.expectAccessible(visit, target)
        }
        func send(_ words: String, isComplete: Bool = true) throws {
            let found = try visit.evaluate(
                """
                (() => {
                  const button = [...document.querySelectorAll("form button")]
                    .find(b => b.textContent.replace(/\\s+/g, " ").trim().startsWith("\(words)"))
                  document.isAnswered = false
                  button?.click()
                  return Boolean(button)
                })()
                """)
            #expect(found?.bool == true, "no button \(words)")
            // Navigating elsewhere before the answer would cancel the command.
            let end = ContinuousClock.now + .seconds(120)
            while isComplete, (try? visit.evaluate("document.isAnswered !== false"))?.bool != true {
                try #require(ContinuousClock.now < end, "no answer to \(words)")
            }
            try visit.settle(quiet: nil)
        }
        func wait(says words: String, at target: String? = nil) throws {
            let end = ContinuousClock.now + .seconds(120)
            while ContinuousClock.now < end {
                if (try? visit.text().contains(words)) == true { return }
                if let target { try visit.navigate(to: service.address + target, quiet: nil) }
            }
            Issue.record("\(words): \(try visit.text())")
        }
        #expect(try visit.evaluate("document.querySelector('h1') !== null")?.bool == true)

        // An invalid URL is reported beside its input.
        try go("")
        _ = try visit.evaluate("document.querySelector('[name=url]').value = 'nope'; 0")
        try send("Download")
        try wait(says: "is a word, not a URL")
        try PortalTests.expectAccessible(visit, "the error for an invalid URL")
        _ = try visit.evaluate(
            """
            document.querySelector("[name=url]").value = "\(origin.url("/plain/"))"
            document.querySelector("[name=scope]").value = "path"
            document.querySelector("[name=render]").value = "never"
            0
            """)
        try send("Download")
        try wait(says: "Pages: 1", at: "-/jobs")
        #expect(try await larder.snapshots().sites.count == 2)

        try go("-/sites/1")
        try send("Check")
        try wait(says: "No problems found", at: "-/jobs")
        try go("-/sites/1")
        try send("Pin")
        try wait(says: "Pinned: ")
        try send("Unpin")
        try wait(says: "Unpinned.")
        try send("Make this one live snapshot 2")
        try wait(says: "Snapshot 2 is live now.")
        try send("Remove snapshot 1")
        try wait(says: "Snapshot 1 was removed.")
        try send("Update")
        try wait(says: "Update \(origin.url("/"))", at: "-/jobs")
        try go("-/sites/1/settings")
        _ = try visit.evaluate("document.querySelector('[name=pages]').value = '7'; 0")
        try send("Save")
        try wait(says: "Settings saved")
        try go("-/room")
        try send("Preview")
        try wait(says: "after cleanup", at: "-/jobs")
        try go("-/page?url=\(origin.url("/alone"))")
        try send("Fetch now")
        try wait(says: "Stored: ", at: "-/jobs")
        try go("-/sites/1/export")
        try send("Export")
        try wait(says: "Download 127.0.0.1.zip", at: "-/jobs")
        try go("-/jobs")
        try send("Delete file")
        let end = ContinuousClock.now + .seconds(120)
        while (try? visit.text().contains("Download 127.0.0.1.zip")) != false {
            try #require(ContinuousClock.now < end, "the file is still there")
        }
        try go("-/import")
        // The browser asks for a file.
        try send("Import", isComplete: false)
        _ = try visit.evaluate(Self.choosing("kept.har", Self.archive))
        try send("Import")
        // Navigating elsewhere before the upload is complete would cancel it.
        try wait(says: "Import kept.har")
        try wait(says: "https://archived.test/: 1 responses", at: "-/jobs")
        try go("-/bar")
        try send("Turn page bar on")
        try wait(says: "The page bar is on")
        try send("Turn page bar off")
        try wait(says: "The page bar is off")
        try go("-/sites/1")
        try send("Remove site")
        try wait(says: "will be removed in a few seconds")
        try send("Cancel")
        try wait(says: "Cancelled")
        #expect(try await larder.snapshots().sites.count == 3)
        try go("-/jobs")
    }

    private static func literal(_ text: String) -> String {
        ([text] as [String]).reduce("") { $0 + JSONText.string($1) }
    }
}

/// Writes a text as a JavaScript string literal.
private enum JSONText {
    static func string(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\u{2028}", "\u{2029}": quoted += "\\u" + String(scalar.value, radix: 16)
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
