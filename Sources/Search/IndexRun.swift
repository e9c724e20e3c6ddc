internal import Markup
package import Reports
package import Store
package import System
package import Web

/// The result of an indexing run.
public struct IndexReport: Sendable, Equatable {
    /// The number of texts that were added.
    public package(set) var texts = 0
    /// The number of bodies that were in the index already.
    public package(set) var known = 0
    /// The number of bodies without text, or with the text of another body.
    public package(set) var others = 0
    /// The number of texts that were removed because no stored body has them any more. A run with a time
    /// limit removes none.
    public package(set) var forgotten = 0
    /// The number of bodies that are left for the next run.
    public package(set) var left = 0
    /// The size of the bodies that were read.
    public package(set) var byteCount: Int64 = 0
    /// The duration of the run.
    public package(set) var elapsed = Duration.zero
    /// Whether the run was interrupted.
    public package(set) var isInterrupted = false
    /// The error that ended the run; nil if there was none.
    public package(set) var failure: String?

    package init(failure: String? = nil) { self.failure = failure }

    /// The report as JSON.
    public var json: String { members.text() }
}

extension IndexReport: JSONObject {
    package var members: JSONMembers {
        [
            "texts": texts, "known": known, "others": others, "forgotten": forgotten, "left": left,
            "bytes": byteCount,
            "seconds": elapsed / .seconds(1), "interrupted": isInterrupted, "failure": IfAny(failure),
        ]
    }
}

/// Adds the texts of stored bodies that are not in the search index yet.
///
/// A second thread reads texts while the calling thread writes them. If the run is stopped, texts that were
/// committed stay in the index, and the next run continues.
package struct IndexRun {
    /// The name, URL or host of the site to index; nil for all sites.
    package var site: String?
    /// The time after which the run ends and leaves the rest to the next run; nil for no limit.
    package var budget: Duration?
    /// Whether texts that no stored body has any more are removed, which takes time in proportion to the index.
    package var removesObsoleteTexts = true
    package var progress: (@Sendable (WorkProgress) -> Void)?
    private let folder: StoreFolder
    private let interruption: Interruption

    package init(_ folder: StoreFolder, _ interruption: Interruption) {
        self.folder = folder
        self.interruption = interruption
    }

    /// The approximate time to read and index a kilobyte of a page. With a time limit, work that would exceed
    /// it is not begun.
    private static let timeOfKilobyte = Duration.microseconds(80)

    /// Indexes the bodies, and rebuilds the index if it is damaged.
    package func run() throws(StoreError) -> IndexReport {
        do throws(StoreError) {
            return try indexOnce()
        } catch  where !SearchIndex.isSound(folder, repair: true) {
            return try indexOnce()
        }
    }

    private func indexOnce() throws(StoreError) -> IndexReport {
        let clock = ContinuousClock()
        let start = clock.now
        let (budget, interruption) = (budget, interruption)
        let isOver = { (byteCount: Int) in
            if interruption.isRequested { return true }
            guard let budget else { return false }
            return clock.now - start + Self.timeOfKilobyte * (byteCount / 1024) >= budget
        }
        let reader = try StoreReader(folder)
        let index = try SearchIndex.openOrCreate(folder)
        let site = try site.map { (name) throws(StoreError) in
            try SiteName.site(name, in: reader.sites()).id
        }
        var report = IndexReport()
        if budget == nil, removesObsoleteTexts { report.forgotten = try index.removeGoneTexts(reader) }
        report.known = try index.bodyCount()
        let pass = IndexPass(
            reader, index, try TextReaders(folder), report, hasTimeLimit: budget != nil, progress)
        defer { pass.end() }
        for snapshot in try reader.textSnapshots(site: site) where try !index.hasIndexed(snapshot) {
            try pass.read(snapshot, until: isOver)
        }
        report = pass.report
        if report.texts > 0, report.left == 0 { try index.mergeAndCheckpoint() }
        // The counts of other sites are unchanged.
        let unread = site == nil ? 0 : try index.unreadCount()
        try index.recordUnread(site == nil || report.left > 0 ? max(report.left, unread) : unread)
        report.isInterrupted = interruption.isRequested
        report.elapsed = clock.now - start
        pass.reportProgress()
        return report
    }
}

