import Crawl
import Fetch
import Glibc
import Store
import Synchronization
import System
import TestOrigin
import Web

/// A crawl in a process of its own. It prints its progress, and in the end its result:
///
///     at MILLISECONDS PAGES CPU-MILLISECONDS RESIDENT-KILOBYTES
///     missing URL
///     pages COUNT assets COUNT requests COUNT published BOOL continued BOOL
struct CrawlProcess {
    let folder: String
    let url: String

    func run() throws -> Bool {
        guard let start = WebURL(url) else { return false }
        var plan = CrawlPlan(
            site: start.href, start: [start], startZone: .thisMachine, folder: StoreFolder(folder),
            userAgent: "larder-soak")
        plan.fetch.proxies = ProxyRules()
        plan.fetch.stallTimeout = .seconds(3)
        let clock = ContinuousClock()
        let began = clock.now
        let next = Atomic(0)
        plan.progress = { progress in
            let done = progress.pages.done + progress.assets.done
            guard done >= next.load(ordering: .relaxed) else { return }
            next.store(done + 2000, ordering: .relaxed)
            Self.reportProgress(done, after: clock.now - began)
        }
        let report = try Crawl(plan, interruption: Interruption()).run()
        Self.reportProgress(report.pages, after: clock.now - began)
        for missing in report.missing { Soak.say("missing \(missing.url) \(missing.failure)") }
        Soak.say(
            "pages \(report.pages) assets \(report.assets) requests \(report.requests)",
            "published \(report.isPublished) continued \(report.isContinued)")
        return report.isPublished
    }

    private static func reportProgress(_ pages: Int, after time: Duration) {
        Soak.say("at \(Int(time / .milliseconds(1))) \(pages) \(cpuMilliseconds) \(residentKilobytes)")
    }

    private static var cpuMilliseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }

    private static var residentKilobytes: Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 256)
        guard fgets(&text, 256, file) != nil else { return 0 }
        let words = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            .split(
                separator: " ")
        return words.count > 1 ? (Int(words[1]) ?? 0) * 4 : 0
    }
}
