import System
import TestOrigin
import Testing
import Web

@testable import Fetch

@Suite struct FetchLoopTests {
    private let origin: TestOrigin
    private let scratch: TemporaryFolder

    init() throws {
        origin = try TestOrigin()
        scratch = try TemporaryFolder()
    }

    private func options(_ change: (inout FetchOptions) -> Void = { _ in }) -> FetchOptions {
        var options = FetchOptions(userAgent: "larder-test", spoolFolder: scratch.path)
        options.proxies = ProxyRules()
        change(&options)
        return options
    }

    private func fetch(_ urls: [String], _ options: FetchOptions) throws -> [UInt32: FetchResult.Outcome] {
        let loop = try FetchLoop(options)
        for (number, url) in urls.enumerated() {
            loop.start(
                FetchRequest(
                    number: UInt32(number), url: try #require(WebURL(url)), nearestZone: .thisMachine))
        }
        var outcomes: [UInt32: FetchResult.Outcome] = [:]
        while outcomes.count < urls.count {
            for result in try loop.turn(waitingAtMost: .seconds(20)) {
                outcomes[result.number] = result.outcome
            }
        }
        return outcomes
    }

    private func fetch(_ target: String, _ options: FetchOptions) throws -> FetchResult.Outcome {
        try #require(try fetch([origin.url(target)], options)[0])
    }

    private func response(_ outcome: FetchResult.Outcome) throws -> FetchedResponse {
        switch outcome {
        case .response(let response): return response
        case .failure(let failure): throw failure
        }
    }

    @Test func `a response has its status, fields and body`() throws {
        origin.on("/a?b=1", .file(Array("hello".utf8), type: "text/plain"))
        let response = try response(try fetch("/a?b=1", options()))
        #expect(response.status == 200)
        #expect(response.fields["content-type"] == "text/plain")
        guard case .bytes(let bytes) = response.body else { throw FetchFailure(.broken, "a file") }
        #expect(bytes == Array("hello".utf8))
        let sent = try #require(origin.requests.first)
        #expect(sent.target == "/a?b=1")
        #expect(sent["User-Agent"] == "larder-test")
    }

    @Test func `many requests share few connections and all get a response`() throws {
        origin.otherwise { .file(Array($0.target.utf8), type: "text/plain") }
        let outcomes = try fetch((0..<100).map { origin.url("/\($0)") }, options())
        for number in 0..<100 {
            guard case .bytes(let bytes) = try response(try #require(outcomes[UInt32(number)])).body else {
                continue
            }
            #expect(bytes == Array("/\(number)".utf8))
        }
    }

    @Test func `a body over the threshold is stored as a file in the spool folder`() throws {
        let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
        origin.on("/", .file(body, type: "application/octet-stream"))
        let response = try response(try fetch("/", options { $0.spoolThreshold = 100_000 }))
        guard case .file(let path, 300_000) = response.body else { throw FetchFailure(.broken, "in memory") }
        #expect(path.hasPrefix(scratch.path))
        response.body.discard()
        #expect(scratch.names().isEmpty)
    }

    @Test func `a body over the limit fails and leaves no file`() throws {
        origin.on("/", .file([UInt8](repeating: 1, count: 300_000), type: "image/png"))
        let outcome = try fetch(
            "/",
            options {
                $0.spoolThreshold = 50_000
                $0.maxBodyBytes = 200_000
            })
        guard case .failure(let failure) = outcome else { throw FetchFailure(.broken, "it was taken") }
        #expect(failure.kind == .tooLarge)
        #expect(!failure.canRetry)
        #expect(scratch.names().isEmpty)
    }

    @Test func `the loop returns redirects without following them`() throws {
        origin.on("/", .redirect(to: "/next"))
        let response = try response(try fetch("/", options()))
        #expect((300..<400).contains(response.status))
        #expect(response.fields["Location"] == "/next")
        #expect(origin.requests.count == 1)
    }

    /// Fields after the empty line are trailers. Those before it belong to the response, and not to interim responses.
    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-A: 2\r\nX-B: 3\r\n\r\n"),
        ("HTTP/1.1 200 OK\nX-A: 1\nTransfer-Encoding: chunked\n\n2\r\nhi\r\n0\r\nX-A: 2\r\nX-B: 3\r\n\r\n"),
        ("HTTP/1.1 103 Early\r\nX-A: 2\r\nX-B: 3\r\n\r\nHTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nhi"),
    ])
    func `fields of interim responses and trailers are not part of the response`(answer: String) throws {
        origin.on("/", .garbage(answer))
        let response = try response(try fetch("/", options()))
        #expect(response.status == 200)
        #expect(response.fields.all("X-A") == ["1"])
        #expect(response.fields["X-B"] == nil)
        guard case .bytes(let bytes) = response.body else { throw FetchFailure(.broken, "a file") }
        #expect(bytes == Array("hi".utf8))
    }

