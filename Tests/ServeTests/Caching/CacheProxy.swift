import Fetch
import Glibc
import Store
import Synchronization
import System
import TLS
import TestOrigin
import Testing
import Web

@testable import LarderKit
@testable import Mirror
@testable import Portal

/// The two caches under test, a mirror with a site at its root and a proxy, in front of a scripted origin on loopback.
/// Both use the policy `protocol`, RFC 9111.
final class CacheProxy: Sendable {
    private let scratch: TemporaryFolder
    private let origin: TestOrigin
    private let originAnswer = Mutex<OriginAnswer>(OriginAnswer())
    private let clock = Clock()
    private let loadCount = Monitor(0)
    private let caches: [Cache]

    private static let start: Int64 = 1_900_000_000

    /// One of the two caches, with a store of its own.
    private struct Cache: Sendable {
        let name: String
        let folder: StoreFolder
        let loads: LoadThread
        let server: MirrorServer
        let client: RawClient
        /// The prefix of each path in a request line, and the value of `Host`.
        let (prefix, host): (String, String)
    }

    /// - Parameter hasProxy: false tests only the mirror, for header fields that are meant for reverse proxies.
    init(rules: String = "", hasProxy: Bool = true) throws {
        scratch = try TemporaryFolder()
        origin = try TestOrigin()
        var caches: [Cache] = []
        for isProxy in hasProxy ? [false, true] : [false] {
            caches.append(
                try Self.makeCache(
                    isProxy, StoreFolder(scratch.file(isProxy ? "proxy" : "mirror")), origin, clock,
                    loadCount, rules))
        }
        self.caches = caches
        origin.otherwise { [weak self] _ in self?.originAnswer.withLock { $0 } }
    }

    private static func makeCache(
        _ isProxy: Bool, _ folder: StoreFolder, _ origin: TestOrigin, _ clock: Clock,
        _ loadCount: Monitor<Int>,
        _ rules: String
    ) throws -> Cache {
        let writer = try StoreWriter(folder)
        if !rules.isEmpty {
            let start = origin.url("/")
            let snapshot = try writer.begin(site: start, start: [start], now: 1)
            try writer.storeSettings(rules, of: snapshot)
            try writer.end(snapshot, .publish(now: 2))
        }
        var fetch = FetchOptions(userAgent: "test", spoolFolder: folder.incoming)
        fetch.proxies = ProxyRules()
        let loads = try LoadThread(fetch, clock: { clock.now })
        var options = MirrorOptions()
        if !isProxy { options.root = WebURL(origin.url("/")) }
        options.policy = .protocol
        options.clock = { clock.now }
        options.load = { request, done in
            loads.load(request) { outcome in
                done(outcome)
                loadCount.change { $0 += 1 }
            }
        }
        // The proxy does not check its store for changes, so that these tests show that its own changes invalidate
        // cached responses.
        guard isProxy else {
            let server = try MirrorServer(
                folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, secondsBetweenChecks: 0,
                options: options)
            return Cache(
                name: "mirror", folder: folder, loads: loads, server: server,
                client: try RawClient(port: Int(server.port)),
                prefix: "",
                host: "localhost:\(server.port)")
        }
        options.isShared = true
        let authority = try CertificateAuthority.openOrCreate(in: folder.path)
        let proxy = ProxySettings(
            security: try TLSServer(authority), certificate: authority.certificate, log: ProxyLog())
        let server = try MirrorServer(
            folder, port: nil, threadCount: 1, memoryLimit: 1_000_000, secondsBetweenChecks: 1_000_000_000,
            options: options, proxy: (0, proxy))
        return Cache(
            name: "proxy", folder: folder, loads: loads, server: server,
            client: try RawClient(port: Int(server.proxyPort ?? 0)),
            prefix: "http://127.0.0.1:\(origin.port)", host: "127.0.0.1:\(origin.port)")
    }

    deinit {
        for cache in caches {
            cache.server.stop()
            cache.loads.stop()
        }
    }

    private final class Clock: Sendable {
        private let seconds = Atomic(CacheProxy.start)

        var now: HTTPDate { HTTPDate(secondsSinceEpoch: seconds.load(ordering: .relaxed)) }

        func set(_ time: Int64) { seconds.store(CacheProxy.start + time, ordering: .relaxed) }
    }

    /// Runs the steps on each cache, and compares the effects with the expected ones.
    func run(_ steps: [CacheCase.Step]) throws {
        for cache in caches {
            for (number, step) in steps.enumerated() {
                try runStep(step, number, cache, "step \(number) by the \(cache.name)")
                // Repeated requests are answered from responses that are cached in memory.
                guard !step.requestsOrigin, !step.refreshesBehind, step.status < 500 else { continue }
                for turn in 2...3 {
                    try runStep(step, number, cache, "step \(number) by the \(cache.name), turn \(turn)")
                }
            }
        }
    }

