import Glibc
import TestOrigin
import Testing
import Web

/// Pages with scripts are opened from the store alone, at the end of a prefetch and by a check.
@Suite(.enabled(if: Chromium.executable != nil, "no browser is installed"), .serialized)
struct RehearsalTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on(
            "/words.json",
            .file(#"{"text":"Nine words that a script of the page has loaded"}"#, type: "application/json"))
        origin.on("/favicon.ico", .failure(404))
    }

    private func larder(_ words: [String], browser: String? = Chromium.executable) throws
        -> ChildProcess.Ending
    {
        mkdir(home.file("tmp"), 0o700)
        return try ChildProcess(
            ChildProcess.built("larder"), words,
            environment: [
                "HOME": home.path, "PATH": "/usr/bin:/bin", "TMPDIR": home.file("tmp"),
                "LARDER_PROGRESS": "none", "LARDER_CHROMIUM": browser ?? "",
            ]
        ).wait()
    }

    /// A page that shows the text that `url`, a JavaScript expression, loads.
    private func page(loading url: String) -> OriginAnswer {
        .page(
            """
            <!DOCTYPE html><title>t</title><p id=words>
            <script>fetch(\(url)).then(r => r.json()).then(d => words.textContent = d.text)</script>
            """)
    }

    /// Distinguishes the mirror from the site: the names of mirrored hosts end in `localhost`.
    private static let isMirror = "location.hostname.endsWith('localhost')"

    @Test("A site whose pages show offline what they showed online is proved")
    func proved() throws {
        origin.on("/", page(loading: "['', 'words.json'].join('/')"))
        let prefetch = try larder(["prefetch", origin.url("/")])
        #expect(prefetch.output.contains("opened offline: 1 kind of pages with scripts, as seen online"))
        origin.stop()
        let check = try larder(["check", origin.url("/"), "--require", "rehearsed"])
        #expect(check.status == 0, "\(check)")
        #expect(
            check.output.contains(
                "is stored and undamaged, and its pages show offline what they showed online"))
        let json = try larder(["check", origin.url("/"), "--json"]).output
        let rehearsal = try #require(try JSONValue.parse(Array(json.utf8).span)["rehearsal"])
        #expect(rehearsal["level"]?.string == "rehearsed")
        #expect(rehearsal["kinds"]?.array?.first?["result"]?.string == "equal")
    }

    @Test("A page that is blank offline fails the check, although everything that it links to is stored")
    func blank() throws {
        origin.on(
            "/",
            .page(
                """
                <!DOCTYPE html><title>t</title><p id=words>
                <script>if (!\(Self.isMirror)) words.textContent = 'Words that only the live site shows'</script>
                """))
        let prefetch = try larder(["prefetch", origin.url("/")])
        #expect(prefetch.output.contains("differs offline: \(origin.url("/")): a browser shows other text"))
        origin.stop()
        let check = try larder(["check", origin.url("/")])
        #expect(check.status == 1)
        #expect(
            check.output.contains(
                "mismatch \(origin.url("/")): a browser shows other text than at the prefetch"))
        #expect(check.output.contains("differs offline: \(origin.url("/"))"))
        let read = try larder(["check", origin.url("/"), "--require", "read"])
        #expect(read.status == 0)
        #expect(read.output.contains("no page was opened, because of --require read"))
    }

    @Test("Without a browser, the check says what it cannot tell")
    func withoutBrowser() throws {
        origin.on("/", page(loading: "['', 'words.json'].join('/')"))
        #expect(try larder(["prefetch", origin.url("/")], browser: nil).status == 0)
        let check = try larder(["check", origin.url("/")], browser: nil)
        #expect(check.status == 0)
        #expect(
            check.output.contains(
                "not compared: 1 kind of pages with scripts, such as \(origin.url("/")): no browser was found"
            ))
        #expect(check.output.contains("; what its scripts request was not compared for all pages"))
        let strict = try larder(["check", origin.url("/"), "--require", "rehearsed"], browser: nil)
        #expect(strict.status == 2)
        #expect(strict.errors.contains("cannot find a Chromium or Chrome"))
        // With one, it is known that the prefetch saw no page.
        let unseen = try larder(["check", origin.url("/"), "--require", "rehearsed"])
        #expect(unseen.status == 1)
    }

    @Test("What pages request only offline is fetched before the prefetch ends")
    func fetched() throws {
        origin.on(
            "/other.json",
            .file(#"{"text":"Nine words that a script of the page has loaded"}"#, type: "application/json"))
        origin.on(
            "/",
            page(
                loading:
                    "['', \(Self.isMirror) ? 'other' : 'words', 'json'].join('/').replace('/json', '.json')"))
        let prefetch = try larder(["prefetch", origin.url("/")])
        #expect(prefetch.status == 0)
        #expect(origin.requests.count { $0.target == "/other.json" } == 1)
        #expect(
            origin.requests.count { $0.target == "/words.json" } == 1, "what is stored is not requested again"
        )
        #expect(prefetch.output.contains("opened offline: 1 kind of pages with scripts, as seen online"))
        origin.stop()
        #expect(try larder(["check", origin.url("/"), "--require", "rehearsed"]).status == 0)
    }

    @Test("Live data is named, and is not missing")
    func live() throws {
        origin.otherwise { _ in .file("data: 1\n\n", type: "text/event-stream") }
        origin.on(
            "/",
            .page(
                """
                <!DOCTYPE html><title>t</title><p>Words of the page that are there in any case.</p>
                <script>new EventSource(['', 'events', Date.now()].join('/'))</script>
                """))
        #expect(try larder(["prefetch", origin.url("/")]).status == 0)
        origin.stop()
        let check = try larder(["check", origin.url("/"), "--require", "rehearsed"])
        #expect(check.status == 0, "\(check)")
        #expect(check.output.contains("1 page using live data"))
    }
}
