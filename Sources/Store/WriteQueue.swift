/// Gives a `StoreWriter` a thread and puts what arrives into batches, a transaction each.
///
/// Any thread may add. One that adds faster than the disk takes it waits, so that memory stays bounded.
package final class WriteQueue: Sendable {
    private struct Batch {
        var responses: [NewResponse] = []
        var links: [NewLinks] = []
        var missing: [String] = []

        var isEmpty: Bool { responses.isEmpty && links.isEmpty && missing.isEmpty }
    }

    private struct State {
        var batch = Batch()
        var byteCount = 0
        var isClosed = false
        var ending: @Sendable () throws(StoreError) -> VisitEnding = { .keepOpen }
        var failure: StoreError?
    }

    private let gate = Gate(State())
    private let thread: NamedThread

    /// The writer belongs to the queue's thread from here on.
    package init(_ writer: sending StoreWriter, visit: OpenVisit) throws(StoreError) {
        let gate = gate
        let lent = Lent(writer)
        thread = try NamedThread.start("larder-store") {
            do throws(StoreError) {
                while let batch = Self.nextBatch(gate) {
                    try lent.writer.add(batch.responses, links: batch.links, to: visit)
                    try lent.writer.mark(softNotFound: batch.missing, in: visit)
                }
                try lent.writer.end(visit, try gate.change { $0.ending }())
            } catch {
                // From here on nothing is kept; whoever adds or finishes is told why.
                gate.change { $0.failure = error }
            }
        }
    }

    /// Throws what stopped the writer, if anything did.
    package func add(_ response: NewResponse) throws(StoreError) {
        try add(response.queuedByteCount, limit: Limits.queuedBytes) { $0.responses.append(response) }
    }

    /// For what is small, and for threads that must not wait.
    package func addWithoutWaiting(_ response: NewResponse) throws(StoreError) {
        try add(response.queuedByteCount, limit: .max) { $0.responses.append(response) }
    }

    /// After the response whose body has the links. Does not wait.
    package func addWithoutWaiting(_ links: NewLinks) throws(StoreError) {
        try add(links.count * 24, limit: .max) { $0.links.append(links) }
    }

    /// What turned out to say that there is nothing, after its response was added. Does not wait.
    package func addWithoutWaiting(softNotFound href: String) throws(StoreError) {
        try add(href.utf8.count, limit: .max) { $0.missing.append(href) }
    }

    private func add(_ size: Int, limit: Int, put: (inout Batch) -> Void) throws(StoreError) {
        let failure = gate.wait { state -> StoreError?? in
            if let failure = state.failure { return .some(failure) }
            guard state.byteCount == 0 || state.byteCount + size <= limit else { return nil }
            put(&state.batch)
            state.byteCount += size
            return .some(nil)
        }
        if let failure { throw failure }
    }

    /// Returns when everything that was added is committed and the visit has ended as said.
    package func finish(_ ending: VisitEnding) throws(StoreError) {
        try finish { ending }
    }

    /// The same, where how it ends depends on what is committed: `ending` is called when all of it is, on the queue's thread.
    package func finish(
        _ ending: @escaping @Sendable () throws(StoreError) -> VisitEnding
    ) throws(StoreError) {
        gate.change { state in
            state.isClosed = true
            state.ending = ending
        }
        thread.join()
        if let failure = gate.change({ $0.failure }) { throw failure }
    }

    /// Nil when the queue is closed and empty.
    private static func nextBatch(_ gate: Gate<State>) -> Batch? {
        gate.wait { state in
            guard !state.batch.isEmpty else { return state.isClosed ? .some(nil) : nil }
            let batch = state.batch
            state.batch = Batch()
            state.byteCount = 0
            return .some(batch)
        }
    }

    /// The writer goes to the queue's thread and to no other while that runs: `init` takes it as `sending`, and nobody
    /// else has it.
    private struct Lent: @unchecked Sendable {
        let writer: StoreWriter

        init(_ writer: StoreWriter) {
            self.writer = writer
        }
    }
}

extension NewResponse {
    fileprivate var queuedByteCount: Int {
        var count = href.utf8.count + fields.utf8.count + 200
        if case .new(let body) = body {
            count += body.links.count
            if case .bytes(let bytes) = body.content { count += bytes.count }
        }
        return count
    }
}
