package import HTTPServer
package import Store
internal import System

/// Answers searches of the portal on its own threads, so that slow searches do not delay other requests.
///
/// While a user types, the search script sends a search for each change. Only the last one matters: a new search of the
/// same sender replaces a waiting one, and stops a running one (`isWanted`). Replaced searches get a 409.
///
/// Any thread may use it. A monitor protects the state; completions are called without holding it. Each completion is
/// called once, except that of a search that still waits when the server closes.
package final class PortalSearchQueue: Sendable {
    /// A request for a search page.
    package struct SearchRequest: Sendable {
        /// The path and query.
        package let target: String
        package let visitor: PortalVisitor
        /// A random name of one page's search script: a later search with the same name replaces an earlier
        /// one. Nil for searches without the script, which are never replaced.
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
        /// Returns the current reader of the thread.
        package let reader: () throws(StoreError) -> StoreReader

        package init(portal: Portal, reader: @escaping () throws(StoreError) -> StoreReader) {
            (self.portal, self.reader) = (portal, reader)
        }
    }

    /// Makes the answer to a search, on a search thread.
    package typealias Work = @Sendable (Portal, StoreReader) throws(StoreError) -> Answer

    /// A search that waits for a thread.
    private struct QueuedSearch: Sendable {
        let number: Int
        let target: String
        /// The sender whose later search replaces this one; nil if none does.
        let sender: String?
        let work: Work
        let completion: @Sendable (Result<Answer, StoreError>) -> Void
    }

    /// The state that the monitor protects.
    private struct SearchQueueState {
        var waiting: [QueuedSearch] = []
        /// The number of the last search of each sender. It stays until that search has ended, so that a running search can
        /// find out that a later one has replaced it.
        var latest: [String: Int] = [:]
        var lastNumber = 0
        var threads: [NamedThread] = []
        /// The number of threads that wait for a search.
        var idleCount = 0
        var isClosed = false
    }

    /// The maximum number of running searches, and of waiting ones. Beyond them, searches wait or are refused.
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

    /// Queues a search, and answers a waiting search that it replaces. Returns false if too many wait or no thread can be
    /// started; the completion is then not called.
    package func add(
        _ request: SearchRequest, _ completion: @escaping @Sendable (Result<Answer, StoreError>) -> Void
    )
        -> Bool
    {
        add(
            request.target, sender: request.sender,
            { (portal, reader) throws(StoreError) in
                try portal.answer(request.target, for: request.visitor, reader: reader)
            }, completion)
    }

    /// Queues a search whose answer is not a page of the portal. Returns false if too many wait or no thread can be started;
    /// the completion is then not called.
    ///
    /// - Parameter target: the path and query of the request.
    package func add(
        _ target: String, sender: String? = nil, _ work: @escaping Work,
        _ completion: @escaping @Sendable (Result<Answer, StoreError>) -> Void
    ) -> Bool {
        let (isQueued, replaced) = state.change { state -> (Bool, [QueuedSearch]) in
            guard !state.isClosed else { return (false, []) }
            var replaced: [QueuedSearch] = []
            if let sender {
                replaced = state.waiting.filter { $0.sender == sender }
                state.waiting.removeAll { $0.sender == sender }
            }
            guard state.waiting.count < Self.maxQueuedSearches, ensureThread(&state) else {
                return (false, replaced)
            }
            state.lastNumber += 1
            state.waiting.append(
                QueuedSearch(
                    number: state.lastNumber, target: target, sender: sender, work: work,
                    completion: completion))
            if let sender { state.latest[sender] = state.lastNumber }
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

    /// Starts another thread if all are busy and the limit allows it. Returns whether there is a thread at all.
    private func ensureThread(_ state: inout SearchQueueState) -> Bool {
        guard state.idleCount <= state.waiting.count, state.threads.count < Self.maxThreads else {
            return true
        }
        if let thread = try? NamedThread.start("larder-search", body: { [self] in runSearches() }) {
            state.threads.append(thread)
        }
        return !state.threads.isEmpty
    }

    /// Answers searches until the queue closes. This is the body of a thread; its portal and reader are made for the first
    /// search.
    private func runSearches() {
        var context: ThreadContext?
        while let waiting = waitForSearch() {
            willSearch?(waiting.target)
            waiting.completion(answer(waiting, at: &context))
            state.change { state in
                if let sender = waiting.sender, state.latest[sender] == waiting.number {
                    state.latest[sender] = nil
                }
            }
        }
    }

    /// Waits for the next search; nil when the queue closes.
    private func waitForSearch() -> QueuedSearch? {
        state.change { $0.idleCount += 1 }
        return state.wait { state -> QueuedSearch?? in
            if state.isClosed { return .some(nil) }
            guard !state.waiting.isEmpty else { return nil }
            state.idleCount -= 1
            return .some(state.waiting.removeFirst())
        }
    }

    /// Answers a search. The searcher calls `isWanted` while it works, and stops if it returns false.
    private func answer(_ waiting: QueuedSearch, at context: inout ThreadContext?) -> Result<
        Answer, StoreError
    > {
        guard isWanted(waiting) else { return .success(Self.supersededAnswer) }
        do throws(StoreError) {
            if context == nil { context = try makeContext() }
            guard let current = context else { return .success(Self.supersededAnswer) }
            current.portal.cache.isSearchWanted = { [self] in isWanted(waiting) }
            defer { current.portal.cache.isSearchWanted = { true } }
            let answer = try waiting.work(current.portal, current.reader())
            return .success(isWanted(waiting) ? answer : Self.supersededAnswer)
        } catch {
            return .failure(error)
        }
    }

    /// Whether no later search has replaced this one and the queue is open.
    private func isWanted(_ waiting: QueuedSearch) -> Bool {
        state.change { state in
            guard !state.isClosed else { return false }
            guard let sender = waiting.sender else { return true }
            return state.latest[sender] == waiting.number
        }
    }
}
