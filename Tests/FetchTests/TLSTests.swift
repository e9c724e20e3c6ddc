import Fetch
import Glibc
import System
import TestOrigin
import Testing
import Web

@Suite(.enabled(if: TLSFront.isAvailable, "nginx and openssl are needed"))
struct TLSTests {
    private let front: TLSFront
    private var origin: TestOrigin { front.origin }

    init() throws {
        front = try TLSFront()
        origin.otherwise { .page($0.target) }
    }

    @Test func `many requests share one connection over HTTP 2`() throws {
        let fetching = try front.fetching()
        let requests = try (0..<60).map { number in
            try TestFetcher.request(front.url("/\(number)", port: front.modern)) {
                $0.number = UInt32(number)
            }
        }
        let loop = try fetching.loop()
        for (number, result) in try TestFetcher.results(of: requests, in: loop) {
            #expect(try result.response().text() == "/\(number)")
            #expect(result.exchange?.version == .http2)
            #expect(result.exchange?.security == .verified)
        }
        #expect(Set(origin.requests.map { $0["X-Connection"] }).count == 1)
        #expect(Set(origin.requests.map { $0["X-Protocol"] }) == ["HTTP/2.0"])
    }

    @Test func `a server without HTTP 2 gets more connections, up to the limit`() throws {
        // The origin waits for a second connection. Otherwise the first one might complete all requests before that.
        let connections = Monitor<Set<String>>([])
        origin.otherwise { request in
            connections.change { _ = $0.insert(request["X-Connection"] ?? "") }
            _ = connections.wait(atMost: .seconds(60)) { $0.count < 2 ? nil : true }
            return .page(request.target)
        }
        let fetching = try front.fetching { options in
            options.maxConnectionsPerHost = 6
            options.stallTimeout = .seconds(120)
        }
        let requests = try (0..<60).map { number in
            try TestFetcher.request(front.url("/\(number)", port: front.plain)) { $0.number = UInt32(number) }
        }
        for (number, result) in try TestFetcher.results(of: requests, in: try fetching.loop()) {
            #expect(try result.response().text() == "/\(number)")
            #expect(result.exchange?.version == .http11)
        }
        #expect((2...6).contains(Set(origin.requests.map { $0["X-Connection"] }).count))
    }

    /// A caller whose bytes were not all sent passes the rest again, possibly with more bytes after it and at another
    /// address.
    @Test func `a raw connection sends all bytes to a slow receiver`() throws {
        let folder = try TemporaryFolder()
        let server = try ChildProcess(
            "/usr/bin/env",
            [
                "python3", "-c",
                """
                import socket, ssl, subprocess, sys, time
                place = sys.argv[1]
                subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", "/CN=a", "-keyout", place + "/k", "-out", place + "/c"], check=True, stderr=subprocess.DEVNULL)
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(place + "/c", place + "/k")
                listener = socket.create_server(("127.0.0.1", 0))
                print(listener.getsockname()[1], flush=True)
                client = context.wrap_socket(listener.accept()[0], server_side=True)
                said, wanted = b"", bytes(n * 31 % 251 for n in range(65521)) * 100
                while len(said) < len(wanted):
                    piece = client.recv(100_000)
                    if not piece: break
                    said += piece
                    time.sleep(0.001)
                print(len(said), said == wanted)
                """, folder.path,
            ])
        let port = server.read(until: "\n").dropLast()
        var options = FetchOptions(userAgent: "jam/1", spoolFolder: folder.path)
        options.isInsecure = true
        let url = try #require(WebURL("https://127.0.0.1:\(port)/"))
        let connection = try RawConnection(to: url, options, nearestZone: .thisMachine)
        let block = (0..<65_521).map { UInt8($0 * 31 % 251) }
        let all = Array(repeatElement(block, count: 100).joined())
        var (waiting, put) = ([UInt8](), 0)
        while put < all.count || !waiting.isEmpty {
            let more = min(70_001, all.count - put)
            if waiting.count < 1 << 20 {
                waiting = waiting + all[put..<put + more]
                put += more
            }
            let count = waiting.withUnsafeBytes(connection.send)
            if count > 0 {
                waiting.removeFirst(count)
            } else {
                #expect(errno == EAGAIN)
                guard errno == EAGAIN else { break }
                var polled = pollfd(fd: connection.descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&polled, 1, 1000)
            }
        }
        let ending = server.wait()
        #expect(ending.output == "6552100 True\n", "\(ending)")
    }

    @Test func `the handshake is timed`() throws {
        let exchange = try #require(try front.fetching().result(front.url("/", port: front.modern)).exchange)
        #expect(exchange.timings.secured > exchange.timings.connected)
        #expect(exchange.timings.requestSent >= exchange.timings.secured)
    }

