internal import HTTPServer
internal import Origins
internal import Store
internal import Synchronization
internal import Web

/// The site that was last served at the root of each name and port of this machine, as recorded in this
/// store. Any thread may use it.
///
/// To a browser, all sites that are at the root one after another are one origin: a service worker, storage
/// and cached responses of one exist for the next. The mirror makes the browser clear them when the site
/// changes.
final class RootHistory: Sendable {
    private let origin: String
    private let folder: StoreFolder?
    private let roots: Mutex<[String: String]>

    /// - Parameter folder: The store that keeps the history for the next server; nil keeps it in memory.
    init(_ root: RootOrigin, in folder: StoreFolder?) {
        origin = root.origins[0]
        self.folder = folder
        roots = Mutex(folder?.servedRoots ?? [:])
    }

    /// Whether browsers have no stored state of an earlier site.
    ///
    /// - Parameter authority: One of the root's own names, with the port.
    func isCurrent(at authority: String) -> Bool { roots.withLock { $0[authority] == origin } }

    /// Records that a browser was told to clear its stored state.
    func noteCleared(at authority: String) {
        roots.withLock { roots in
            roots[authority] = origin
            guard let folder else { return }
            // Other servers may have recorded their sites meanwhile.
            var all = folder.servedRoots
            all[authority] = origin
            // If this fails, the next server tells browsers to clear their state again.
            try? folder.storeServedRoots(all)
        }
    }
}

/// Ends service workers of sites that had a name before.
enum WorkerRemoval {
    /// Headers that make a browser drop its stored state for the name and port.
    static let clearing: [(name: String, value: String)] = [
        ("Cache-Control", "no-store"), ("Clear-Site-Data", "\"cache\", \"storage\""),
    ]

    /// A service worker that replaces an earlier site's worker, whose script does not exist any more: it
    /// takes over at once, and unregisters itself. A browser that gets an error keeps its worker.
    static let answer = Answer(
        status: 200,
        fields: [
            ("Content-Type", "text/javascript; charset=utf-8"), ("Cache-Control", "no-store"),
            ("Content-Security-Policy", "default-src 'none'"), ("X-Content-Type-Options", "nosniff"),
        ],
        body: Array(
            """
            addEventListener("install", () => skipWaiting());
            addEventListener("activate", (event) => event.waitUntil(registration.unregister()));

            """.utf8))
}
