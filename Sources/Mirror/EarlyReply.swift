internal import HTTPServer
internal import Origins
internal import Store
internal import Synchronization
internal import Web

/// A response that a proxy's client gets as soon as it is received, because the reply depends neither on the
/// store nor on a digest. It is stored after that. Until then, other requesters get `copy`.
struct EarlyReply: Sendable {
    let reply: LoadedReply
    let response: LoadedResponse
    let conclusion: CacheConclusion
    /// The copy for other requesters; nil if the response is not stored.
    let copy: MemoryResponse?

    /// Makes an early reply from the outcome of a load. Nil if the reply depends on the store, or on a digest.
    init?(_ job: LoadJob, _ outcome: LoadOutcome, _ profile: CacheProfile, now: HTTPDate) {
        guard job.layout.isTransparent, job.required == nil, !job.isCompletion,
            case .response(let response) = outcome, case .bytes(let bytes) = response.body
        else { return nil }
        let conclusion = job.conclusion(of: outcome, profile, now)
        guard conclusion.reply == .received, conclusion.invalidated.isEmpty else { return nil }
        switch conclusion.change {
        case .none: copy = nil
        case .store(let entry, .allowed):
            // Only some clients accept an encoded body, so that lookups of it must go through the store.
            guard !entry.isPart, !response.isCoded else { return nil }
            let isKept = job.canStore(response.fields) && job.accepts(response, bytes)
            let body = LoadedBody(content: .bytes([]), bytes: bytes)
            copy = isKept ? job.memoryResponse(entry, .whole(body), response.flags) : nil
        case .store, .update, .extend: return nil
        }
        self.response = response
        self.conclusion = conclusion
        let answer =
            job.stream?.hasBegun == true
            ? Answer(status: response.status, fields: [], body: [])
            : AnswerFields(layout: job.layout).proxyAnswer(
                response.status, response.fields, job.request.url, job.method == "HEAD" ? nil : bytes)
        reply = LoadedReply(answer: answer, clientFields: response.fields.cookieLines, isShared: copy != nil)
    }
}

/// Received responses that are not committed to the store yet. Any thread may use it.
///
/// The client of an early reply may send its next request before the response is committed, and must find the response
/// then. Each response is therefore always in one of two places, and looked for in this order:
///
/// 1. in `memoryCache`, from `add` until `removeIfCurrent`, which is called after the commit;
/// 2. in the store, from the commit on.
final class UncommittedResponses: Sendable {
    /// Stores one response on the thread `larder-load`. Returns what to do after the commit, with its error.
    typealias Work = @Sendable (LoadedResponseHandler) -> (StoreError?) -> Void

    private struct State {
        /// Work that the thread has not taken yet, in the order of arrival.
        var works: [Work] = []
        /// Whether the server is stopping, so that no work is accepted.
        var isClosed = false
    }

    private let memoryCache: MemoryResponseCache
    private let state = Mutex(State())
    /// The number of the last added response.
    private let last = Atomic<UInt64>(0)

    /// - Parameter secrets: The hasher with which the variants of the copies are made.
    init(_ secrets: SecretHasher) { memoryCache = MemoryResponseCache(byteLimit: 16 * 1024 * 1024, secrets) }

    func response(of href: String, request: RequestKey, fields: HTTPFields) -> MemoryResponse? {
        memoryCache.response(of: href, request: request, fields: fields)
    }

    func invalidate(_ hrefs: [String]) { memoryCache.invalidate(hrefs) }

    /// Adds a copy, and returns it with its number. Nil if there is no room: the client then waits for the
    /// store.
    func add(_ copy: MemoryResponse) -> MemoryResponse? {
        var copy = copy
        copy.number = last.add(1, ordering: .relaxed).newValue
        return memoryCache.add(copy) ? copy : nil
    }

    func removeIfCurrent(_ copy: MemoryResponse) { memoryCache.removeIfCurrent(copy) }

    /// Queues work for the store. Returns whether it is the first since the last `takeAll`; nil if the queue
    /// is closed.
    func put(_ work: @escaping Work) -> Bool? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            state.works.append(work)
            return state.works.count == 1
        }
    }

    /// - Parameter isLast: Whether to close the queue.
    func takeAll(isLast: Bool = false) -> [Work] {
        state.withLock { state in
            defer { state.works = [] }
            if isLast { state.isClosed = true }
            return state.works
        }
    }
}
