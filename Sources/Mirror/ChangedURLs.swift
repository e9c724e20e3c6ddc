internal import Synchronization
internal import Web

/// Records when unsafe requests changed URLs. A response to a request that was sent before a change, but that
/// arrives after it, is known to be outdated (RFC 9111, section 4.4). Any thread may use it.
final class ChangedURLs: Sendable {
    private struct State {
        var count = 0
        var byURL: [String: Int] = [:]
        /// Responses to requests that were sent before this count are treated as outdated, whatever their
        /// URL.
        var floor = 0
    }

    private let state = Mutex(State())
    /// The maximum number of URLs. Beyond it all are forgotten, and every earlier request counts as outdated.
    private static let maxURLs = 10_000

    /// The count of changes at the time when a request was sent to an origin.
    struct RequestStamp: Sendable {
        fileprivate let changes: ChangedURLs
        fileprivate let href: String
        fileprivate let count: Int
        /// The number of the last change of the URL before that; 0 if there was none.
        let number: Int

        /// Whether the URL was changed since.
        var isOutdated: Bool {
            changes.state.withLock { state in
                // Checked first, because most sites are never changed through the server.
                state.count > count && max(state.byURL[href] ?? 0, state.floor) > count
            }
        }
    }

    func stamp(at url: WebURL) -> RequestStamp {
        let href = url.withoutFragment.href
        let (count, number) = state.withLock { ($0.count, $0.count == 0 ? 0 : $0.byURL[href] ?? 0) }
        return RequestStamp(changes: self, href: href, count: count, number: number)
    }

    /// Records that a request changed its own URL and those that its response names.
    func note(_ urls: [WebURL]) {
        guard !urls.isEmpty else { return }
        state.withLock { state in
            state.count += 1
            if state.byURL.count > Self.maxURLs {
                state.byURL.removeAll()
                state.floor = state.count
            }
            for url in urls { state.byURL[url.withoutFragment.href] = state.count }
        }
    }
}
