import Digest
import Synchronization
import System
import TestOrigin
import Testing
import Web

/// `clients/larder-updates.js` in Chromium, with a web server whose network fails at chosen requests.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct UpdateClientTests {
    /// A web server with the releases of an app: 20 scripts, and the page that updates them.
    private final class App: Sendable {
        private struct Content {
            var manifest: [UInt8] = []
            var signature: String?
            var files: [String: String] = [:]
            /// The number of requests until the network fails; nil if it does not.
            var requestsLeft: Int?
            /// Whether a failing response ends in its body, and not before it.
            var failsInBody = false
        }

        let origin: TestOrigin
        private let content = Mutex(Content())

        static let fileCount = 20
        static let clients =
            #filePath.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 } + "/clients"

        init() throws {
            origin = try TestOrigin()
            origin.serve(folder: Self.clients)
            origin.on("/page", .page(Self.page))
            origin.otherwise { [weak self] in self?.answer(to: $0) }
        }

        private static let page = """
            <!DOCTYPE html><title>App</title><script type=module>
            import {LarderUpdates} from "/larder-updates.js"
            window.make = (options) => new LarderUpdates({manifest: "/app/manifest.json", startSeconds: 0, ...options})
            window.update = (options) => make(options).update()
            // The texts of all files of a release, which begin with its version.
            window.texts = async (updates) => {
              const release = await updates.start()
              await updates.started()
              return Promise.all(release.urls.map(async (url) => (await release.response(url)).text()))
            }
            </script>
            """

        /// Publishes a release in which the files with these numbers have changed.
        func publish(
            _ version: String, changing changed: some Sequence<Int> = 0..<fileCount,
            members: String = "", claims: (_ text: String) -> String = sha256
        ) {
            content.withLock { content in
                for number in changed {
                    content.files["/app/\(number).js"] = "\(version) of file \(number)\n"
                }
                let bundles = content.files.map { path, text in
                    #"{"url": "\#(path.dropFirst("/app/".count))", "size": \#(text.utf8.count), \#(claims(text))}"#
                }
                content.manifest = Array(
                    #"{"version": "\#(version)", \#(members)"bundles": [\#(bundles.joined(separator: ", "))]}"#
                        .utf8)
                content.signature = nil
            }
        }

        static func sha256(_ text: String) -> String {
            #""sha256": "\#(DigestStream.digest(.sha256, of: Array(text.utf8).span).hex)""#
        }

        /// Signs the manifest, and then changes it.
        func sign(
            _ key: MinisignPrivateKey, isInside: Bool = false, file: String? = "manifest.json",
            adding suffix: String = ""
        ) {
            content.withLock { content in
                let comment = MinisignSignature.trustedComment(timestamp: 1_700_000_000, file: file)
                let signature = key.sign(content.manifest, trustedComment: comment).text
                if isInside {
                    var writer = JSONWriter(.compact)
                    writer.object { $0.member("signature", signature) }
                    content.manifest =
                        content.manifest.dropLast() + [UInt8(ascii: ",")] + writer.bytes.dropFirst()
                } else {
                    content.signature = signature
                }
                content.manifest += Array(suffix.utf8)
            }
        }

        /// Replaces the text of a file without changing the manifest.
        func damage(_ path: String) { content.withLock { $0.files[path] = "9.9.9 of another file\n" } }

        /// Lets the network fail after this number of requests.
        func cut(after count: Int?, inBody: Bool = false) {
            content.withLock { ($0.requestsLeft, $0.failsInBody) = (count, inBody) }
        }

        private func answer(to request: OriginRequest) -> OriginAnswer? {
            // The module itself comes from its folder.
            guard request.path.hasPrefix("/app/") else { return nil }
            return content.withLock { content in
                let tag = "\"\(DigestStream.digest(.sha256, of: content.manifest.span).hex)\""
                let answer: OriginAnswer =
                    if request.path == "/app/manifest.json" {
                        .file(content.manifest, type: "application/json").validated(
                            entityTag: tag, ranges: false)
                    } else if request.path == "/app/manifest.json.minisig", let signature = content.signature
                    {
                        .file(signature, type: "text/plain")
                    } else if let text = content.files[request.path] {
                        .file(text, type: "text/javascript")
                    } else {
                        .failure(404)
                    }
                guard let left = content.requestsLeft else { return answer }
                content.requestsLeft = max(left - 1, 0)
                return left > 0 ? answer : content.failsInBody ? answer.truncated(after: 5) : .hangUp
            }
        }

        func open() throws -> ChromiumVisit { try Chromium().open(origin.url("/page"), quiet: nil) }
    }

    /// Expects that a start of the app sees all files with the versions of one release.
    private func expectWhole(_ visit: ChromiumVisit, _ versions: [String], _ note: Comment) throws {
        let texts = try visit.evaluate("texts(make())")?.array?.compactMap(\.string) ?? []
        #expect(texts.count == App.fileCount, note)
        #expect(Set(texts.map { String($0.prefix { $0 != " " }) }) == Set(versions), note)
    }

    @Test func `an update fetches only the files that differ, and nothing if the manifest is the same`()
        throws
    {
        let app = try App()
        app.publish("1.0.0")
        let visit = try app.open()
        let first = try visit.evaluate("update()")
        #expect(first?["outcome"]?.string == "changed")
        #expect(first?["fetched"]?.int == App.fileCount)
        try expectWhole(visit, ["1.0.0"], "the first release")
        #expect(try visit.evaluate("update()")?["outcome"]?.string == "current")

        app.publish("1.1.0", changing: [7])
        app.origin.forgetRequests()
        let second = try visit.evaluate("update({reportURL: '/reports'})")
        #expect(second?["fetched"]?.int == 1)
        #expect(second?["reused"]?.int == App.fileCount - 1)
        #expect(app.origin.waitForRequests(3))
        #expect(app.origin.requests.map(\.target) == ["/app/manifest.json", "/app/7.js", "/reports"])
        let reported = app.origin.requests.last?.body ?? []
        let report = try JSONValue.parse(reported.span)
        #expect(report["outcome"]?.string == "changed")
        #expect(report["version"]?.string == "1.1.0")
    }

    @Test(arguments: [false, true])
    func `a network that fails at any request leaves the old or the new release whole`(inBody: Bool) throws {
        let app = try App()
        app.publish("1.0.0")
        let visit = try app.open()
        _ = try visit.evaluate("update()")
        try expectWhole(visit, ["1.0.0"], "before the update")
        // The request for the manifest, or that for one of three files fails.
        for count in 0...3 {
            app.publish("1.1.\(count)", changing: 0..<3)
            app.cut(after: count, inBody: inBody)
            #expect(
                try visit.evaluate("update()")?["outcome"]?.string == "unreachable", "request \(count)")
            try expectWhole(visit, ["1.0.0"], "request \(count)")
        }
        app.cut(after: nil)
        // The browser fails to write which release is live.
        let broken = try visit.evaluate(
            """
            (async () => {
              const put = IDBObjectStore.prototype.put
              IDBObjectStore.prototype.put = () => { throw new Error("the disk is full") }
              try { return await update() } finally { IDBObjectStore.prototype.put = put }
            })()
            """)
        #expect(broken?["outcome"]?.string == "failed")
        try expectWhole(visit, ["1.0.0"], "before the switch")
        #expect(try visit.evaluate("update()")?["outcome"]?.string == "changed")
        app.cut(after: 0)
        try expectWhole(visit, ["1.1.3", "1.0.0"], "after the switch")
        #expect(try visit.evaluate("make().status()")?["version"]?.string == "1.1.3")
    }

    @Test func `manifests and files that do not verify are refused, and the release stays`() throws {
        let app = try App()
        app.publish("2.0.0")
        let visit = try app.open()
        _ = try visit.evaluate("update()")
        let key = try #require(MinisignPrivateKey())
        let otherKey = try #require(MinisignPrivateKey())
        let keys = "{keys: ['\(key.publicKey.text)']}"
        func expectRefusal(_ reason: String, _ options: String = "{}", outcome: String = "refused") throws {
            let report = try visit.evaluate("update(\(options))")
            #expect(report?["outcome"]?.string == outcome, "\(reason)")
            #expect(report?["reason"]?.string?.contains(reason) == true, "\(report?["reason"]?.string ?? "")")
            #expect(report?["version"]?.string == "2.0.0")
        }
        app.publish("1.9.9")
        try expectRefusal("older than 2.0.0")
        app.publish("2.0.0-rc.1")
        try expectRefusal("older than 2.0.0")
        app.publish("2.1.0")
        try expectRefusal("not signed", keys)
        app.sign(otherKey)
        try expectRefusal("a key that is not trusted", keys)
        app.publish("2.1.0")
        app.sign(key, adding: " ")
        try expectRefusal("changed after it was signed", keys)
        app.publish("2.1.0")
        app.sign(key, file: "other.json")
        try expectRefusal("for the file other.json", keys)
        app.publish("2.1.0", members: #""expires": "2020-01-01T00:00:00Z", "#)
        try expectRefusal("has expired", outcome: "expired")
        app.publish("2.1.0") { _ in #""md5": "0cc175b9c0f1b6a831c399e269772661""# }
        try expectRefusal("pass a function for MD5")
        try expectRefusal("its MD5 differs", "{md5: () => '00'}")
        app.publish("2.1.0")
        try expectRefusal("more than 5", "{maxFiles: 5}")
        try expectRefusal("exceed 30 bytes", "{maxBytes: 30}")
        app.damage("/app/3.js")
        try expectRefusal("/app/3.js")
        app.publish("2.2.0")
        app.sign(key)
        _ = try visit.evaluate(
            "window.ed25519 = crypto.subtle.importKey; crypto.subtle.importKey = () => Promise.reject(new Error())"
        )
        try expectRefusal("has no Ed25519", keys)
        _ = try visit.evaluate("crypto.subtle.importKey = ed25519")
        #expect(try visit.evaluate("update(\(keys))")?["outcome"]?.string == "changed")
        app.publish("2.3.0")
        app.sign(key, isInside: true, file: nil)
        #expect(try visit.evaluate("update(\(keys))")?["outcome"]?.string == "changed")
    }

    @Test(arguments: [true, false])
    func `two pages that update at once get one whole release`(hasLocks: Bool) throws {
        let app = try App()
        app.publish("1.0.0")
        let visit = try app.open()
        let outcomes =
            try visit.evaluate(
                """
                (async () => {
                  const frame = document.createElement("iframe")
                  frame.src = "/page"
                  const loaded = new Promise((done) => { frame.onload = done })
                  document.body.append(frame)
                  await loaded
                  if (!\(hasLocks)) for (const page of [window, frame.contentWindow]) {
                    Object.defineProperty(page.navigator, "locks", {value: undefined})
                  }
                  const reports = await Promise.all([update(), frame.contentWindow.update()])
                  return reports.map((report) => report.outcome)
                })()
                """)?.array?.compactMap(\.string) ?? []
        #expect(outcomes.contains("changed"))
        #expect(outcomes.allSatisfy { ["changed", "current"].contains($0) })
        if hasLocks {
            #expect(app.origin.requests.count { $0.target.hasPrefix("/app/") } == App.fileCount + 2)
        }
        try expectWhole(visit, ["1.0.0"], "two pages")
    }

    @Test func `a release that was not confirmed is replaced by the one before at the next start`() throws {
        let app = try App()
        app.publish("1.0.0")
        let visit = try app.open()
        _ = try visit.evaluate("update()")
        let start = "window.updates = make(); updates.start().then((release) => release.version)"
        #expect(try visit.evaluate(start)?.string == "1.0.0")
        #expect(try visit.evaluate("updates.started()")?.bool == true)
        app.publish("1.1.0", changing: [1])
        #expect(try visit.evaluate("update()")?["outcome"]?.string == "changed")
        #expect(try visit.evaluate(start)?.string == "1.1.0")
        #expect(try visit.evaluate(start)?.string == "1.0.0")
        try expectWhole(visit, ["1.0.0"], "after the return")
        // The same release is not installed again.
        #expect(try visit.evaluate("update()")?["outcome"]?.string == "refused")
        app.publish("1.2.0", changing: [1])
        #expect(try visit.evaluate("update()")?["outcome"]?.string == "changed")
        #expect(try visit.evaluate(start)?.string == "1.2.0")
        #expect(try visit.evaluate("updates.fallBack('it shows nothing')")?.bool == true)
        #expect(try visit.evaluate(start)?.string == "1.0.0")
        // A page that is still open and has time left is not a failed start.
        app.publish("1.3.0", changing: [1])
        _ = try visit.evaluate("update()")
        let slowStart =
            "window.slow = make({startSeconds: 60}); slow.start().then((release) => release.version)"
        #expect(try visit.evaluate(slowStart)?.string == "1.3.0")
        #expect(try visit.evaluate(slowStart)?.string == "1.3.0")
    }

    @Test func `the example works from its service worker, also without a network`() throws {
        let origin = try TestOrigin()
        let files = ["index.html", "style.css", "main.js", "updates.js", "worker.js", "larder-updates.js"]
        let folder = try TemporaryFolder()
        for name in files {
            let place = name.hasPrefix("larder") ? App.clients : App.clients + "/example"
            let bytes = try WholeFile.read("\(place)/\(name)", atMost: 1 << 20)
            _ = try folder.write(bytes, to: name)
        }
        origin.serve(folder: folder.path, at: "/")
        func publish(_ version: String) throws {
            let bundles = try files.map { name in
                let bytes = try WholeFile.read(folder.file(name), atMost: 1 << 20)
                return
                    #"{"url": "\#(name)", "sha256": "\#(DigestStream.digest(.sha256, of: bytes.span).hex)"}"#
            }
            _ = try folder.write(
                #"{"version": "\#(version)", "bundles": [\#(bundles.joined(separator: ", "))]}"#,
                to: "manifest.json")
        }
        try publish("1.0.0")
        let report = """
            (async () => {
              const text = () => document.getElementById("report").textContent
              while (/^Looking/.test(text())) await new Promise(requestAnimationFrame)
              await navigator.serviceWorker.ready
              return text()
            })()
            """
        let visit = try Chromium().open(origin.url("/"), quiet: nil)
        #expect(try visit.evaluate(report)?.string == "changed: 6 files fetched, 0 reused")
        try visit.navigate(to: origin.url("/"), quiet: nil)
        #expect(try visit.evaluate(report)?.string?.hasPrefix("current") == true)
        #expect(try visit.text().contains("Release 1.0.0"))

        // A page gets all files from the release that it was opened with.
        _ = try folder.write("body { color: red }", to: "style.css")
        try publish("1.1.0")
        let update =
            "import('./updates.js').then(({updates}) => updates.update()).then((report) => report.outcome)"
        #expect(try visit.evaluate(update)?.string == "changed")
        let style = "fetch('style.css').then((response) => response.text())"
        #expect(try visit.evaluate(style)?.string?.contains("red") == false)
        origin.stop()
        try visit.navigate(to: origin.url("/?offline"), quiet: nil)
        #expect(try visit.evaluate(report)?.string?.hasPrefix("unreachable") == true)
        #expect(try visit.text().contains("Release 1.1.0"))
        #expect(try visit.evaluate(style)?.string?.contains("red") == true)
        let part =
            "fetch('style.css', {headers: {Range: 'bytes=0-3'}}).then(async (response) => response.status + await response.text())"
        #expect(try visit.evaluate(part)?.string == "206body")
    }
}