/// The pipeline of one run: bodies that are being read, and texts that are not written yet. It belongs to the calling
/// thread of the run.
///
/// A body is first in the queue of the reading thread, then in `batch`, then in the index. `pendingBytes` is
/// the size of all bodies that are in the queue or in the batch.
private final class IndexPass {
    private(set) var report: IndexReport
    private let reader: StoreReader
    private let index: SearchIndex
    private let textReaders: TextReaders
    private let hasTimeLimit: Bool
    private let progress: (@Sendable (WorkProgress) -> Void)?
    /// The number of bodies in the queue of the reading thread.
    private var queuedCount = 0
    /// The size of the bodies that are being read, or not written yet.
    private var pendingBytes = 0
    private var batch: [(candidate: TextCandidate, text: DocumentText)] = []
    private var batchBytes = 0
    /// The ids of bodies that are left for the next run.
    private var left: Set<Int64> = []
    /// Whether the current snapshot has such bodies.
    private var hasLeftBodies = false
    /// The number of pages that link to each URL, by its id; nil until a text is written.
    private var linkCountsByURL: [Int64: Int]?

    /// The maximum number of bodies in the queue of the reading thread, without and with a time limit. They are read
    /// even after the time limit. The queue is long enough for the thread to read while texts are written.
    private static let maxQueuedBodies = 96
    private static let maxQueuedBodiesWithTimeLimit = 4
    /// The size of bodies that are being read, or not written yet, above which no more are read.
    private static let maxPendingBytes = 64 << 20
    /// The number of texts after which a transaction is committed. Texts that were read are written even
    /// after the time limit.
    private static let maxTextsPerCommit = 64
    /// The size of the texts in bytes after which a transaction is committed, without and with a time limit.
    private static let maxBytesPerCommit = 16 << 20
    private static let maxBytesPerCommitWithTimeLimit = 128 << 10
    /// The maximum number of stored bodies for which links are counted. In larger stores all texts count as equally linked.
    private static let maxCountedBodies = 300_000

    init(
        _ reader: StoreReader, _ index: SearchIndex, _ textReaders: TextReaders, _ report: IndexReport,
        hasTimeLimit: Bool, _ progress: (@Sendable (WorkProgress) -> Void)?
    ) {
        (self.reader, self.index, self.textReaders) = (reader, index, textReaders)
        (self.report, self.hasTimeLimit, self.progress) = (report, hasTimeLimit, progress)
    }

    func end() { textReaders.end() }

    func reportProgress() {
        progress?(WorkProgress(.pages, done: report.texts, of: nil, byteCount: report.byteCount))
    }

    /// Adds the texts of a snapshot. When all of them are in the index, later runs skip the snapshot.
    ///
    /// - Parameter isOver: whether the remaining time is too short to process this number of bytes.
    func read(_ snapshot: TextSnapshot, until isOver: (Int) -> Bool) throws(StoreError) {
        let bodies = try reader.textBodies(of: snapshot)
        hasLeftBodies = false
        for (offset, body) in bodies.enumerated() {
            guard !isOver(pendingBytes) else {
                leave(bodies[offset...])
                break
            }
            guard let candidate = try reader.textCandidate(body), try !index.contains(candidate.indexedBody)
            else {
                continue
            }
            guard !isOver(pendingBytes + candidate.body.byteCount) else {
                leave(bodies[offset...])
                break
            }
            textReaders.read(candidate)
            pendingBytes += candidate.body.byteCount
            queuedCount += 1
            if queuedCount >= (hasTimeLimit ? Self.maxQueuedBodiesWithTimeLimit : Self.maxQueuedBodies)
                || pendingBytes >= Self.maxPendingBytes
            {
                try moveTextToBatch()
            }
        }
        while queuedCount > 0 { try moveTextToBatch() }
        try write()
        if !hasLeftBodies { try index.recordIndexed(snapshot) }
    }

    /// Leaves bodies to the next run. Bodies that several snapshots share count once.
    private func leave(_ bodies: ArraySlice<Int64>) {
        hasLeftBodies = true
        left.formUnion(bodies)
        report.left = left.count
    }

    /// Moves a text from the reading thread to the batch, and writes the batch if it is full.
    private func moveTextToBatch() throws(StoreError) {
        let (candidate, text) = try textReaders.next()
        queuedCount -= 1
        batch.append((candidate, text))
        batchBytes += text.body.count
        report.byteCount += Int64(candidate.body.byteCount)
        if batch.count >= Self.maxTextsPerCommit
            || batchBytes >= (hasTimeLimit ? Self.maxBytesPerCommitWithTimeLimit : Self.maxBytesPerCommit)
        {
            try write()
            reportProgress()
        }
    }