    @Test(
        arguments: [
            (
                "other.test", TLSFront.Door.modern, true,
                "no alternative certificate subject name matches target host name"
            ),
            ("front.test", TLSFront.Door.expired, true, "certificate has expired"),
            ("front.test", TLSFront.Door.modern, false, "unable to get local issuer certificate"),
        ] as [(String, TLSFront.Door, Bool, String)])
    func `an invalid certificate fails with the reason`(
        host: String, door: TLSFront.Door, isTrusted: Bool, words: String
    ) throws {
        let url = front.url("/", port: front.port(door), host: host)
        let fetching = try front.fetching { if !isTrusted { $0.authorities = nil } }
        let failure = try fetching.failure(url)
        #expect(failure.kind == .insecure)
        #expect(!failure.canRetry)
        #expect(failure.detail.hasPrefix("\(host): "))
        #expect(failure.detail.contains(words))
        #expect(origin.requests.isEmpty)
        let result = try front.fetching { $0.isInsecure = true }.result(url)
        #expect(try result.response().text() == "/")
        #expect(result.exchange?.security == .unverified)
    }

    @Test func `a server without TLS fails as insecure`() throws {
        let failure = try front.fetching().failure(front.url("/", port: front.clear, host: "127.0.0.1"))
        #expect(failure.kind == .insecure)
        #expect(failure.detail.hasPrefix("127.0.0.1: "))
    }

