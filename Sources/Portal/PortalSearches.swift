package import HTTPServer
package import Store
internal import System

/// Answers searches of the portal on its own threads, so that slow searches do not delay other requests.
/// Thread-safe.
package final class PortalSearches: Sendable {
    /// A search request.
    package struct Question: Sendable {
        package let target: String
        package let visitor: PortalVisitor
        /// A random name of one page's search script: a later search with the same name replaces an earlier
        /// one.
        var asker: String?

        package init(_ target: String, _ visitor: PortalVisitor) {
            (self.target, self.visitor) = (target, visitor)
            asker = PortalRequest(target: target)["asker"].map { String($0.prefix(Self.longestAsker)) }
        }

        private static let longestAsker = 64

        /// Whether the target is a search.
        package static func isSearch(_ target: String) -> Bool {
            let request = PortalRequest(target: target)
            guard request["q"] != nil else { return false }
            return request.path == PortalLinks.search
                || request.path.hasPrefix(PortalLinks.sites) && request.path.hasSuffix("/search")
        }
    }

    /// The portal and store reader of one thread.
    package struct Desk {
        package let portal: Portal
        package let reader: () throws(StoreError) -> StoreReader

        package init(portal: Portal, reader: @escaping () throws(StoreError) -> StoreReader) {
            (self.portal, self.reader) = (portal, reader)
        }
    }

    /// A search that waits for a thread.
    private struct Waiting: Sendable {
        let number: Int
        let question: Question
        let give: @Sendable (Result<Answer, StoreError>) -> Void
    }

    private struct State {
        var waiting: [Waiting] = []
        /// The last search of each waiting search script, by its name.
        var latest: [String: Int] = [:]
        var lastNumber = 0
        var threads: [NamedThread] = []
        var idleCount = 0
        var isClosed = false
    }

    /// The maximum number of running searches, and of waiting ones.
    private static let (mostThreads, mostWaiting) = (2, 64)

    private let state = Monitor(State())
    private let makeDesk: @Sendable () throws(StoreError) -> Desk
    private let willSearch: (@Sendable (_ target: String) -> Void)?

    /// - Parameters:
    ///   - makeDesk: called once on each thread.
    ///   - willSearch: called before each search, on its thread.
    package init(
        willSearch: (@Sendable (_ target: String) -> Void)? = nil,
        _ makeDesk: @escaping @Sendable () throws(StoreError) -> Desk
    ) {
        (self.makeDesk, self.willSearch) = (makeDesk, willSearch)
    }

    /// The answer to a search that was replaced by a later one.
    static var superseded: Answer {
        .text(409, "A later search replaced this one.\n", fields: [("Cache-Control", "no-store")])
    }

    /// The answer if too many searches wait.
    package static var crowded: Answer {
        .text(
            503, "Too many searches are waiting; try again.\n",
            fields: [("Cache-Control", "no-store"), ("Retry-After", "1")])
    }

    /// Queues a search. Returns false if too many wait or no thread can be started.
    package func take(_ question: Question, _ give: @escaping @Sendable (Result<Answer, StoreError>) -> Void)
        -> Bool
    {
        let (isTaken, left) = state.change { state -> (Bool, [Waiting]) in
            guard !state.isClosed else { return (false, []) }
            var left: [Waiting] = []
            if let asker = question.asker {
                left = state.waiting.filter { $0.question.asker == asker }
                state.waiting.removeAll { $0.question.asker == asker }
            }
            guard state.waiting.count < Self.mostWaiting, hasThread(&state) else { return (false, left) }
            state.lastNumber += 1
            state.waiting.append(Waiting(number: state.lastNumber, question: question, give: give))
            if let asker = question.asker { state.latest[asker] = state.lastNumber }
            return (true, left)
        }
        for waiting in left { waiting.give(.success(Self.superseded)) }
        return isTaken
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
    private func hasThread(_ state: inout State) -> Bool {
        guard state.idleCount <= state.waiting.count, state.threads.count < Self.mostThreads else {
            return true
        }
        if let thread = try? NamedThread.start("larder-search", body: { [self] in work() }) {
            state.threads.append(thread)
        }
        return !state.threads.isEmpty
    }

    private func work() {
        var desk: Desk?
        while let waiting = next() {
            willSearch?(waiting.question.target)
            waiting.give(answer(waiting, at: &desk))
            state.change { state in
                if let asker = waiting.question.asker, state.latest[asker] == waiting.number {
                    state.latest[asker] = nil
                }
            }
        }
    }

    private func next() -> Waiting? {
        state.change { $0.idleCount += 1 }
        return state.wait { state -> Waiting?? in
            if state.isClosed { return .some(nil) }
            guard !state.waiting.isEmpty else { return nil }
            state.idleCount -= 1
            return .some(state.waiting.removeFirst())
        }
    }

    private func answer(_ waiting: Waiting, at desk: inout Desk?) -> Result<Answer, StoreError> {
        guard isWanted(waiting) else { return .success(Self.superseded) }
        do throws(StoreError) {
            if desk == nil { desk = try makeDesk() }
            guard let at = desk else { return .success(Self.superseded) }
            at.portal.memory.isWanted = { [self] in isWanted(waiting) }
            defer { at.portal.memory.isWanted = { true } }
            let question = waiting.question
            let answer = try at.portal.answer(question.target, for: question.visitor, reader: at.reader())
            return .success(isWanted(waiting) ? answer : Self.superseded)
        } catch {
            return .failure(error)
        }
    }

    private func isWanted(_ waiting: Waiting) -> Bool {
        state.change { state in
            guard !state.isClosed else { return false }
            guard let asker = waiting.question.asker else { return true }
            return state.latest[asker] == waiting.number
        }
    }
}
