internal import Glibc
internal import System

/// Gives a `StoreWriter` a thread that writes what arrives, in transactions of `Limits.openTime` or, where
/// much arrives, of the other limits there.
///
/// Any thread may add. One that adds faster than the disk takes it waits, so that memory stays bounded.
package final class WriteQueue: Sendable {
    private struct Batch {
        var responses: [NewResponse] = []
        var links: [NewLinks] = []
        var missing: [String] = []
        var tables: [(links: [UInt8], body: StoredBody)] = []
        /// Called when all that came before is committed.
        var listeners: [@Sendable () -> Void] = []
        /// Somebody waits for that.
        var isAwaited = false

        var isEmpty: Bool {
            responses.isEmpty && links.isEmpty && missing.isEmpty && tables.isEmpty && listeners.isEmpty
        }
    }

    private struct State {
        var batch = Batch()
        var byteCount = 0
        var isClosed = false
        var ending: @Sendable () throws(StoreError) -> SnapshotEnding = { .keepOpen }
        var failure: StoreError?
    }

    private let state = Monitor(State())
    private let thread: NamedThread

    /// The writer belongs to the queue's thread from here on.
    package init(_ writer: sending StoreWriter, snapshot: OpenSnapshot) throws(StoreError) {
        let state = state
        let lent = Lent(writer)
        thread = try StoreError.wrapping { () throws(SystemError) in
            try NamedThread.start("larder-store") {
                do throws(StoreError) {
                    try Self.write(state, lent.writer, snapshot)
                    let ending = try state.change { $0.ending }()
                    try lent.writer.persisting { _ throws(StoreError) in
                        try lent.writer.end(snapshot, ending)
                    }
                } catch {
                    // From here on nothing is kept; whoever adds or finishes is told why.
                    state.change { $0.failure = error }
                }
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

    /// A body's links as they were found anew. Does not wait.
    package func addWithoutWaiting(_ table: [UInt8], of body: StoredBody) throws(StoreError) {
        try add(table.count, limit: .max) { $0.tables.append((table, body)) }
    }

    /// What turned out to say that there is nothing, after its response was added. Does not wait.
    package func addWithoutWaiting(softNotFound href: String) throws(StoreError) {
        try add(href.utf8.count, limit: .max) { $0.missing.append(href) }
    }

    /// Has all that was added until now committed soon, and calls `body` then, on the queue's thread. It is
    /// not called where the writer has failed.
    package func afterCommit(_ body: @escaping @Sendable () -> Void) throws(StoreError) {
        try add(0, limit: .max) { batch in
            batch.listeners.append(body)
            batch.isAwaited = true
        }
    }

    /// The same for what nobody waits for: it is committed in its time.
    package func onceCommitted(_ body: @escaping @Sendable () -> Void) throws(StoreError) {
        try add(0, limit: .max) { $0.listeners.append(body) }
    }

    private func add(_ size: Int, limit: Int, put: (inout Batch) -> Void) throws(StoreError) {
        let failure = state.wait { state -> StoreError?? in
            if let failure = state.failure { return .some(failure) }
            guard state.byteCount == 0 || state.byteCount + size <= limit else { return nil }
            put(&state.batch)
            state.byteCount += size
            return .some(nil)
        }
        if let failure { throw failure }
    }

    /// Returns when everything that was added is committed and the snapshot has ended as said.
    package func finish(_ ending: SnapshotEnding) throws(StoreError) {
        try finish { ending }
    }

    /// The same, where how it ends depends on what is committed: `ending` is called when all of it is, on the
    /// queue's thread.
    package func finish(
        _ ending: @escaping @Sendable () throws(StoreError) -> SnapshotEnding
    ) throws(StoreError) {
        state.change { state in
            state.isClosed = true
            state.ending = ending
        }
        thread.join()
        if let failure = state.change({ $0.failure }) { throw failure }
    }

    /// Returns when the queue is closed and everything in it committed.
    private static func write(_ state: Monitor<State>, _ writer: StoreWriter, _ snapshot: OpenSnapshot)
        throws(StoreError)
    {
        let clock = ContinuousClock()
        var commitTime: ContinuousClock.Instant?
        var listeners: [@Sendable () -> Void] = []
        var isAwaited = false
        /// What is put and not committed, where it may have to be put once more.
        var open: [Batch] = []
        func put(_ batch: Batch) throws(StoreError) {
            try writer.put(batch.responses, links: batch.links, to: snapshot)
            for table in batch.tables { try writer.put(table.links, of: table.body) }
        }
        /// Does it again, behind all of what is open, as long as that is of use.
        func persisting(_ body: () throws(StoreError) -> Void) throws(StoreError) {
            try writer.persisting { attempt throws(StoreError) in
                if attempt > 1 { for batch in open { try put(batch) } }
                try body()
            }
        }
        func commitRows() throws(StoreError) {
            try persisting { () throws(StoreError) in try writer.commit() }
            open = []
        }
        func commit() throws(StoreError) {
            try commitRows()
            for listener in listeners { listener() }
            listeners = []
            isAwaited = false
        }
        while true {
            // Somebody may want to be alone with the store meanwhile.
            let patience = commitTime.map { max(.zero, $0 - clock.now) } ?? .milliseconds(500)
            let arrival = state.wait(atMost: patience, next)
            switch arrival {
            case .batch(let batch, let byteCount):
                commitTime = commitTime ?? clock.now + Limits.openTime
                try persisting { () throws(StoreError) in try put(batch) }
                if writer.isServed { open.append(batch) }
                if !batch.missing.isEmpty {
                    // In a transaction of its own: it is rare.
                    try commitRows()
                    try persisting { () throws(StoreError) in
                        try writer.mark(softNotFound: batch.missing, in: snapshot)
                    }
                }
                listeners += batch.listeners
                isAwaited = isAwaited || batch.isAwaited
                guard writer.hasMuchOpen || isAwaited || clock.now >= commitTime ?? clock.now else {
                    // Where little comes at a time, whoever adds should not have to wake somebody for each.
                    if byteCount < Limits.queuedBytes / 16 { usleep(1000) }
                    continue
                }
            case .end:
                return try commit()
            case nil:
                break
            }
            try commit()
            try persisting { () throws(StoreError) in try writer.pauseIfAsked() }
            guard commitTime != nil else { continue }
            commitTime = nil
            // Other processes look for their turn each millisecond.
            usleep(2000)
        }
    }

    private enum Arrival {
        case batch(Batch, byteCount: Int)
        case end
    }

    private static func next(_ state: inout State) -> Arrival? {
        guard !state.batch.isEmpty else { return state.isClosed ? .end : nil }
        defer {
            state.batch = Batch()
            state.byteCount = 0
        }
        return .batch(state.batch, byteCount: state.byteCount)
    }

    /// The writer goes to the queue's thread and to no other while that runs: `init` takes it as `sending`,
    /// and nobody else has it.
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
            count += body.frame?.count ?? 0
        }
        return count
    }
}
