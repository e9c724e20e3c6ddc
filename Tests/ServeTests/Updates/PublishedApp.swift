import Digest
import Glibc
import LarderKit
import Rollouts
import Store
import Synchronization
import System
import TestOrigin
import Testing
import Web

@testable import Mirror

/// A store with an app whose releases a test publishes, and a server of it.
final class PublishedApp: Sendable {
    let scratch: TemporaryFolder
    let larder: Larder
    private let place: String
    static let name = "shop"

    init(isPostgreSQL: Bool = false) throws {
        scratch = try TemporaryFolder()
        let folder = scratch.file("store")
        place = isPostgreSQL ? try TestPostgreSQL.running.get().place(folder) : folder
        larder = Larder(at: place)
    }

    /// Publishes web files.
    @discardableResult
    func publish(
        _ files: [String: String], _ change: (inout PublishOptions) -> Void = { _ in }
    ) async throws -> PublishReport {
        let dist = try TemporaryFolder()
        for (path, text) in files {
            if let slash = path.lastIndex(of: "/") { mkdir(dist.file(String(path[..<slash])), 0o755) }
            _ = try dist.write(text, to: path)
        }
        var options = PublishOptions()
        options.app = Self.name
        change(&options)
        return try await larder.publish(dist.path, options: options)
    }

    /// Publishes an export of Expo for iOS.
    @discardableResult
    func publishExport(
        _ code: String, configuration: String? = nil, _ change: (inout PublishOptions) -> Void = { _ in }
    ) async throws -> PublishReport {
        var files = [
            "metadata.json": """
            {"version": 0, "bundler": "metro", "fileMetadata": {"ios": {"bundle": "bundles/ios.js", "assets": [
              {"path": "assets/4f1cb2cac2370cd5050681232e8575a8", "ext": "png"}]}}}
            """,
            "bundles/ios.js": code, "assets/4f1cb2cac2370cd5050681232e8575a8": "picture",
        ]
        files["expoConfig.json"] = configuration
        return try await publish(files) { options in
            options.runtimeVersions = ["1.0"]
            change(&options)
        }
    }

    func change(
        _ kind: ReleaseChange, _ change: (inout PublishOptions) -> Void = { _ in }
    ) async throws -> PublishReport {
        var options = PublishOptions()
        options.app = Self.name
        change(&options)
        return try await larder.change(kind, options: options)
    }

    /// Starts a server with updates.
    func serve(_ change: (inout ServeOptions) -> Void = { _ in }) throws -> MirrorService {
        var options = ServeOptions()
        options.updates = UpdateServing()
        change(&options)
        return try larder.serve(port: 0, threads: 1, options: options)
    }

    /// Runs `body` with a server with updates, and stops the server.
    func withServer(
        _ change: (inout ServeOptions) -> Void = { _ in }, _ body: (MirrorService) async throws -> Void
    ) async throws {
        let server = try serve(change)
        defer { server.stop() }
        try await body(server)
    }
}

/// The clocks of a server, which a test moves.
final class UpdateClock: Sendable {
    /// Seconds since 1970, and monotonic milliseconds.
    private let times = Mutex((date: SystemClock.secondsSinceEpoch(), milliseconds: Int64(1_000_000)))

    var now: HTTPDate { HTTPDate(secondsSinceEpoch: times.withLock(\.date)) }
    var milliseconds: Int64 { times.withLock(\.milliseconds) }

    /// Lets time pass.
    func advance(seconds: Int64) {
        times.withLock {
            $0.date += seconds
            $0.milliseconds += seconds * 1000
        }
    }

    /// Changes the date alone, as people and time servers do.
    func setDate(forward seconds: Int64) { times.withLock { $0.date += seconds } }
}

extension PublishedApp {
    /// Starts a server with updates and clocks of its own.
    func serve(at clock: UpdateClock) throws -> MirrorServer {
        var options = MirrorOptions()
        var updates = UpdateSettings()
        updates.milliseconds = { clock.milliseconds }
        options.updates = updates
        options.clock = { clock.now }
        return try MirrorServer(
            StoreFolder(place), port: 0, threadCount: 1, memoryLimit: 1_000_000, options: options)
    }
}

/// A server with updates.
protocol UpdateTestServer {
    var port: UInt16 { get }
}

extension MirrorService: UpdateTestServer {}
extension MirrorServer: UpdateTestServer {}

extension UpdateTestServer {
    /// Sends a request to the update server.
    func send(
        _ path: String, method: String = "GET", body: String? = nil, host: String? = nil,
        app: String = PublishedApp.name, fields: [(String, String)] = []
    ) throws -> RawResponse {
        let client = try RawClient(port: Int(port))
        let target = path.hasPrefix("/") ? path : "/-/updates/\(app)/\(path)"
        guard let body else {
            return try client.get(
                target, method: method, host: host ?? "localhost:\(port)", fields: fields)
        }
        var head = "\(method) \(target) HTTP/1.1\r\nHost: \(host ?? "localhost:\(port)")\r\n"
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        try client.send(head + "Content-Length: \(body.utf8.count)\r\n\r\n" + body)
        return try client.response()
    }

    /// Reports that a device runs an update or failed to.
    func report(_ state: String, _ update: String, of device: String) throws -> Int {
        try send(
            "report", method: "POST",
            body: #"{"device": "\#(device)", "update": "\#(update)", "state": "\#(state)"}"#
        ).status
    }
}
