internal import Store
internal import Synchronization
internal import Web

/// What a proxy's client gets as soon as it has come: nothing of it depends on what is held, nor on a digest.
/// It is kept behind its client's back, and who asks for it meanwhile finds it in `copy`.
struct Arrival: Sendable {
    let reply: LoadedReply
    let response: LoadedResponse
    let conclusion: CacheConclusion
    /// Nil where nothing of it is kept.
    let copy: ShelvedCopy?

    /// Nil for what has to be concluded with the store at hand.
    init?(_ job: LoadJob, _ outcome: LoadOutcome, _ profile: CacheProfile, now: HTTPDate) {
        guard job.layout.isTransparent, job.required == nil, !job.isCompletion,
            case .response(let response) = outcome, case .bytes(let bytes) = response.body
        else { return nil }
        let conclusion = job.conclusion(of: outcome, profile, now)
        guard conclusion.reply == .received, conclusion.invalidated.isEmpty else { return nil }
        switch conclusion.change {
        case .none: copy = nil
        case .store(let entry, .allowed):
            // What is kept in its coding is given to those alone who take that: the store tells.
            guard !entry.isPart, !response.isCoded else { return nil }
            let isKept = job.mayKeep(response.fields) && job.accepts(response, bytes)
            let body = LoadedBody(content: .bytes([]), bytes: bytes)
            copy = isKept ? job.shelved(entry, .whole(body), response.flags) : nil
        case .store, .update, .extend: return nil
        }
        self.response = response
        self.conclusion = conclusion
        let answer =
            job.stream?.hasBegun == true
            ? Answer(status: response.status, fields: [], body: [])
            : AnswerFields(layout: job.layout).asItCame(
                response.status, response.fields, job.request.url, job.method == "HEAD" ? nil : bytes)
        reply = LoadedReply(answer: answer, ownFields: response.fields.cookieLines, isShared: copy != nil)
    }
}

/// What has come and is not committed yet. Any thread may use it.
final class Arrivals: Sendable {
    typealias Work = @Sendable (LoadedKeeper) -> (StoreError?) -> Void

    private struct State {
        var works: [Work] = []
        var isClosed = false
    }

    private let shelf: BodyShelf
    private let state = Mutex(State())
    private let last = Atomic<UInt64>(0)

    /// - Parameter secrets: by which the variants of the copies are made.
    init(_ secrets: SecretHasher) { shelf = BodyShelf(byteLimit: 16 * 1024 * 1024, secrets) }

    func copy(of href: String, request: RequestKey, fields: HTTPFields) -> ShelvedCopy? {
        shelf.copy(of: href, request: request, fields: fields)
    }

    func invalidate(_ hrefs: [String]) { shelf.invalidate(hrefs) }

    /// Nil where there is too much already: then its client waits for the store.
    func add(_ copy: ShelvedCopy) -> ShelvedCopy? {
        var copy = copy
        copy.number = last.add(1, ordering: .relaxed).newValue
        return shelf.add(copy) ? copy : nil
    }

    func remove(_ copy: ShelvedCopy) { shelf.remove(copy) }

    /// What the store is to do about it, and whether that is the first since somebody took all; nil when
    /// nothing is done any more.
    func put(_ work: @escaping Work) -> Bool? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            state.works.append(work)
            return state.works.count == 1
        }
    }

    /// - Parameter isLast: nothing is put from here on.
    func takeAll(isLast: Bool = false) -> [Work] {
        state.withLock { state in
            defer { state.works = [] }
            if isLast { state.isClosed = true }
            return state.works
        }
    }
}