    /// Writes the batch to the index in one transaction.
    private func write() throws(StoreError) {
        guard !batch.isEmpty else { return }
        let texts = batch
        batch.removeAll(keepingCapacity: true)
        batchBytes = 0
        for (candidate, _) in texts { pendingBytes -= candidate.body.byteCount }
        let links = try linkCounts()
        let priors = texts.map { Self.logarithm(links[$0.candidate.url] ?? 0) }
        let added = try index.withTransaction { () throws(StoreError) in
            var added = 0
            // In ascending order of their row numbers: FTS5 flushes its buffer when a smaller one follows.
            for number in texts.indices.sorted(by: { (priors[$1], $0) < (priors[$0], $1) }) {
                let (candidate, text) = texts[number]
                if try index.add(text, of: candidate.indexedBody, prior: priors[number]) { added += 1 }
            }
            return added
        }
        report.texts += added
        report.others += texts.count - added
    }

    /// Returns the number of pages that link to each URL, by its id; empty if the store is too
    /// large to count. Links are counted once per run.
    private func linkCounts() throws(StoreError) -> [Int64: Int] {
        if let linkCountsByURL { return linkCountsByURL }
        let counts = try reader.bodyCount() <= Self.maxCountedBodies ? reader.linkCounts() : [:]
        linkCountsByURL = counts
        return counts
    }

    /// The binary logarithm of the count plus one.
    private static func logarithm(_ count: Int) -> Double {
        Double(Int.bitWidth - (count + 1).leadingZeroBitCount - 1)
    }
}

/// Two threads that read the texts of bodies, since reading takes longer than indexing. Belongs to the thread that calls
/// `read` and `next`.
///
/// The bodies go to the threads alternately: with two threads, the first reads the bodies 0, 2, 4…, the second 1, 3, 5…
/// `next` takes the results alternately too, so that they are in the order of the calls of `read`.
///
/// After an error a thread ends: `next` throws that error once, and must not be called again.
private final class TextReaders {
    private let requests: [Inbox<TextCandidate>]
    private let results: [Inbox<Result<(TextCandidate, DocumentText), StoreError>>]
    /// The number of bodies that were passed to `read`, and of those that `next` has returned.
    private var (requestCount, resultCount) = (0, 0)

    /// Two threads read about as fast as one thread writes to the index.
    private static let threadCount = 2

    init(_ folder: StoreFolder) throws(StoreError) {
        requests = (0..<Self.threadCount).map { _ in Inbox() }
        results = (0..<Self.threadCount).map { _ in Inbox() }
        do throws(SystemError) {
            for (requests, results) in zip(requests, results) {
                try NamedThread.start("larder-text") {
                    do throws(StoreError) {
                        let reader = try StoreReader(folder)
                        while let candidate = requests.next() {
                            results.put(.success((candidate, try Self.text(of: candidate, reader))))
                        }
                    } catch {
                        results.put(.failure(error))
                    }
                }
            }
        } catch {
            throw StoreError(
                .failed, doing: "read the stored pages of", path: folder.path, detail: "\(error)",
                advice: "try again")
        }
    }

    func read(_ candidate: TextCandidate) {
        requests[requestCount % Self.threadCount].put(candidate)
        requestCount += 1
    }

    func next() throws(StoreError) -> (TextCandidate, DocumentText) {
        guard let result = results[resultCount % Self.threadCount].next() else {
            preconditionFailure("the queue was closed")
        }
        resultCount += 1
        return try result.get()
    }

    func end() { for queue in requests { queue.close() } }

    /// Returns the text of a body; an empty text if the body is too large, damaged or removed. Other checks
    /// report that.
    private static func text(of candidate: TextCandidate, _ reader: StoreReader) throws(StoreError)
        -> DocumentText
    {
        guard candidate.body.byteCount <= BodyReading.maxBytes,
            let bytes = try reader.content(of: candidate.body)?.load()
        else { return DocumentText() }
        guard candidate.isRenderedText else {
            return DocumentTextExtractor.text(of: bytes, type: candidate.type)
                ?? DocumentText(bytes.span, form: candidate.body.form)
        }
        var document = DocumentText(plain: bytes.span)
        document.title = candidate.title ?? document.title
        return document
    }
}