    @Test(arguments: [
        "HTTP/1.1 103 Early\r\nX-A: 1\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
    ])
    func `endless interim responses and trailers exceed the header limit`(start: String) throws {
        let line = start.contains("103") ? start : "X-A: 1\r\n"
        origin.on("/", .garbage(start + String(repeating: line, count: 200)))
        guard case .failure(let failure) = try fetch("/", options { $0.maxHeaderBytes = 1000 }) else {
            throw FetchFailure(.broken, "it was taken")
        }
        #expect(failure.kind == .tooLarge)
    }

    @Test func `an interrupted batch ends, and leaves no file`() throws {
        let interruption = Interruption()
        let body = [UInt8](repeating: 1, count: 300_000)
        origin.on("/", .file(body, type: "image/png").dripping(200_000, every: .seconds(60)))
        origin.on("/second") { _ in
            interruption.request()
            return .page("second").delayed(.seconds(60))
        }
        let urls = try ["/", "/second"].map { try #require(WebURL(origin.url($0))) }
        try FetchBatch.run(
            urls, nearestZone: .thisMachine, options: options { $0.spoolThreshold = 1000 },
            interruption: interruption
        ) {
            number, _ in
            Issue.record("\(number) was answered")
        }
        #expect(scratch.names().isEmpty)
    }

    @Test func `an unknown host and a closed port are different failures`() throws {
        let closed = try TestOrigin()
        let address = closed.url("/")
        closed.stop()
        let outcomes = try fetch(["http://no-such-host.invalid/", address], options())
        guard case .failure(let unknown)? = outcomes[0], case .failure(let unreachable)? = outcomes[1] else {
            throw FetchFailure(.broken, "something answered")
        }
        #expect(unknown.kind == .unknownHost)
        #expect(!unknown.canRetry)
        #expect(unreachable.kind == .unreachable)
        #expect(unreachable.canRetry)
    }

    @Test func `a turn returns at most the given number of results, and later turns return the others`()
        throws
    {
        // The loop answers these requests itself, so that all results are there at once.
        let loop = try FetchLoop(
            options {
                $0.strictTransport?.rules["a.test"] = StrictTransport.Rule(
                    includesSubdomains: false, end: HTTPDate(secondsSinceEpoch: .max))
            })
        let url = try #require(WebURL("http://a.test/"))
        for number in 0..<5 {
            loop.start(FetchRequest(number: UInt32(number), url: url, nearestZone: .thisMachine))
        }
        #expect(try loop.turn(waitingAtMost: .zero, maxResults: 2).map(\.number) == [0, 1])
        #expect(loop.patience == .zero)
        #expect(try loop.turn(waitingAtMost: .seconds(20), maxResults: 2).map(\.number) == [2, 3])
        #expect(try loop.turn(waitingAtMost: .seconds(20), maxResults: 2).map(\.number) == [4])
        #expect(try loop.turn(waitingAtMost: .zero, maxResults: 2).isEmpty)
    }

    @Test func `requests succeed after failed requests on the same loop`() throws {
        origin.on("/", .page("here"))
        let closed = try TestOrigin()
        let refused = closed.url("/")
        closed.stop()
        let loop = try FetchLoop(options())
        for round in 0..<5 {
            let urls = ["http://no-such-host.invalid/", refused, origin.url("/")]
            for (number, url) in urls.enumerated() {
                loop.start(
                    FetchRequest(
                        number: UInt32(number), url: try #require(WebURL(url)), nearestZone: .thisMachine))
            }
            var kinds: [UInt32: FetchFailure.Kind?] = [:]
            while kinds.count < urls.count {
                for result in try loop.turn(waitingAtMost: .seconds(20)) {
                    if case .failure(let failure) = result.outcome {
                        kinds[result.number] = failure.kind
                    } else {
                        kinds[result.number] = .some(nil)
                    }
                }
            }
            #expect(kinds == [0: .unknownHost, 1: .unreachable, 2: nil], "round \(round)")
        }
    }

    @Test func `a batch follows redirects and reports failures`() throws {
        origin.on("/old", .redirect(to: "/new"))
        origin.on("/new", .page("here"))
        origin.on("/loop", .redirect(to: "/loop"))
        let urls = try ["/old", "/missing", "/loop"].map { try #require(WebURL(origin.url($0))) }
        var answers: [Int: String] = [:]
        try FetchBatch.run(urls, nearestZone: .thisMachine, options: options(), interruption: Interruption())
        { number, outcome in
            switch outcome {
            case .success(let response):
                guard case .bytes(let bytes) = response.body else { return }
                answers[number] = String(decoding: bytes, as: UTF8.self)
            case .failure(let failure): answers[number] = failure.description
            }
        }
        #expect(answers[0]?.contains("here") == true)
        #expect(answers[1] == "the server answered 404")
        #expect(answers[2] == "its redirect cannot be followed")
    }
}
