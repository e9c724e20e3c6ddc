internal import Check
internal import Crawl
internal import Glibc
internal import HTTPServer
internal import Mirror
internal import Store
internal import System
internal import Web

/// A store of web pages with everything that they need, in a folder or a PostgreSQL schema.
///
/// ```swift
/// let larder = Larder(at: "/var/lib/larder")
/// let report = try await larder.prefetch(["https://example.com/"])
/// let service = try larder.serve(port: 8080)
/// ```
///
/// Every command of `larder` has a method here that returns a report. Methods may be called from any task.
/// Asynchronous methods do their blocking work on separate threads, and stop soon when their task is cancelled.
public struct Larder: Sendable {
    /// The store's folder, or `postgres://USER@HOST/DATABASE?schema=larder`. The first prefetch creates the store.
    public let path: String
    /// Whether bodies are compressed with zstd when they are stored or moved by a pruning. Pages and scripts
    /// shrink to about a sixth. Compressed bodies can be read whatever this says. A store in PostgreSQL is never
    /// compressed.
    public var compresses = false

    /// Creates a handle for the store at a path. Touches neither the disk nor the network.
    public init(at path: String) {
        self.path = path
    }

    /// The store that the command uses without `--store`, at `defaultPath` for the environment of this process.
    ///
    /// ```swift
    /// let report = try await Larder.default.prefetch(["https://example.com/"])
    /// ```
    public static var `default`: Larder {
        var environment: [String: String] = [:]
        for name in [storeVariable, dataFolderVariable, homeVariable] {
            environment[name] = getenv(name).map { String(cString: $0) }
        }
        return Larder(at: defaultPath(environment: environment))
    }

    private static let storeVariable = "LARDER_STORE"
    private static let dataFolderVariable = "XDG_DATA_HOME"
    private static let homeVariable = "HOME"

    /// The path that the command uses without `--store`: `$LARDER_STORE`, else `$XDG_DATA_HOME/larder`, else
    /// `~/.local/share/larder`. Relative to the working directory if `$HOME` is needed and not set.
    public static func defaultPath(environment: [String: String]) -> String {
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        if let path = value(storeVariable) { return path }
        // XDG Base Directory Specification: relative paths are invalid and must be ignored.
        if let data = value(dataFolderVariable), data.hasPrefix("/") { return data + "/larder" }
        return (value(homeVariable) ?? ".") + "/.local/share/larder"
    }

    /// The version of Larder.
    public static let version = Product.version

    /// Makes the allocator return large freed blocks to the operating system from now on, for the whole process.
    /// Large mirrors then take about a tenth less memory, at no measurable cost. The command calls this when it starts.
    public static func returnFreedMemoryToSystem() { HeapMemory.returnLargeBlocksAtOnce() }

    /// Returns a text from an untrusted source in a form that is safe for a terminal: control characters, and
    /// characters that change the direction of text, are escaped as in JSON. Line feeds and tabs stay.
    public static func printable(_ text: String) -> String { text.withVisibleControls }

    /// The store at `path`, for the modules that read and write it.
    var folder: StoreFolder {
        var folder = Self.folder(at: path)
        folder.compresses = compresses
        return folder
    }

    /// A warning for a user who is about to use a store that belongs to another user; nil if there is no reason to
    /// warn.
    package var ownerWarning: String? { folder.ownerWarning }

    /// The path without the password of a PostgreSQL address, for messages.
    package var shownPath: String { PostgreSQLStoreAddress.withoutSecret(path) }

    /// Whether the store is in PostgreSQL, so that `path` is an address.
    package var isInPostgreSQL: Bool { folder.server != nil }

    /// Opens a reader of the store and passes it to a closure, on a separate thread.
    ///
    /// - Parameter name: the name of the thread, as debuggers show it.
    func readStore<Value: Sendable>(
        _ name: String, _ body: @escaping @Sendable (StoreReader) throws(StoreError) -> Value
    ) async throws(LarderError) -> Value {
        let folder = folder
        return try await Self.runOnThread(name) { () throws(LarderError) in
            try mapStoreError { () throws(StoreError) in try body(StoreReader(folder)) }
        }
    }

    /// Runs blocking work on a separate thread. Swift's thread pool has only one thread per core, so blocking there
    /// would delay unrelated tasks of the app.
    ///
    /// - Parameters:
    ///   - name: the name of the thread, as debuggers show it.
    ///   - onCancel: called when the task is cancelled; makes the work stop soon. The call still waits for its end.
    static func runOnThread<Value: Sendable>(
        _ name: String, onCancel: @escaping @Sendable () -> Void = {},
        _ body: @escaping @Sendable () throws(LarderError) -> Value
    ) async throws(LarderError) -> Value {
        let outcome: Result<Value, LarderError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                do throws(SystemError) {
                    try NamedThread.start(name) {
                        continuation.resume(returning: Result { () throws(LarderError) in try body() })
                    }
                } catch {
                    continuation.resume(returning: .failure(LarderError(error)))
                }
            }
        } onCancel: {
            onCancel()
        }
        return try outcome.get()
    }
}

extension LarderError {
    init(_ error: ServerError) {
        self.init(.machine, error.description, remedy: error.remedy)
    }
}
