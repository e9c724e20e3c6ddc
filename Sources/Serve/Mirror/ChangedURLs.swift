internal import Synchronization
internal import Web

/// What unsafe requests have changed, so that what was asked for before and comes after is known to be old
/// (RFC 9111, section 4.4). Any thread may use it.
final class ChangedURLs: Sendable {
    private struct State {
        var count = 0
        var byURL: [String: Int] = [:]
        /// What was asked for before this is taken for old, whatever it is.
        var floor = 0
    }

    private let state = Mutex(State())
    private static let mostURLs = 10_000

    /// What had been changed when a server was asked.
    struct Stage: Sendable {
        fileprivate let changes: ChangedURLs
        fileprivate let href: String
        fileprivate let count: Int
        /// Of the last change there.
        let number: Int

        /// Something was changed there since.
        var isPast: Bool {
            changes.state.withLock { state in
                // Of most sites nothing is ever changed by way of a server.
                state.count > count && max(state.byURL[href] ?? 0, state.floor) > count
            }
        }
    }

    func stage(at url: WebURL) -> Stage {
        let href = url.withoutFragment.href
        let (count, number) = state.withLock { ($0.count, $0.count == 0 ? 0 : $0.byURL[href] ?? 0) }
        return Stage(changes: self, href: href, count: count, number: number)
    }

    /// A request changed what is at its URL, and at those that its answer names.
    func note(_ urls: [WebURL]) {
        guard !urls.isEmpty else { return }
        state.withLock { state in
            state.count += 1
            if state.byURL.count > Self.mostURLs {
                state.byURL.removeAll()
                state.floor = state.count
            }
            for url in urls { state.byURL[url.withoutFragment.href] = state.count }
        }
    }
}
