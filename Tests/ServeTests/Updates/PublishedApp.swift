import Digest
import Glibc
import LarderKit
import Rollouts
import System
import TestOrigin
import Testing
import Web

/// A store with an app whose releases a test publishes, and a server of it.
final class PublishedApp: Sendable {
    let scratch: TemporaryFolder
    let larder: Larder
    static let name = "shop"

    init(isPostgreSQL: Bool = false) throws {
        scratch = try TemporaryFolder()
        let folder = scratch.file("store")
        larder = Larder(at: isPostgreSQL ? try TestPostgreSQL.running.get().place(folder) : folder)
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

    /// Publishes an export of Expo with one file for iOS.
    @discardableResult
    func publishExport(
        _ code: String, _ change: (inout PublishOptions) -> Void = { _ in }
    ) async throws -> PublishReport {
        try await publish([
            "metadata.json": """
            {"version": 0, "bundler": "metro", "fileMetadata": {"ios": {"bundle": "bundles/ios.js", "assets": []}}}
            """,
            "bundles/ios.js": code,
        ]) { options in
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
}

extension MirrorService {
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
