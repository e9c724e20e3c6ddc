package import Database
internal import Glibc
internal import System

/// A thread that writes to a store with a `StoreWriter`. It commits after `Limits.maxOpenTime`, or earlier if a
/// transaction reaches one of the other limits there.
///
/// The queue collects what callers add in one `Batch`. The thread takes the whole batch at once, writes it to
/// the open transaction, and decides whether to commit. After each commit it calls the listeners, and pauses if
/// another process waits for exclusive access. `finish` closes the queue: the thread commits the remaining rows,
/// ends the snapshot and exits.
///
/// Any thread may add to the queue. A thread that adds faster than the disk can write waits, so that memory
/// use stays limited. After an error, nothing more is stored: the error is thrown by all later calls of `add`
/// and `finish`.
package final class WriteQueue: Sendable {
    /// Everything that was added since the thread last took a batch.
    private struct Batch {
        var responses: [NewResponse] = []
        var links: [NewLinks] = []
        /// The URLs of responses that are soft 404s.
        var softNotFound: [String] = []
        var linkTables: [(links: [UInt8], body: StoredBody)] = []
        /// Called when this batch and all earlier ones are committed.
        var listeners: [@Sendable () -> Void] = []
        /// Whether a caller waits for the commit.
        var isAwaited = false

        var isEmpty: Bool {
            responses.isEmpty && links.isEmpty && softNotFound.isEmpty && linkTables.isEmpty
                && listeners.isEmpty
        }
    }

    /// Everything that callers and the thread share.
    private struct QueueState {
        var batch = Batch()
        /// The estimated size of the batch.
        var byteCount = 0
        var isClosed = false
        var ending: @Sendable () throws(StoreError) -> SnapshotEnding = { .keepOpen }
        var failure: StoreError?
        /// The number of the live snapshot, if it stays because the new one shows the same.
        var unchanged: Int64?
    }

    private let state = Monitor(QueueState())
    private let thread: NamedThread

    /// Starts the thread, which owns the writer from now on.
    package init(_ writer: sending StoreWriter, snapshot: OpenSnapshot) throws(StoreError) {
        let state = state
        let transferred = TransferredWriter(writer)
        thread = try StoreError.wrapping { () throws(SystemError) in
            try NamedThread.start("larder-store") {
                do throws(StoreError) {
                    try Self.write(state, transferred.writer, snapshot)
                    let ending = try state.change { $0.ending }()
                    try transferred.writer.withRetries { _ throws(StoreError) in
                        let unchanged = try transferred.writer.end(snapshot, ending)
                        state.change { $0.unchanged = unchanged }
                    }
                } catch {
                    // Later calls of `add` and `finish` throw this error.
                    state.change { $0.failure = error }
                }
            }
        }
    }

    /// Adds a response. Waits while the queue is full. Throws the error that stopped the writer, if there was
    /// one.
    package func add(_ response: NewResponse) throws(StoreError) {
        try add(response.queuedByteCount, limit: Limits.maxQueuedBytes) { $0.responses.append(response) }
    }

    /// Adds a response without waiting, for small responses and for threads that must not wait.
    package func addWithoutWaiting(_ response: NewResponse) throws(StoreError) {
        try add(response.queuedByteCount, limit: .max) { $0.responses.append(response) }
    }

    /// Adds the links of a response, which must have been added before. Does not wait.
    package func addWithoutWaiting(_ links: NewLinks) throws(StoreError) {
        try add(links.count * 24, limit: .max) { $0.links.append(links) }
    }

    /// Replaces the link table of a stored body. Does not wait.
    package func replaceLinkTable(_ table: [UInt8], of body: StoredBody) throws(StoreError) {
        try add(table.count, limit: .max) { $0.linkTables.append((table, body)) }
    }

    /// Marks a response that was added before as a soft 404. Does not wait.
    package func markSoftNotFound(_ href: String) throws(StoreError) {
        try add(href.utf8.count, limit: .max) { $0.softNotFound.append(href) }
    }

    /// Commits everything that was added until now without waiting for `Limits.maxOpenTime`, then calls `body` on the queue's thread. `body` is
    /// not called if the writer failed.
    package func commitSoon(then body: @escaping @Sendable () -> Void) throws(StoreError) {
        try add(0, limit: .max) { batch in
            batch.listeners.append(body)
            batch.isAwaited = true
        }
    }

    /// Calls `body` on the queue's thread after the regular commit of everything that was added until now.
    package func afterNextCommit(_ body: @escaping @Sendable () -> Void) throws(StoreError) {
        try add(0, limit: .max) { $0.listeners.append(body) }
    }

    /// Changes the batch. Waits while the batch is larger than `limit` with the new part of this size.
    private func add(_ size: Int, limit: Int, change: (inout Batch) -> Void) throws(StoreError) {
        let failure = state.wait { state -> StoreError?? in
            if let failure = state.failure { return .some(failure) }
            guard state.byteCount == 0 || state.byteCount + size <= limit else { return nil }
            change(&state.batch)
            state.byteCount += size
            return .some(nil)
        }
        if let failure { throw failure }
    }

    /// Returns when everything that was added is committed and the snapshot has ended with `ending`.
    ///
    /// - Returns: The number of the live snapshot, if that stays because the new one shows the same; else nil.
    @discardableResult
    package func finish(_ ending: SnapshotEnding) throws(StoreError) -> Int64? {
        try finish { ending }
    }

    /// Does the same, but computes the ending on the queue's thread after everything is committed.
    @discardableResult
    package func finish(
        _ ending: @escaping @Sendable () throws(StoreError) -> SnapshotEnding
    ) throws(StoreError) -> Int64? {
        state.change { state in
            state.isClosed = true
            state.ending = ending
        }
        thread.join()
        if let failure = state.change({ $0.failure }) { throw failure }
        return state.change { $0.unchanged }
    }

    /// Writes what arrives, and returns when the queue is closed and everything in it is committed.
    private static func write(_ state: Monitor<QueueState>, _ writer: StoreWriter, _ snapshot: OpenSnapshot)
        throws(StoreError)
    {
        let clock = ContinuousClock()
        var commitTime: ContinuousClock.Instant?
        var listeners: [@Sendable () -> Void] = []
        var isAwaited = false
        /// Uncommitted batches, kept for a PostgreSQL store in case they have to be written again.
        var uncommitted: [Batch] = []
        func write(_ batch: Batch) throws(StoreError) {
            try writer.put(batch.responses, links: batch.links, to: snapshot)
            for table in batch.linkTables { try writer.replaceLinkTable(table.links, of: table.body) }
        }
        /// Runs `body`, and repeats it after a recoverable error. The uncommitted batches are written again
        /// first.
        func withRetries(_ body: () throws(StoreError) -> Void) throws(StoreError) {
            try writer.withRetries { attempt throws(StoreError) in
                if attempt > 1 { for batch in uncommitted { try write(batch) } }
                try body()
            }
        }
        func commitRows() throws(StoreError) {
            try withRetries { () throws(StoreError) in try writer.commit() }
            uncommitted = []
        }
        func commit() throws(StoreError) {
            try commitRows()
            for listener in listeners { listener() }
            listeners = []
            isAwaited = false
        }
        while true {
            // Wake up now and then even if nothing arrives, because another process may want exclusive
            // access.
            let maxWait = commitTime.map { max(.zero, $0 - clock.now) } ?? .milliseconds(500)
            let task = state.wait(atMost: maxWait, next)
            switch task {
            case .batch(let batch, let byteCount):
                commitTime = commitTime ?? clock.now + Limits.maxOpenTime
                try withRetries { () throws(StoreError) in try write(batch) }
                if writer.isPostgreSQL { uncommitted.append(batch) }
                if !batch.softNotFound.isEmpty {
                    // This uses a transaction of its own, because it is rare.
                    try commitRows()
                    try withRetries { () throws(StoreError) in
                        try writer.mark(softNotFound: batch.softNotFound, in: snapshot)
                    }
                }
                listeners += batch.listeners
                isAwaited = isAwaited || batch.isAwaited
                guard writer.shouldCommitSoon || isAwaited || clock.now >= commitTime ?? clock.now else {
                    // If little arrives at a time, sleep briefly, so that not every `add` has to wake this
                    // thread.
                    if byteCount < Limits.maxQueuedBytes / 16 { usleep(1000) }
                    continue
                }
            case .end:
                return try commit()
            case nil:
                break
            }
            try commit()
            try withRetries { () throws(StoreError) in try writer.pauseIfRequested() }
            guard commitTime != nil else { continue }
            commitTime = nil
            // Other processes check every millisecond whether they can write.
            usleep(2000)
        }
    }

    /// The next thing that the thread has to do.
    private enum NextTask {
        case batch(Batch, byteCount: Int)
        case end
    }

    private static func next(_ state: inout QueueState) -> NextTask? {
        guard !state.batch.isEmpty else { return state.isClosed ? .end : nil }
        defer {
            state.batch = Batch()
            state.byteCount = 0
        }
        return .batch(state.batch, byteCount: state.byteCount)
    }

    /// Passes the writer to the queue's thread. Sendable is safe: `init` takes the writer as `sending`, and
    /// only that thread uses it afterwards.
    private struct TransferredWriter: @unchecked Sendable {
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
