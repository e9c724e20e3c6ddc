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
            "texts": texts, "known": known, "others": others, "forgotten": forgotten, "left": left, "bytes": byteCount,
            "seconds": elapsed / .seconds(1), "interrupted": isInterrupted, "failure": IfAny(failure),
        ]
    }
}

/// Reads the text of what is held and was not read yet, and puts it into the index: one thread reads, and the one that
/// runs this writes. What was committed stays, whatever stops it, and the next run goes on behind that.
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

    /// Read and not written yet, at most.
    private static let mostWaiting = 32
    /// Committed together.
    private static let textsAtOnce = 256
    private static let bytesAtOnce = 16 << 20
    /// Of more bodies nobody counts who leads to which.
    private static let mostCounted = 300_000

    /// One that is damaged is made anew.
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
        var report = IndexReport()
        let reader = try StoreReader(folder)
        let site = try site.map { (name) throws(StoreError) in try SiteName.site(name, in: reader.sites()).id }
        let index = try SearchIndex.opened(folder)
        let total = try reader.bodyCount()
        if budget == nil { report.forgotten = try index.forgetGone(reader) }
        let hands = try TextReading(folder)
        defer { hands.end() }
        var links: [Int64: Int]?
        var batch: [(candidate: TextCandidate, text: IndexedText)] = []
        var batchBytes = 0
        var last: Int64 = 0
        var isOver = false
        while let (candidates, end) = try reader.textCandidates(after: last, site: site) {
            last = end
            var new: [TextCandidate] = []
            for candidate in candidates {
                if try index.has(candidate.place) { report.known += 1 } else { new.append(candidate) }
            }
            if isOver {
                report.left += new.count
                continue
            }
            if !new.isEmpty, links == nil { links = total <= Self.mostCounted ? try reader.linkCounts() : [:] }
            var waiting = new[...]
            var asked = 0
            while !waiting.isEmpty || asked > 0 {
                isOver = isOver || interruption.isRequested || budget.map { clock.now - start > $0 } ?? false
                if isOver {
                    report.left += waiting.count
                    waiting = []
                }
                while asked < Self.mostWaiting, let next = waiting.popFirst() {
                    hands.read(next)
                    asked += 1
                }
                guard asked > 0 else { break }
                let (candidate, text) = try hands.next()
                asked -= 1
                batchBytes += text.body.count
                report.byteCount += Int64(candidate.body.byteCount)
                batch.append((candidate, text))
                if batch.count >= Self.textsAtOnce || batchBytes >= Self.bytesAtOnce {
                    try write(&batch, links ?? [:], index, &report)
                    batchBytes = 0
                    progress?(WorkProgress(.pages, done: report.texts, of: nil, byteCount: report.byteCount))
                }
            }
            if report.left > 0, total > Self.mostCounted { break }
        }
        try write(&batch, links ?? [:], index, &report)
        if report.texts > 0, !isOver { try index.settle() }
        // Of other sites nobody knows more than before.
        let unread = try index.unreadCount()
        try index.noteUnread(site == nil ? report.left : report.left > 0 ? max(report.left, unread) : unread)
        report.isInterrupted = interruption.isRequested
        report.elapsed = clock.now - start
        progress?(WorkProgress(.pages, done: report.texts, of: nil, byteCount: report.byteCount))
        return report
    }

    private func write(
        _ batch: inout [(candidate: TextCandidate, text: IndexedText)], _ links: [Int64: Int], _ index: SearchIndex,
        _ report: inout IndexReport
    ) throws(StoreError) {
        guard !batch.isEmpty else { return }
        let texts = batch
        batch.removeAll(keepingCapacity: true)
        let added = try index.changing { () throws(StoreError) in
            var added = 0
            for (candidate, text) in texts {
                let prior = Self.logarithm(links[candidate.url] ?? 0)
                if try index.add(text, at: candidate.place, prior: prior) { added += 1 }
            }
            return added
        }
        report.texts += added
        report.others += texts.count - added
    }

    /// To the base 2, of one more.
    private static func logarithm(_ count: Int) -> Double {
        Double(Int.bitWidth - (count + 1).leadingZeroBitCount - 1)
    }
}

/// A thread that reads the texts of bodies, in the order in which they are asked for.
private final class TextReading: Sendable {
    private let asked = Inbox<TextCandidate>()
    private let read = Inbox<Result<(TextCandidate, IndexedText), StoreError>>()

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
                .failed, doing: "read the texts of", path: folder.path, detail: "\(error)", advice: "try again")
        }
    }

    func read(_ candidate: TextCandidate) { asked.put(candidate) }

    func next() throws(StoreError) -> (TextCandidate, IndexedText) {
        guard let result = read.next() else { preconditionFailure("nobody closes it") }
        return try result.get()
    }

    func end() { asked.close() }

    /// Empty for what is damaged or gone: whoever finds that out tells it.
    private static func text(of candidate: TextCandidate, _ reader: StoreReader) throws(StoreError) -> IndexedText {
        guard candidate.body.byteCount <= BodyReading.byteLimit,
            let bytes = try reader.content(of: candidate.body)?.load()
        else { return IndexedText() }
        guard candidate.isShownText else {
            return IndexedText(
                OtherTexts.text(of: bytes, type: candidate.type) ?? DocumentText(bytes.span, form: candidate.body.form))
        }
        var document = DocumentText(plain: bytes.span)
        document.title = candidate.title ?? document.title
        return IndexedText(document)
    }
}

extension IndexedText {
    init(_ document: DocumentText) {
        self.init()
        (title, description, language) = (document.title, document.description, document.language)
        (body, aside) = (document.body, document.aside)
        sections = document.sections.map { IndexedSection(start: $0.start, anchor: $0.anchor, title: $0.title) }
    }
}