    private func runStep(_ step: CacheCase.Step, _ number: Int, _ cache: Cache, _ comment: Comment) throws {
        clock.set(step.time)
        let answer = Self.answer(step, number)
        originAnswer.withLock { $0 = answer }
        let before = origin.requests.count
        let loadsBefore = loadCount.change { $0 }
        var request = step.request.map(Self.field)
        if ["POST", "PUT", "PATCH"].contains(step.method) { request.append(("Content-Length", "0")) }
        var got = try cache.client.get(
            cache.prefix + step.path, method: step.method, host: cache.host, fields: request)
        // Interim responses are forwarded to the client.
        while got.status < 200 { got = try cache.client.response(toHead: step.method == "HEAD") }
        if step.refreshesBehind {
            loadCount.wait { $0 > loadsBefore ? () : nil }
            try waitUntilStored(origin.url(step.path), step.time, cache)
            // Responses are stored in order. After the response to this request, all threads see the refreshed one.
            originAnswer.withLock {
                $0 = OriginAnswer(fields: [("Cache-Control", "no-store")], text: "behind")
            }
            _ = try cache.client.get(cache.prefix + "/behind", host: cache.host)
        }
        let requests = origin.requests.dropFirst(before)
        #expect(
            !requests.isEmpty == (step.requestsOrigin || step.refreshesBehind),
            "requests to the origin, \(comment)")
        // A proxy answers 502 if the origin failed, and adds no header fields of its own.
        let isProxyError = cache.name == "proxy" && step.shows == .anything
        #expect(
            got.status == (isProxyError && step.requestsOrigin && step.status == 504 ? 502 : step.status),
            comment)
        if step.method != "HEAD" { check(got, step, number, comment) }
        for line in step.expectedByClient where cache.name != "proxy" || !line.hasPrefix("Larder:") {
            // The mirror makes browsers revalidate each response, whatever lifetime the origin sets.
            let isLifetime = ["Cache-Control:", "Expires:"].contains { line.hasPrefix($0) }
            let expected = cache.name == "mirror" && isLifetime ? "Cache-Control: no-cache" : line
            check(expected, in: got.fields, "the client in \(comment)")
        }
        for line in step.expectedByOrigin {
            check(line, in: requests.first?.fields ?? [], "the origin in \(comment)")
        }
    }

    /// A proxy sends a response before it is stored.
    private func waitUntilStored(_ url: String, _ time: Int64, _ cache: Cache) throws {
        let deadline = ContinuousClock.now + .hangGuard
        while ContinuousClock.now < deadline {
            let stored = try StoreReader(cache.folder).response(for: url)
            if stored?.fetched == Self.start + time { return }
            usleep(5_000)
        }
        throw HangError("\(url) to be stored")
    }

    private func check(_ got: RawResponse, _ step: CacheCase.Step, _ number: Int, _ comment: Comment) {
        switch step.shows {
        case .anything: break
        case .text(let text): #expect(got.text == text, comment)
        case .step(let shown): #expect(got.text == Self.body(shown ?? number, got.status), comment)
        }
    }

    private func check(_ line: String, in fields: [(name: String, value: String)], _ receiver: Comment) {
        if line.hasPrefix("!") {
            let name = line.dropFirst().lowercased()
            #expect(!fields.contains { $0.name.lowercased() == name }, "\(line) at \(receiver)")
            return
        }
        let (name, value) = Self.field(line)
        let values = fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
        #expect(values.contains(value), "\(line) at \(receiver), not \(values)")
    }

    private static func answer(_ step: CacheCase.Step, _ number: Int) -> OriginAnswer {
        guard let response = step.originResponse else { return .hangUp }
        let isTyped =
            response.lines.contains { $0.lowercased().hasPrefix("content-type:") } || response.status == 304
        let fields = (isTyped ? [] : [("Content-Type", "text/plain")]) + response.lines.map(field)
        let text = [204, 304].contains(response.status) ? "" : response.body ?? body(number, response.status)
        return response.modify(OriginAnswer(status: response.status, fields: fields, text: text))
    }

    private static func body(_ number: Int, _ status: Int) -> String { status == 204 ? "" : "step \(number)" }

    private static func field(_ line: String) -> (name: String, value: String) {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        var value = parts.count == 2 ? String(parts[1].drop { $0 == " " }) : ""
        if value.hasPrefix("@"), let offset = Int64(value.dropFirst()) {
            value = HTTPDate(secondsSinceEpoch: start + offset).text
        }
        return (String(parts[0]), value)
    }
}