    @Test func `a client certificate is sent to its own origin only`() throws {
        let fetching = try front.fetching { options in
            options.credentials.add(
                Credentials.Certificate(front), for: try #require(WebURL(front.url("/", port: front.plain))))
        }
        let loop = try fetching.loop()
        _ = try fetching.response(front.url("/", port: front.plain), in: loop)
        _ = try fetching.response(front.url("/", port: front.plain, host: "127.0.0.1"), in: loop)
        _ = try fetching.response(front.url("/", port: front.plain), in: loop)
        #expect(origin.requests.map { $0["X-Client"] ?? "" } == ["CN=client", "", "CN=client"])
    }

    @Test func `an anonymous request sends no client certificate and resumes no TLS session of one`()
        throws
    {
        let fetching = try front.fetching { options in
            options.credentials.add(
                Credentials.Certificate(front), for: try #require(WebURL(front.url("/", port: front.plain))))
        }
        let loop = try fetching.loop()
        let url = front.url("/", port: front.plain)
        for isAnonymous in [false, true, false] {
            let result = try fetching.result(
                of: try TestFetcher.request(url) { $0.isAnonymous = isAnonymous }, in: loop)
            #expect(result.exchange?.usedCredentials == !isAnonymous)
        }
        #expect(origin.requests.map { $0["X-Client"] ?? "" } == ["CN=client", "", "CN=client"])
    }

    @Test func `an exchange over HTTP 2 records whether the request had cookies`() throws {
        origin.otherwise { _ in OriginAnswer.page("").adding("Set-Cookie", "a=b; Path=/") }
        let fetching = try front.fetching { $0.cookies = CookieOptions() }
        let loop = try fetching.loop()
        let results = try (0..<2).map { _ in try fetching.result(front.url("/", port: front.modern), in: loop)
        }
        #expect(results.map { $0.exchange?.usedCredentials } == [false, true])
        #expect(results.map { $0.exchange?.version } == [.http2, .http2])
    }

    @Test func `a missing certificate file is named in the failure`() throws {
        let loop = #expect(throws: FetchFailure.self) {
            try front.fetching { $0.authorities = "/no/such.pem" }.loop()
        }
        #expect(loop?.detail.contains("/no/such.pem") == true)
        let failure = try front.fetching { options in
            options.credentials.add(
                Credentials.Certificate(certificate: "/no/client.pem", passphrase: "SECRET"),
                for: try #require(WebURL(front.url("/", port: front.plain))))
        }.failure(front.url("/", port: front.plain))
        #expect(failure.kind == .insecure)
        #expect(!failure.detail.contains("SECRET"))
    }

    @Test func `after Strict-Transport-Security, http URLs of a host become https`() throws {
        let answer = OriginAnswer.page("here").adding("Strict-Transport-Security", "max-age=1000")
        origin.otherwise { _ in answer }
        let fetching = try front.fetching()
        let loop = try fetching.loop()
        _ = try fetching.response(front.url("/", port: front.modern), in: loop)
        let upgraded = try fetching.response("http://front.test:\(front.modern)/x", in: loop)
        #expect(upgraded.status == 307)
        #expect(upgraded.fields["Location"] == front.url("/x", port: front.modern))
        #expect(loop.strictTransport != StrictTransport())
        // The header counts only with a verified certificate.
        let gullible = try front.fetching { $0.isInsecure = true }
        let other = try gullible.loop()
        _ = try gullible.response(front.url("/", port: front.modern), in: other)
        #expect(other.strictTransport == StrictTransport())
    }

    @Test func `the network guard applies to each request on a shared HTTP 2 connection`() throws {
        let fetching = try front.fetching()
        let loop = try fetching.loop()
        origin.hold("/held")
        var held = try TestFetcher.request(front.url("/held", port: front.modern))
        held.number = 1
        loop.start(held)
        while !origin.waitForRequests(1, within: .milliseconds(1)) {
            _ = try loop.turn(waitingAtMost: .milliseconds(10))
        }
        let shut = try fetching.result(
            of: try TestFetcher.request(front.url("/x", port: front.modern)) {
                $0.nearestZone = .publicNetwork
            },
            in: loop)
        #expect(try shut.failure().kind == .refused)
        origin.release("/held")
        var results: [FetchResult] = []
        while results.isEmpty { results = try loop.turn(waitingAtMost: .seconds(10)) }
        #expect(try results[0].response().text() == "/held")
        #expect(origin.requests.map(\.target) == ["/held"])
    }

    @Test func `over HTTP 2 a body is resumed, and a timeout ends only its own stream`() throws {
        let body = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 13) }
        let file = OriginAnswer.file(body, type: "video/mp4").validated(entityTag: #""one""#)
        let names = ["/film"] + (1..<10).map { "/\($0)" }
        let requests = try names.enumerated().map { number, name in
            try TestFetcher.request(front.url(name, port: front.modern)) { $0.number = UInt32(number) }
        }
        var fetching = try front.fetching()
        let patience = fetching.options.stallTimeout
        var partial: PartialBody?
        try TestFetcher.withLimits(from: .milliseconds(300)) { limit in
            origin.on("/film", file.dripping(500_000, every: limit + .seconds(60)), file)
            fetching.options.stallTimeout = limit
            let results = try TestFetcher.results(of: requests, in: fetching.loop())
            #expect(try results[0]?.failure().kind == .timeout)
            var ended: [UInt32] = []
            for (number, result) in results where number > 0 {
                if case .failure(let failure) = result.outcome, failure.kind == .timeout {
                    ended.append(number)
                } else {
                    #expect(try result.response().text() == names[Int(number)])
                }
            }
            // On a busy machine, the server may not have sent enough of the video in this time.
            partial = results[0]?.partial
            return partial == nil ? ended + [0] : ended
        }
        let part = try #require(partial)
        #expect(part.byteCount >= 256 * 1024)
        fetching.options.stallTimeout = patience
        let rest = try fetching.result(
            of: try TestFetcher.request(front.url("/film", port: front.modern)) { $0.resume = part })
        #expect(try rest.response().body.byteCount == body.count)
        #expect(rest.exchange?.version == .http2)
        try rest.response().body.discard()
    }

    @Test func `the rate limit applies over HTTP 2`() throws {
        let body = [UInt8](repeating: 7, count: 100_000)
        origin.otherwise { _ in .file(body, type: "image/png") }
        let fetching = try front.fetching { $0.bytesPerSecond = 2_000_000 }
        let requests = try (0..<10).map { number in
            try TestFetcher.request(front.url("/\(number)", port: front.modern)) {
                $0.number = UInt32(number)
            }
        }
        let clock = ContinuousClock()
        let start = clock.now
        let results = try TestFetcher.results(of: requests, in: try fetching.loop())
        #expect(clock.now - start >= .milliseconds(300))
        for result in results.values { #expect(try result.response().body.byteCount == body.count) }
    }

    @Test func `POST and HEAD work over HTTP 2`() throws {
        origin.otherwise { .page("\($0.method) \($0.body.count)") }
        let fetching = try front.fetching()
        let loop = try fetching.loop()
        let url = front.url("/", port: front.modern)
        let post = try TestFetcher.request(url) { request in
            request.method = "POST"
            request.body = [UInt8](repeating: 1, count: 200_000)
        }
        #expect(try fetching.result(of: post, in: loop).response().text() == "POST 200000")
        let head = try TestFetcher.request(url) { $0.method = "HEAD" }
        #expect(try fetching.result(of: head, in: loop).response().body.byteCount == 0)
        #expect(try fetching.response(url, in: loop).text() == "GET 0")
    }
}

extension TLSFront {
    fileprivate func fetching(_ change: (inout FetchOptions) throws -> Void = { _ in }) throws -> TestFetcher
    {
        try TestFetcher { options in
            options.authorities = authorities
            options.hostAddresses = ["front.test", "other.test"].flatMap { host in
                [modern, plain, expired].compactMap { HostAddress("\(host):\($0):127.0.0.1") }
            }
            try change(&options)
        }
    }
}

extension Credentials.Certificate {
    fileprivate init(_ front: TLSFront) {
        self.init(certificate: front.client.certificate, key: front.client.key)
    }
}
