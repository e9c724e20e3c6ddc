import Fetch
import Store
import Synchronization
import System
import TestOrigin
import Testing
import Web

@testable import LarderKit
@testable import Serve

/// A mirror with a site at its root that asks it by RFC 9111, in front of an origin on loopback.
final class CacheProxy: Sendable {
    private let scratch: TemporaryFolder
    private let origin: TestOrigin
    private let said = Mutex<OriginAnswer>(OriginAnswer())
    private let clock = Clock()
    private let loads: ServerLoads
    private let server: MirrorServer
    private let client: RawClient
    private let loadCount = Monitor(0)

    private static let start: Int64 = 1_900_000_000

    init(rules: String = "") throws {
        scratch = try TemporaryFolder()
        let folder = StoreFolder(scratch.file("store"))
        let writer = try StoreWriter(folder)
        let origin = try TestOrigin()
        self.origin = origin
        if !rules.isEmpty {
            let start = origin.url("/")
            let visit = try writer.begin(site: start, start: [start], now: 1)
            try writer.keep(settings: rules, of: visit)
            try writer.end(visit, .publish(now: 2))
        }
        let clock = clock
        var fetch = FetchOptions(userAgent: "test", spoolFolder: folder.incoming)
        fetch.proxies = ProxyRules()
        let loads = try ServerLoads(fetch, clock: { clock.now })
        self.loads = loads
        var options = MirrorOptions()
        options.root = WebURL(origin.url("/"))
        options.policy = .protocol
        options.clock = { clock.now }
        let loadCount = loadCount
        options.load = { request, done in
            loads.load(request) { outcome in
                done(outcome)
                loadCount.change { $0 += 1 }
            }
        }
        server = try MirrorServer(
            folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, secondsBetweenLooks: 0, options: options)
        client = try RawClient(port: Int(server.port))
        origin.otherwise { [weak self] _ in self?.said.withLock { $0 } }
    }

    deinit {
        server.stop()
        loads.stop()
    }

    private final class Clock: Sendable {
        private let seconds = Atomic(CacheProxy.start)

        var now: HTTPDate { HTTPDate(secondsSinceEpoch: seconds.load(ordering: .relaxed)) }

        func set(_ time: Int64) { seconds.store(CacheProxy.start + time, ordering: .relaxed) }
    }

    /// Takes the steps, and holds each against what is to come of it.
    func run(_ steps: [CacheCase.Step]) throws {
        for (number, step) in steps.enumerated() {
            let comment: Comment = "step \(number)"
            clock.set(step.time)
            let answer = Self.answer(step, number)
            said.withLock { $0 = answer }
            let before = origin.requests.count
            let loadsBefore = loadCount.change { $0 }
            var request = step.request.map(Self.field)
            if ["POST", "PUT", "PATCH"].contains(step.method) { request.append(("Content-Length", "0")) }
            var got = try client.get(
                step.path, method: step.method, host: "localhost:\(server.port)", fields: request)
            // What the origin says before its answer goes on to the client.
            while got.status < 200 { got = try client.response(toHead: step.method == "HEAD") }
            if step.asksBehind {
                loadCount.wait { $0 > loadsBefore ? () : nil }
                // What comes is kept in its order: when this is answered, so is what was asked for before it.
                said.withLock { $0 = OriginAnswer(fields: [("Cache-Control", "no-store")], text: "behind") }
                _ = try client.get("/behind", host: "localhost:\(server.port)")
            }
            let asked = origin.requests.dropFirst(before)
            #expect(!asked.isEmpty == (step.asks || step.asksBehind), "asked, \(comment)")
            #expect(got.status == step.status, comment)
            if step.method != "HEAD" { check(got, step, number, comment) }
            for line in step.gets { check(line, in: got.fields, "the client in \(comment)") }
            for line in step.sent { check(line, in: asked.first?.fields ?? [], "the origin in \(comment)") }
        }
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
