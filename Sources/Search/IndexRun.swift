internal import Markup
package import Reports
package import Store
package import System
package import Web

/// What an indexing did.
public struct IndexReport: Sendable, Equatable {
    /// Texts that are to be found from now on.
    public package(set) var texts = 0
    /// Bodies that had been read before.
    public package(set) var known = 0
    /// Bodies without any text, and those whose text is another body's.
    public package(set) var others = 0
    /// Texts that nothing has any more, and that are found no more.
    public package(set) var forgotten = 0
    /// Bodies that are left for the next indexing.
    public package(set) var left = 0
    /// What was read.
    public package(set) var byteCount: Int64 = 0
    public package(set) var elapsed = Duration.zero
    public package(set) var isInterrupted = false
    /// What stopped it; nil where nothing did.
    public package(set) var failure: String?

    package init(failure: String? = nil) { self.failure = failure }

    /// The report for programs.
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

/// Reads the text of what is held and was not read yet, and puts it into the index: one thread reads, and
/// the one that runs this writes. What was committed stays, whatever stops it, and the next run goes on
/// behind that.
package struct IndexRun {
    package var site: String?
    /// It ends after so long, with the rest left for the next one.
    package var budget: Duration?
    package var progress: (@Sendable (WorkProgress) -> Void)?
    private let folder: StoreFolder
    private let interruption: Interruption

    package init(_ folder: StoreFolder, _ interruption: Interruption) {
        self.folder = folder
        self.interruption = interruption
    }

    /// About so long it takes until a kilobyte of a page has been read and written.
    private static let timeOfKilobyte = Duration.microseconds(80)

    /// An index that is damaged is made anew.
    package func run() throws(StoreError) -> IndexReport {
        do throws(StoreError) {
            return try goOn()
        } catch  where !SearchIndex.isSound(folder, repair: true) {
            return try goOn()
        }
    }

    private func goOn() throws(StoreError) -> IndexReport {
        let clock = ContinuousClock()
        let start = clock.now
        let (budget, interruption) = (budget, interruption)
        let isOver = { (byteCount: Int) in
            if interruption.isRequested { return true }
            guard let budget else { return false }
            return clock.now - start + Self.timeOfKilobyte * (byteCount / 1024) >= budget
        }
        let reader = try StoreReader(folder)
        let index = try SearchIndex.opened(folder)
        let site = try site.map { (name) throws(StoreError) in
            try SiteName.site(name, in: reader.sites()).id
        }
        var report = IndexReport()
        if budget == nil { report.forgotten = try index.forgetGone(reader) }
        report.known = try index.bodyCount()
        let pass = IndexPass(reader, index, try TextReading(folder), report, isHasty: budget != nil, progress)
        defer { pass.end() }
        for visit in try reader.textVisits(site: site) where try !index.hasRead(visit) {
            try pass.read(visit, until: isOver)
        }
        report = pass.report
        if report.texts > 0, report.left == 0 { try index.settle() }
        // Of other sites nobody knows more than before.
        let unread = site == nil ? 0 : try index.unreadCount()
        try index.noteUnread(site == nil || report.left > 0 ? max(report.left, unread) : unread)
        report.isInterrupted = interruption.isRequested
        report.elapsed = clock.now - start
        pass.tell()
        return report
    }
}

/// One run's work: what was asked for and not read yet, what was read and not written yet. It belongs to the
/// thread that runs it.
private final class IndexPass {
    private(set) var report: IndexReport
    private let reader: StoreReader
    private let index: SearchIndex
    private let hands: TextReading
    private let isHasty: Bool
    private let progress: (@Sendable (WorkProgress) -> Void)?
    private var askedCount = 0
    /// What was asked for and is not written.
    private var pendingBytes = 0
    private var batch: [(candidate: TextCandidate, text: DocumentText)] = []
    private var batchBytes = 0
    /// Bodies that are left for the next indexing, and whether the visit at hand has such.
    private var left: Set<Int64> = []
    private var isLeft = false
    /// How many pages lead to an URL; not counted before there is something new.
    private var links: [Int64: Int]?

    /// Asked for and not read yet, at most: what is asked for is read, whatever time it is.
    private static let mostWaiting = 4
    /// Committed together, and where time is short: what was read is written, whatever time it is.
    private static let textsAtOnce = 256
    private static let bytesAtOnce = 16 << 20
    private static let bytesInHaste = 128 << 10
    /// Of more bodies nobody counts who leads to which.
    private static let mostCounted = 300_000

    init(
        _ reader: StoreReader, _ index: SearchIndex, _ hands: TextReading, _ report: IndexReport,
        isHasty: Bool, _ progress: (@Sendable (WorkProgress) -> Void)?
    ) {
        (self.reader, self.index, self.hands) = (reader, index, hands)
        (self.report, self.isHasty, self.progress) = (report, isHasty, progress)
    }

