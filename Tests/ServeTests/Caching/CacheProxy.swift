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

/// A mirror with a site at its root, and a proxy, that ask an origin on loopback by RFC 9111.
final class CacheProxy: Sendable {
    private let scratch: TemporaryFolder
    private let origin: TestOrigin
    private let said = Mutex<OriginAnswer>(OriginAnswer())
    private let clock = Clock()
    private let loadCount = Monitor(0)
    private let doors: [Door]

    private static let start: Int64 = 1_900_000_000

    /// One of the two, with a store of its own.
    private struct Door: Sendable {
        let name: String
        let folder: StoreFolder
        let loads: LoadThread
        let server: MirrorServer
        let client: RawClient
        /// What stands before a path, and in `Host`.
        let (prefix, host): (String, String)
    }

    /// - Parameter hasProxy: else there is the mirror alone, to which fields speak that are for reverse
    ///   proxies.
    init(rules: String = "", hasProxy: Bool = true) throws {
        scratch = try TemporaryFolder()
        origin = try TestOrigin()
        var doors: [Door] = []
        for isProxy in hasProxy ? [false, true] : [false] {
            doors.append(
                try Self.door(
                    isProxy, StoreFolder(scratch.file(isProxy ? "proxy" : "mirror")), origin, clock,
                    loadCount, rules))
        }
        self.doors = doors
        origin.otherwise { [weak self] _ in self?.said.withLock { $0 } }
    }

    private static func door(
        _ isProxy: Bool, _ folder: StoreFolder, _ origin: TestOrigin, _ clock: Clock,
        _ loadCount: Monitor<Int>,
        _ rules: String
    ) throws -> Door {
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
        // What is ready is to be forgotten although nobody looks at the store.
        guard isProxy else {
            let server = try MirrorServer(
                folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, secondsBetweenChecks: 0,
                options: options)
            return Door(
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
        return Door(
            name: "proxy", folder: folder, loads: loads, server: server,
            client: try RawClient(port: Int(server.proxyPort ?? 0)),
            prefix: "http://127.0.0.1:\(origin.port)", host: "127.0.0.1:\(origin.port)")
    }

    deinit {
        for door in doors {
            door.server.stop()
            door.loads.stop()
        }
    }

    private final class Clock: Sendable {
        private let seconds = Atomic(CacheProxy.start)

        var now: HTTPDate { HTTPDate(secondsSinceEpoch: seconds.load(ordering: .relaxed)) }

        func set(_ time: Int64) { seconds.store(CacheProxy.start + time, ordering: .relaxed) }
    }

    /// Takes the steps, and holds each against what is to come of it.
    func run(_ steps: [CacheCase.Step]) throws {
        for door in doors {
            for (number, step) in steps.enumerated() {
                try take(step, number, door, "step \(number) by the \(door.name)")
                // The same again, from what is ready by then.
                guard !step.asks, !step.asksBehind, step.status < 500 else { continue }
                for turn in 2...3 {
                    try take(step, number, door, "step \(number) by the \(door.name), turn \(turn)")
                }
            }
        }
    }

    private func take(_ step: CacheCase.Step, _ number: Int, _ door: Door, _ comment: Comment) throws {
        clock.set(step.time)
        let answer = Self.answer(step, number)
        said.withLock { $0 = answer }
        let before = origin.requests.count
        let loadsBefore = loadCount.change { $0 }
        var request = step.request.map(Self.field)
        if ["POST", "PUT", "PATCH"].contains(step.method) { request.append(("Content-Length", "0")) }
        var got = try door.client.get(
            door.prefix + step.path, method: step.method, host: door.host, fields: request)
        // What the origin says before its answer goes on to the client.
        while got.status < 200 { got = try door.client.response(toHead: step.method == "HEAD") }
        if step.asksBehind {
            loadCount.wait { $0 > loadsBefore ? () : nil }
            try waitUntilKept(origin.url(step.path), step.time, door)
            // What comes is kept in its order: when this is answered, all know of what came before it.
            said.withLock { $0 = OriginAnswer(fields: [("Cache-Control", "no-store")], text: "behind") }
            _ = try door.client.get(door.prefix + "/behind", host: door.host)
        }
        let asked = origin.requests.dropFirst(before)
        #expect(!asked.isEmpty == (step.asks || step.asksBehind), "asked, \(comment)")
        // A proxy tells whose fault it is that there is no answer, and adds no field of its own.
        let isOwn = door.name == "proxy" && step.shows == .anything
        #expect(got.status == (isOwn && step.asks && step.status == 504 ? 502 : step.status), comment)
        if step.method != "HEAD" { check(got, step, number, comment) }
        for line in step.gets where door.name != "proxy" || !line.hasPrefix("Larder:") {
            // A browser asks the mirror each time, whatever the origin says.
            let isLifetime = ["Cache-Control:", "Expires:"].contains { line.hasPrefix($0) }
            let expected = door.name == "mirror" && isLifetime ? "Cache-Control: no-cache" : line
            check(expected, in: got.fields, "the client in \(comment)")
        }
        for line in step.sent { check(line, in: asked.first?.fields ?? [], "the origin in \(comment)") }
    }

    /// A proxy answers what comes before it is kept.
    private func waitUntilKept(_ url: String, _ time: Int64, _ door: Door) throws {
        let deadline = ContinuousClock.now + .hangGuard
        while ContinuousClock.now < deadline {
            let held = try StoreReader(door.folder).response(for: url)
            if held?.fetched == Self.start + time { return }
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

    private func check(_ line: String, in fields: [(name: String, value: String)], _ who: Comment) {
        if line.hasPrefix("!") {
            let name = line.dropFirst().lowercased()
            #expect(!fields.contains { $0.name.lowercased() == name }, "\(line) at \(who)")
            return
        }
        let (name, value) = Self.field(line)
        let values = fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
        #expect(values.contains(value), "\(line) at \(who), not \(values)")
    }

    private static func answer(_ step: CacheCase.Step, _ number: Int) -> OriginAnswer {
        guard let said = step.said else { return .hangUp }
        let isTyped = said.lines.contains { $0.lowercased().hasPrefix("content-type:") } || said.status == 304
        let fields = (isTyped ? [] : [("Content-Type", "text/plain")]) + said.lines.map(field)
        let text = [204, 304].contains(said.status) ? "" : said.body ?? body(number, said.status)
        return said.bend(OriginAnswer(status: said.status, fields: fields, text: text))
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
