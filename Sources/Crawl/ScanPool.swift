internal import Bundles
internal import Fetch
internal import Markup
internal import Store
internal import System
internal import Web

/// Threads that scan. Jobs go in, results wait in an inbox, and `wake` tells the owner that some are there.
final class ScanPool: Sendable {
    private let jobs = Inbox<ScanJob>()
    private let results: Inbox<ScanResult>
    private let threads: [NamedThread]

    init(
        count: Int, worker: @escaping @Sendable () -> ScanWorker, wake: @escaping @Sendable () -> Void
    ) throws(StoreError) {
        let jobs = jobs
        let results = Inbox<ScanResult>(wake: wake)
        self.results = results
        var threads: [NamedThread] = []
        do throws(SystemError) {
            for number in 1...max(1, count) {
                threads.append(
                    try NamedThread.start("larder-scan-\(number)") {
                        let worker = worker()
                        while let job = jobs.next() { results.put(worker.run(job)) }
                    })
            }
        } catch {
            jobs.close()
            throw StoreError(error)
        }
        self.threads = threads
    }

    func add(_ job: ScanJob) {
        jobs.put(job)
    }

    func takeResults() -> [ScanResult] {
        results.takeAll()
    }

    /// Returns when every job is done and every thread has ended.
    func finish() {
        jobs.close()
        for thread in threads { thread.join() }
    }
}

/// A response whose links are wanted, and which is to be kept.
struct ScanJob: Sendable {
    enum Source: Sendable {
        /// Fresh from the network.
        case fetched(FetchedResponse)
        /// Stored by an earlier run of this snapshot: nothing to keep, only its links are needed again.
        case held(StoredResponse)
    }

    let number: UInt32
    let url: WebURL
    let role: Frontier.Role
    let referrer: String?
    var referrerNumber: UInt32?
    let source: Source
    /// Seconds since 1970.
    let time: Int64
    var flags: ResponseFlags = []
    /// Which request it is the answer to.
    var request = RequestKey.get
    /// What the request said that brought it, by which answers may vary.
    var sentFields = HTTPFields()
    /// Of that, the names of what a page's script said.
    var scriptFields: [String] = []
    /// What it has to be.
    var required: Bundle?
    /// What an earlier snapshot has of it.
    var held: StoredResponse?
    /// Its content is to be told by its words.
    var wantsWords = false

    /// It is a page that need not be kept, should it ask for that.
    var mayBeLeftOut = false

    /// What becomes of a login that it turns out to be; nil where nobody looks.
    var login: LoginWatch?

    enum LoginWatch: Sendable {
        /// A redirect leads there: it stands for the page that was asked for.
        case isRedirectTarget
        /// It does, unless its address says that it is one.
        case mayBeInPlace
    }

    /// What the job holds in memory.
    var byteCount: Int {
        if case .fetched(let response) = source, case .bytes(let bytes) = response.body {
            bytes.count
        } else {
            0
        }
    }
}

/// What a scan found.
struct ScanResult: Sendable {
    let number: UInt32
    /// What the job held in memory.
    let byteCount: Int
    var links: [FoundLink] = []
    /// What it says to loaders of modules, and asks of them.
    var notes: [LoaderNote] = []
    /// What its references are relative to; nil for its own address.
    var base: WebURL?
    /// Where it leads is not followed: it says so of all its links.
    var isNofollow = false
    /// Why running its scripts may bring more than reading them.
    var renderReasons: RenderReasons = []
    /// It is what an earlier run or snapshot has.
    var isRecalled = false
    /// It came anew, and is to the byte what an earlier snapshot has.
    var same: StoredResponse?
    /// What an earlier snapshot found of the same bytes, and no scan: what a browser asked for.
    var told: [FoundLink] = []
    /// Nil for what nobody looked into.
    var format: BodyFormat?
    /// To know the content of a page again.
    var print: ContentPrint?
    /// What it asks of crawlers.
    var directives: PageDirectives = []
    /// It would be looked into, were it not too large.
    var isTooLarge = false
    /// The document has more links than the crawl follows.
    var isOverlong = false
    /// It was not kept, since it asks for that: only where it leads counts.
    var isLeftOut = false
    /// It asks who is there; nil where it does not, or nobody looked.
    var login: Login?
    /// There is a field for a password in it.
    var asksForPassword = false

    enum Login: Sendable {
        /// It stands for another page, and was not kept.
        case inPlace
        /// Its address says so.
        case byItself
    }

    /// Its title speaks of nothing being there.
    var saysNotFound = false
    /// The rule by which it is not stored.
    var storageBan: String?
    /// Why the response was not kept.
    var refusal: Failure?
    /// The stored response that stays in its place.
    var kept: StoredResponse?
    /// Earlier replacements that turned out to be wrong.
    var restored: [ReplacementCheck.Restored] = []
    /// Why the response could not be kept; the crawl ends with it.
    var failure: StoreError?
}
