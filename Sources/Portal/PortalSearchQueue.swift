package import HTTPServer
package import Store
internal import System

/// Answers searches of the portal on its own threads, so that slow searches do not delay other requests.
///
/// While a user types, the search script sends a search for each change. Only the last one matters: a new search of the
/// same sender replaces a waiting one, and stops a running one (`isWanted`). Replaced searches get a 409.
///
/// Any thread may use it. A monitor protects the state; completions are called without holding it.
package final class PortalSearchQueue: Sendable {
    /// A search request.
    package struct SearchRequest: Sendable {
        package let target: String
        package let visitor: PortalVisitor
        /// A random name of one page's search script: a later search with the same name replaces an earlier
        /// one.
        var sender: String?

        package init(_ target: String, _ visitor: PortalVisitor) {
            (self.target, self.visitor) = (target, visitor)
            sender = PortalRequest(target: target)["asker"].map { String($0.prefix(Self.maxSenderBytes)) }
        }

        /// The maximum length of a sender's name. Longer names are truncated.
        private static let maxSenderBytes = 64

        /// Whether the target is a search.
        package static func isSearch(_ target: String) -> Bool {
            let request = PortalRequest(target: target)
            guard request["q"] != nil else { return false }
            return request.path == PortalLinks.search
                || request.path.hasPrefix(PortalLinks.sites) && request.path.hasSuffix("/search")
        }
    }

    /// The portal and store reader of one thread.
    package struct ThreadContext {
        package let portal: Portal
        package let reader: () throws(StoreError) -> StoreReader

        package init(portal: Portal, reader: @escaping () throws(StoreError) -> StoreReader) {
            (self.portal, self.reader) = (portal, reader)
        }
    }

    /// A search that waits for a thread.
    private struct QueuedSearch: Sendable {
        let number: Int
        let request: SearchRequest
        let completion: @Sendable (Result<Answer, StoreError>) -> Void
    }

    private struct SearchQueueState {
        var waiting: [QueuedSearch] = []
        /// The last search of each waiting search script, by its name.
        var latest: [String: Int] = [:]
        var lastNumber = 0
        var threads: [NamedThread] = []
        var idleCount = 0
        var isClosed = false
    }

    /// The maximum number of running searches, and of waiting ones.
    private static let (maxThreads, maxQueuedSearches) = (2, 64)

    private let state = Monitor(SearchQueueState())
    private let makeContext: @Sendable () throws(StoreError) -> ThreadContext
    private let willSearch: (@Sendable (_ target: String) -> Void)?

    /// - Parameters:
    ///   - makeContext: called once on each thread.
    ///   - willSearch: called before each search, on its thread.
    package init(
        willSearch: (@Sendable (_ target: String) -> Void)? = nil,
        _ makeContext: @escaping @Sendable () throws(StoreError) -> ThreadContext
    ) {
        (self.makeContext, self.willSearch) = (makeContext, willSearch)
    }

    /// The answer to a search that was replaced by a later one.
    static var supersededAnswer: Answer {
        .text(409, "A later search replaced this one.\n", fields: [("Cache-Control", "no-store")])
    }

    /// The answer if too many searches wait.
    package static var tooManyAnswer: Answer {
        .text(
            503, "Too many searches are waiting; try again.\n",
            fields: [("Cache-Control", "no-store"), ("Retry-After", "1")])
    }

    /// Queues a search. Returns false if too many wait or no thread can be started.
    package func add(
        _ request: SearchRequest, _ completion: @escaping @Sendable (Result<Answer, StoreError>) -> Void
    )
        -> Bool
    {
        let (isQueued, replaced) = state.change { state -> (Bool, [QueuedSearch]) in
            guard !state.isClosed else { return (false, []) }
            var replaced: [QueuedSearch] = []
            if let sender = request.sender {
                replaced = state.waiting.filter { $0.request.sender == sender }
                state.waiting.removeAll { $0.request.sender == sender }
            }
            guard state.waiting.count < Self.maxQueuedSearches, ensureThread(&state) else {
                return (false, replaced)
            }
            state.lastNumber += 1
            state.waiting.append(
                QueuedSearch(number: state.lastNumber, request: request, completion: completion))
            if let sender = request.sender { state.latest[sender] = state.lastNumber }
            return (true, replaced)
        }
        for waiting in replaced { waiting.completion(.success(Self.supersededAnswer)) }
        return isQueued
    }

    /// Ends running searches, and returns when they have ended.
    package func close() {
        let threads = state.change { state in
            state.isClosed = true
            state.waiting = []
            state.latest = [:]
            return state.threads
        }
        for thread in threads { thread.join() }
    }

    /// Whether there is a thread; starts another one if all are busy.
    private func ensureThread(_ state: inout SearchQueueState) -> Bool {
        guard state.idleCount <= state.waiting.count, state.threads.count < Self.maxThreads else {
            return true
        }
        if let thread = try? NamedThread.start("larder-search", body: { [self] in runSearches() }) {
            state.threads.append(thread)
        }
        return !state.threads.isEmpty
    }

    private func runSearches() {
        var context: ThreadContext?
        while let waiting = waitForSearch() {
            willSearch?(waiting.request.target)
            waiting.completion(answer(waiting, at: &context))
            state.change { state in
                if let sender = waiting.request.sender, state.latest[sender] == waiting.number {
                    state.latest[sender] = nil
                }
            }
        }
    }

    private func waitForSearch() -> QueuedSearch? {
        state.change { $0.idleCount += 1 }
        return state.wait { state -> QueuedSearch?? in
            if state.isClosed { return .some(nil) }
            guard !state.waiting.isEmpty else { return nil }
            state.idleCount -= 1
            return .some(state.waiting.removeFirst())
        }
    }

    private func answer(_ waiting: QueuedSearch, at context: inout ThreadContext?) -> Result<
        Answer, StoreError
    > {
        guard isWanted(waiting) else { return .success(Self.supersededAnswer) }
        do throws(StoreError) {
            if context == nil { context = try makeContext() }
            guard let current = context else { return .success(Self.supersededAnswer) }
            current.portal.cache.isSearchWanted = { [self] in isWanted(waiting) }
            defer { current.portal.cache.isSearchWanted = { true } }
            let request = waiting.request
            let answer = try current.portal.answer(
                request.target, for: request.visitor, reader: current.reader())
            return .success(isWanted(waiting) ? answer : Self.supersededAnswer)
        } catch {
            return .failure(error)
        }
    }

    private func isWanted(_ waiting: QueuedSearch) -> Bool {
        state.change { state in
            guard !state.isClosed else { return false }
            guard let sender = waiting.request.sender else { return true }
            return state.latest[sender] == waiting.number
        }
    }
}