    func end() { hands.end() }

    func tell() { progress?(WorkProgress(.pages, done: report.texts, of: nil, byteCount: report.byteCount)) }

    /// Reads what the visit brought. Once all of that is in the index, the visit is not looked through again.
    ///
    /// - Parameter isOver: whether there is no time for so many bytes more.
    func read(_ visit: TextVisit, until isOver: (Int) -> Bool) throws(StoreError) {
        let bodies = try reader.textBodies(of: visit)
        isLeft = false
        for (offset, body) in bodies.enumerated() {
            guard !isOver(pendingBytes) else {
                leave(bodies[offset...])
                break
            }
            guard let candidate = try reader.textCandidate(body), try !index.has(candidate.place) else {
                continue
            }
            guard !isOver(pendingBytes + candidate.body.byteCount) else {
                leave(bodies[offset...])
                break
            }
            hands.read(candidate)
            pendingBytes += candidate.body.byteCount
            askedCount += 1
            if askedCount >= Self.mostWaiting { try take() }
        }
        while askedCount > 0 { try take() }
        try write()
        if !isLeft { try index.noteRead(visit) }
    }

    /// Many of them other visits have as well.
    private func leave(_ bodies: ArraySlice<Int64>) {
        isLeft = true
        left.formUnion(bodies)
        report.left = left.count
    }

    private func take() throws(StoreError) {
        let (candidate, text) = try hands.next()
        askedCount -= 1
        batch.append((candidate, text))
        batchBytes += text.body.count
        report.byteCount += Int64(candidate.body.byteCount)
        if batch.count >= Self.textsAtOnce || batchBytes >= (isHasty ? Self.bytesInHaste : Self.bytesAtOnce) {
            try write()
            tell()
        }
    }

    private func write() throws(StoreError) {
        guard !batch.isEmpty else { return }
        let texts = batch
        batch.removeAll(keepingCapacity: true)
        batchBytes = 0
        for (candidate, _) in texts { pendingBytes -= candidate.body.byteCount }
        let links = try countedLinks()
        let priors = texts.map { Self.logarithm(links[$0.candidate.url] ?? 0) }
        let added = try index.changing { () throws(StoreError) in
            var added = 0
            // By the numbers that they get: FTS5 writes down what it has when one comes with a smaller.
            for number in texts.indices.sorted(by: { (priors[$1], $0) < (priors[$0], $1) }) {
                let (candidate, text) = texts[number]
                if try index.add(text, at: candidate.place, prior: priors[number]) { added += 1 }
            }
            return added
        }
        report.texts += added
        report.others += texts.count - added
    }

    private func countedLinks() throws(StoreError) -> [Int64: Int] {
        if let links { return links }
        let counted = try reader.bodyCount() <= Self.mostCounted ? reader.linkCounts() : [:]
        links = counted
        return counted
    }

    /// To the base 2, of one more.
    private static func logarithm(_ count: Int) -> Double {
        Double(Int.bitWidth - (count + 1).leadingZeroBitCount - 1)
    }
}

/// A thread that reads the texts of bodies, in the order in which they are asked for.
private final class TextReading: Sendable {
    private let asked = Inbox<TextCandidate>()
    private let read = Inbox<Result<(TextCandidate, DocumentText), StoreError>>()

    init(_ folder: StoreFolder) throws(StoreError) {
        let (asked, read) = (asked, read)
        do throws(SystemError) {
            try NamedThread.start("larder-text") {
                do throws(StoreError) {
                    let reader = try StoreReader(folder)
                    while let candidate = asked.next() {
                        read.put(.success((candidate, try Self.text(of: candidate, reader))))
                    }
                } catch {
                    read.put(.failure(error))
                }
            }
        } catch {
            throw StoreError(
                .failed, doing: "read the texts of", path: folder.path, detail: "\(error)",
                advice: "try again")
        }
    }

    func read(_ candidate: TextCandidate) { asked.put(candidate) }

    func next() throws(StoreError) -> (TextCandidate, DocumentText) {
        guard let result = read.next() else { preconditionFailure("nobody closes it") }
        return try result.get()
    }

    func end() { asked.close() }

    /// Empty for what is damaged or gone: whoever finds that out tells it.
    private static func text(of candidate: TextCandidate, _ reader: StoreReader) throws(StoreError)
        -> DocumentText
    {
        guard candidate.body.byteCount <= BodyReading.byteLimit,
            let bytes = try reader.content(of: candidate.body)?.load()
        else { return DocumentText() }
        guard candidate.isShownText else {
            return OtherTexts.text(of: bytes, type: candidate.type)
                ?? DocumentText(bytes.span, form: candidate.body.form)
        }
        var document = DocumentText(plain: bytes.span)
        document.title = candidate.title ?? document.title
        return document
    }
}
