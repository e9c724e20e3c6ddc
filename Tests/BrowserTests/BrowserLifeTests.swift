import Browser
import Glibc
import System
import TestOrigin
import Testing

/// The running processes, read from /proc.
private enum Processes {
    /// Returns the processes of a group that have not ended.
    static func inGroup(_ group: Int32) -> [Int32] {
        (Folder.names(in: "/proc") ?? []).compactMap { name in
            guard let number = Int32(String(decoding: name, as: UTF8.self)),
                let text = try? WholeFile.read("/proc/\(number)/stat", atMost: 4096)
            else { return nil }
            // The name in brackets may contain any characters.
            let words = String(decoding: text, as: UTF8.self).split(separator: ")").last?.split(
                separator: " ")
            guard let words, words.count > 2, words[0] != "Z", words[2] == "\(group)" else { return nil }
            return number
        }
    }
}

@Suite(.enabled(if: SharedBrowser.isInstalled, "no browser is installed"))
struct BrowserLifeTests {
    @Test func `a closed browser leaves no process and no folder`() throws {
        let scratch = try TemporaryFolder("lb")
        let browser = try SharedBrowser.start { $0.scratch = scratch.path }
        #expect(browser.version.contains("/"))
        #expect(browser.isSandboxed == (getuid() != 0))
        let group = try #require(browser.processGroup)
        #expect(!Processes.inGroup(group).isEmpty)
        #expect(Folder.names(in: scratch.path)?.count == 1)
        let origin = try TestOrigin()
        origin.on("/", .page("<p>here"))
        #expect(browser.render(PageVisit(url: origin.url("/"))).ending == .complete)
        origin.hold("/held")
        let waiting = Monitor<[PageOutcome]>([])
        for _ in 0..<2 {
            browser.open(PageVisit(url: origin.url("/held"))) { outcome in
                waiting.change { $0.append(outcome) }
            }
        }
        #expect(origin.waitForRequests(1, to: "/held"))
        browser.close()
        browser.close()
        #expect(
            waiting.change { $0.map(\.ending) }
                == Array(repeating: .failed("the browser was closed"), count: 2))
        #expect(Processes.inGroup(group) == [])
        #expect(Folder.names(in: scratch.path)?.count == 0)
        #expect(browser.render(PageVisit(url: origin.url("/"))).ending == .failed("the browser is closed"))
        origin.release("/held")
    }

    @Test func `a killed browser fails its pages, and the next page starts a new one`() throws {
        let origin = try TestOrigin()
        origin.on("/", .page("<p>here"))
        origin.hold("/held")
        let browser = try SharedBrowser.start()
        let group = try #require(browser.processGroup)
        let waiting = Monitor<PageOutcome?>(nil)
        browser.open(PageVisit(url: origin.url("/held"))) { outcome in waiting.change { $0 = outcome } }
        #expect(origin.waitForRequests(1, to: "/held"))
        kill(-group, SIGKILL)
        let outcome = waiting.wait { $0 }
        guard case .failed = outcome.ending else {
            Issue.record("\(outcome.ending)")
            return
        }
        #expect(browser.render(PageVisit(url: origin.url("/"))).ending == .complete)
        #expect(browser.processGroup != group)
        origin.release("/held")
    }

    @Test func `a new browser removes only the folder of a killed browser`() throws {
        let scratch = try TemporaryFolder("lb")
        for name in ["larder-browser-left", "larder-browser-new", "larder-browser-held", "other"] {
            mkdir(scratch.file(name), 0o700)
        }
        for name in ["larder-browser-left", "larder-browser-held", "other"] {
            try WholeFile.replace(scratch.file(name + "/lock"), with: "")
        }
        let held = open(scratch.file("larder-browser-held/lock"), O_RDWR | O_CLOEXEC)
        defer { close(held) }
        #expect(flock(held, LOCK_EX) == 0)
        try SharedBrowser.start { $0.scratch = scratch.path }.close()
        let names = (Folder.names(in: scratch.path) ?? []).map { String(decoding: $0, as: UTF8.self) }
        #expect(names.sorted() == ["larder-browser-held", "larder-browser-new", "other"])
    }

    @Test func `an executable that is not a browser fails at once`() {
        for program in ["/bin/false", "/nowhere/chromium"] {
            #expect(throws: BrowserError.self) { try Browser(BrowserOptions(executable: program)) }
        }
    }

    @Test func `a named profile folder is not removed`() throws {
        let folder = try TemporaryFolder("lb")
        let profile = folder.file("profile")
        try SharedBrowser.start { $0.profile = profile }.close()
        #expect(WholeFile.exists(profile + "/Local State"))
    }
}
