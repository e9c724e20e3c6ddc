internal import Check
internal import Crawl
internal import Serve
internal import Store
internal import System
internal import Web

/// A larder: a folder, or a PostgreSQL, that holds web pages with everything they need.
///
/// ```swift
/// let larder = Larder(at: "/var/lib/larder")
/// let report = try await larder.prefetch(["https://example.com/"])
/// let service = try larder.serve(port: 8080)
/// ```
///
/// Every command of `larder` is a call here that returns a report. Calls may be made from any task; what
/// blocks runs on threads of its own.
public struct Larder: Sendable {
    /// The folder, or `postgres://USER@HOST/DATABASE?schema=larder`. It is created by the first prefetch.
    public let path: String
    /// What comes is made small by zstd before it is kept, and what a collection finds as well: pages and
    /// scripts to a sixth or so. Larders that do not say so read it all the same. A PostgreSQL keeps all as
    /// it came.
    public var compresses = false

    public init(at path: String) {
        self.path = path
    }

    /// `$LARDER_STORE`, else `$XDG_DATA_HOME/larder`, else `~/.local/share/larder`.
    public static func defaultPath(environment: [String: String]) -> String {
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        if let path = value("LARDER_STORE") { return path }
        // The XDG Base Directory Specification has relative paths ignored.
        if let data = value("XDG_DATA_HOME"), data.hasPrefix("/") { return data + "/larder" }
        return (value("HOME") ?? ".") + "/.local/share/larder"
    }

    public static let version = Product.version

    /// From here on the whole process gives memory back in large blocks instead of keeping it: a tenth less for a large
    /// mirror, at no cost that can be measured. The command does so when it starts.
    public static func givesMemoryBack() { HeapMemory.givesLargeBlocksBack() }

    /// A text of somebody else's as a terminal may be given it: control characters, and what turns the
    /// direction of text around, are written as JSON would write them. Line feeds and tabs stay.
    ///
    /// ```swift
    /// print(Larder.printable("a title\u{1B}]0;mine\u{07}"))  // a title\u001b]0;mine\u0007
    /// ```
    public static func printable(_ text: String) -> String { text.withVisibleControls }

    var folder: StoreFolder {
        var folder = Self.folder(at: path)
        folder.compresses = compresses
        return folder
    }

    /// A sentence for a user who is about to use a store that belongs to another user; nil where nothing is
    /// wrong.
    package var ownerWarning: String? { folder.ownerWarning }

    /// Where it is, as it may be printed: without a password.
    package var shownPath: String { ServerAddress.withoutSecret(path) }

    /// Reads the store on a thread of its own.
    func reading<Value: Sendable>(
        _ name: String, _ body: @escaping @Sendable (StoreReader) throws(StoreError) -> Value
    ) async throws(LarderError) -> Value {
        let folder = folder
        return try await Self.onThread(name) { () throws(LarderError) in
            try storing { () throws(StoreError) in try body(StoreReader(folder)) }
        }
    }

    /// Runs what blocks on a thread of its own, which is told when the task is cancelled.
    static func onThread<Value: Sendable>(
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
