import Testing
import Web

@testable import Browser

/// Simulates the browser for a tab.
private struct Play {
    var tab: Tab
    var now = Duration.zero
    /// The actions of the tab that the test has not read yet.
    var commands: [(command: Command, number: Int?)] = []
    var outcomes: [PageOutcome] = []
    var givenUp: [String] = []
    var actCount = 0
    var owned: [String] = []

    init(_ change: (inout PageVisit) -> Void = { _ in }) {
        var visit = PageVisit(url: "http://a.test/")
        visit.scroll = 0
        change(&visit)
        tab = Tab(visit, now: .zero)
        drain()
    }

    /// Whether the page answers the test for busy scripts at once.
    var isCalm = true

    /// Takes the actions of the tab. Answers the test for busy scripts, unless `isCalm` is false.
    mutating func drain() {
        for action in tab.takeActions() {
            switch action {
            case .send(let command, let number?) where isCalm && Self.asksForCalm(command):
                tab.didReceive(Self.calm, to: number, now: now)
                drain()
            case .send(let command, let number): commands.append((command, number))
            case .ownContext(let name), .ownSession(let name): owned.append(name)
            case .disownSession(let name): owned.removeAll { $0 == name }
            case .finish(let outcome): outcomes.append(outcome)
            case .giveUp(let why): givenUp.append(why)
            case .act: actCount += 1
            }
        }
    }

    /// The names of the commands since the last call.
    mutating func takeNames() -> [String] {
        defer { commands = [] }
        return commands.map(\.command.method)
    }

    mutating func takeCommand(_ method: String) throws -> (command: Command, number: Int?) {
        let place = try #require(
            commands.firstIndex { $0.command.method == method }, "\(method) in \(commands)")
        return commands.remove(at: place)
    }

    @discardableResult
    /// Sends the result of the first command with this name.
    mutating func reply(_ method: String, _ json: String = "{}") throws -> Command {
        let (command, number) = try takeCommand(method)
        tab.didReceive(.result(try Self.json(json)), to: try #require(number), now: now)
        drain()
        return command
    }

    mutating func refuse(_ method: String, _ why: String) throws {
        let (_, number) = try takeCommand(method)
        tab.didReceive(.refusal(why), to: try #require(number), now: now)
        drain()
    }

    /// Sends an event to the tab.
    mutating func event(_ method: String, _ json: String, session: String? = "S") throws {
        tab.didReceive(Event(method: method, session: session, parameters: try Self.json(json)), now: now)
        drain()
    }

    /// Lets time pass. Like the driver, calls the tab at each of its deadlines, and not between them.
    mutating func pass(_ time: Duration) {
        let end = now + time
        while let deadline = tab.deadline, deadline <= end {
            now = max(deadline, now)
            tab.tick(now: now)
            drain()
        }
        now = end
    }

    private static func asksForCalm(_ command: Command) -> Bool {
        /// Whether the command is the test for busy scripts.
        command.method == "Runtime.evaluate" && command.parameters.contains(#""expression":"1""#)
    }

    private static let calm = Reply.refusal("whatever it says")

    static func json(_ text: String) throws -> JSONValue { try JSONValue.parse(Array(text.utf8).span) }

    // MARK: - Sequences of messages

    mutating func start() throws {
        if tab.visit.staysOpen {
            try reply("Target.getBrowserContexts", #"{"browserContextIds":[],"defaultBrowserContextId":"C"}"#)
        } else {
            try reply("Target.createBrowserContext", #"{"browserContextId":"C"}"#)
        }
        try attach("S", "T", "page", from: nil)
        try reply("Target.createTarget", #"{"targetId":"T"}"#)
    }

    mutating func attach(_ session: String, _ target: String, _ type: String, from parent: String?) throws {
        let info = #"{"targetId":"\#(target)","type":"\#(type)","browserContextId":"C"}"#
        try event(
            "Target.attachedToTarget", #"{"sessionId":"\#(session)","targetInfo":\#(info)}"#, session: parent)
    }

    mutating func commit(_ loader: String = "L", url: String = "http://a.test/") throws {
        /// Reports that the page has a new document.
        try event("Page.frameNavigated", #"{"frame":{"id":"T","loaderId":"\#(loader)","url":"\#(url)"}}"#)
    }

    mutating func load(_ loader: String = "L") throws {
        try event("Page.lifecycleEvent", #"{"frameId":"T","loaderId":"\#(loader)","name":"load"}"#)
    }

    mutating func open() throws {
        try start()
        try reply("Runtime.runIfWaitingForDebugger")
        try commit()
        try reply("Page.navigate", #"{"frameId":"T","loaderId":"L"}"#)
        try load()
        commands = []
    }

    mutating func request(_ key: String, type: String = "Fetch", session: String = "S") throws {
        try request(key, #"{"url":"http://a.test/\#(key)","method":"GET"}"#, type, session)
    }

    /// Sends a POST request; without a body, the browser does not report the one that it has.
    mutating func post(_ key: String, to url: String, body: String?) throws {
        let data = body.map { #""hasPostData":true,"postData":"\#($0)""# } ?? #""hasPostData":true"#
        try request(key, #"{"url":"http://a.test/\#(url)","method":"POST",\#(data)}"#, "Fetch", "S")
    }

    private mutating func request(_ key: String, _ request: String, _ type: String, _ session: String) throws
    {
        try event(
            "Network.requestWillBeSent", #"{"requestId":"\#(key)","type":"\#(type)","request":\#(request)}"#,
            session: session)
    }

    mutating func answer(_ key: String, status: Int = 200) throws {
        try event(
            "Network.responseReceived", #"{"requestId":"\#(key)","response":{"status":\#(status)}}"#)
        try event("Network.loadingFinished", #"{"requestId":"\#(key)"}"#)
    }

    mutating func value(_ json: String) throws {
        /// Sends the result of an evaluated script.
        try reply("Runtime.evaluate", #"{"result":{"value":\#(json)}}"#)
    }

    mutating func enterWorld() throws {
        /// Answers the command that creates the context for Larder's scripts.
        try reply("Page.createIsolatedWorld", #"{"executionContextId":7}"#)
    }

    mutating func look() throws {
        /// Answers the script that reads the page.
        try value(##"{"address":"http://a.test/#end","title":"A","links":["http://a.test/b","ftp://c"]}"##)
    }
}

@Suite struct TabTests {
    @Test func `a page is set up in one batch, resumed last, and then navigated`() throws {
        var play = Play { $0.preludes = ["prelude"] }
        try play.start()
        let names = play.commands.map(\.command.method)
        #expect(names.last == "Runtime.runIfWaitingForDebugger")
        #expect(names.contains("Network.enable"))
        #expect(names.contains("Target.setAutoAttach"))
        #expect(names.contains("Browser.setDownloadBehavior"))
        // Only the reply to the last command, which resumes the page, is awaited.
        #expect(play.commands.filter { $0.number != nil }.count == 1)
        #expect(!names.contains("Page.navigate"))
        #expect(play.owned == ["C", "S"])
        try play.reply("Runtime.runIfWaitingForDebugger")
        let command = try play.takeCommand("Page.navigate").command
        #expect(command.parameters == #"{"url":"http://a.test/"}"#)
    }

    @Test func `the proxy is set for the context and includes loopback`() throws {
        var play = Play { $0.proxy = "http://127.0.0.1:99" }
        let command = try play.takeCommand("Target.createBrowserContext").command
        #expect(command.parameters.contains(#""proxyServer":"http://127.0.0.1:99""#))
        #expect(command.parameters.contains(#""proxyBypassList":"<-loopback>""#))
    }

    @Test func `a loaded page is read after its quiet time`() throws {
        var play = Play { $0.quiet = .milliseconds(300) }
        try play.open()
        play.pass(.milliseconds(299))
        #expect(play.takeNames() == [])
        play.pass(.milliseconds(1))
        try play.enterWorld()
        try play.look()
        #expect(play.commands.map(\.command.method) == ["Target.disposeBrowserContext"])
        #expect(play.outcomes.isEmpty)
        try play.reply("Target.disposeBrowserContext")
        let outcome = try #require(play.outcomes.first)
        #expect(outcome.ending == .complete)
        #expect(outcome.address == "http://a.test/#end")
        #expect(outcome.title == "A")
        #expect(outcome.links == ["http://a.test/b"])
        #expect(outcome.elapsed == .milliseconds(300))
        #expect(play.tab.isOver)
    }

    @Test func `a request restarts the quiet time, and a pending one delays it up to the patience`() throws {
        var play = Play {
            $0.quiet = .milliseconds(300)
            $0.patience = .seconds(3)
        }
        try play.open()
        play.pass(.milliseconds(200))
        try play.request("a")
        play.pass(.seconds(1))
        #expect(!play.takeNames().contains("Page.createIsolatedWorld"))
        try play.answer("a")
        play.pass(.milliseconds(299))
        #expect(play.takeNames() == [])
        try play.request("b")
        play.pass(.milliseconds(2999))
        #expect(!play.takeNames().contains("Page.createIsolatedWorld"))
        play.pass(.milliseconds(1))
        #expect(play.takeNames() == ["Page.createIsolatedWorld"])
    }

    @Test func `a page that opens a socket is read when nothing has come for its whole patience`() throws {
        var play = Play {
            $0.quiet = .milliseconds(300)
            $0.patience = .seconds(3)
            $0.stall = .seconds(30)
        }
        try play.open()
        try play.event("Network.webSocketCreated", #"{"requestId":"w","url":"ws://a.test/"}"#)
        play.pass(.seconds(2))
        try play.event("Network.webSocketFrameReceived", #"{"requestId":"w","response":{}}"#)
        play.pass(.seconds(2))
        try play.event("Network.webSocketFrameReceived", #"{"requestId":"w","response":{}}"#)
        play.pass(.milliseconds(999))
        #expect(!play.takeNames().contains("Page.createIsolatedWorld"))
        play.pass(.milliseconds(1))
        #expect(play.takeNames().contains("Page.createIsolatedWorld"), "later messages may never end")
    }

    @Test func `an event stream that begins again and again does not delay the page for its patience`() throws
    {
        var play = Play {
            $0.quiet = .milliseconds(300)
            $0.patience = .seconds(3)
        }
        try play.open()
        try play.request("a", type: "EventSource")
        try play.event(
            "Network.responseReceived", #"{"requestId":"a","type":"EventSource","response":{"status":200}}"#)
        play.pass(.milliseconds(200))
        try play.event("Network.eventSourceMessageReceived", #"{"requestId":"a","data":"1"}"#)
        play.pass(.milliseconds(299))
        #expect(!play.takeNames().contains("Page.createIsolatedWorld"))
        play.pass(.milliseconds(1))
        #expect(play.takeNames() == ["Page.createIsolatedWorld"])
    }

    @Test(arguments: ["Media", "Ping", "EventSource"])
    func `requests that never end do not delay the page`(type: String) throws {
        var play = Play { $0.quiet = .milliseconds(300) }
        try play.open()
        try play.request("a", type: type)
        try play.event(
            "Network.responseReceived", #"{"requestId":"a","type":"\#(type)","response":{"status":200}}"#)
        play.pass(.milliseconds(300))
        #expect(play.takeNames() == ["Page.createIsolatedWorld"])
    }

    @Test func `if a page redirects before it has loaded, the next document is waited for`() throws {
        var play = Play()
        try play.start()
        try play.reply("Runtime.runIfWaitingForDebugger")
        try play.commit("L")
        try play.reply("Page.navigate", #"{"loaderId":"L"}"#)
        play.pass(.seconds(1))
        try play.commit("M", url: "http://a.test/next")
        try play.load("L")
        play.pass(.seconds(1))
        #expect(!play.takeNames().contains("Page.createIsolatedWorld"))
        try play.load("M")
        play.pass(.milliseconds(500))
        #expect(play.takeNames() == ["Page.createIsolatedWorld"])
    }

    @Test func `a page with busy scripts gets another quiet time`() throws {
        var play = Play { $0.quiet = .milliseconds(300) }
        play.isCalm = false
        try play.open()
        play.pass(.milliseconds(300))
        play.now += .milliseconds(400)
        try play.value("1")
        play.pass(.milliseconds(299))
        #expect(play.commands.isEmpty)
        play.pass(.milliseconds(1))
        // The page sends a request during the busy test.
        try play.request("late")
        try play.value("1")
        try play.answer("late")
        play.pass(.milliseconds(300))
        try play.value("1")
        #expect(play.takeNames() == ["Page.createIsolatedWorld"])
    }

    @Test func `a page that is always busy is read after a limited number of delays`() throws {
        var play = Play { $0.quiet = .milliseconds(300) }
        play.isCalm = false
        try play.open()
        for _ in 1...4 {
            play.pass(.milliseconds(300))
            play.now += .milliseconds(400)
            try play.value("1")
        }
        play.pass(.milliseconds(300))
        #expect(play.takeNames() == ["Page.createIsolatedWorld"])
    }

    @Test func `at the time limit the page is read as it is`() throws {
        var play = Play { $0.limit = .seconds(5) }
        try play.start()
        try play.reply("Runtime.runIfWaitingForDebugger")
        try play.commit()
        try play.reply("Page.navigate", #"{"loaderId":"L"}"#)
        try play.request("slow", type: "Image")
        for _ in 0..<4 {
            play.pass(.seconds(1))
            // A test command checks whether the page responds, and it does.
            while play.commands.contains(where: { $0.command.method == "Runtime.evaluate" }) {
                try play.value("0")
            }
        }
        play.pass(.seconds(1))
        try play.enterWorld()
        try play.look()
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.first?.ending == .outOfTime)
        #expect(play.outcomes.first?.links == ["http://a.test/b"])
        #expect(play.outcomes.first?.requests.map(\.status) == [nil])
    }

    @Test func `a silent server uses the whole time limit, and nothing is read`() throws {
        var play = Play { $0.limit = .seconds(20) }
        try play.start()
        try play.reply("Runtime.runIfWaitingForDebugger")
        play.pass(.seconds(19))
        #expect(play.takeNames().allSatisfy { $0 != "Target.disposeBrowserContext" })
        play.pass(.seconds(1))
        #expect(play.takeNames() == ["Target.disposeBrowserContext"])
        play.pass(.seconds(2))
        #expect(play.outcomes.map(\.ending) == [.outOfTime])
    }

    @Test func `a blocking script is stopped, and the page is read as it is`() throws {
        var play = Play()
        try play.start()
        try play.reply("Runtime.runIfWaitingForDebugger")
        try play.commit()
        try play.reply("Page.navigate", #"{"loaderId":"L"}"#)
        play.commands = []
        play.pass(.seconds(2))
        #expect(play.takeNames() == ["Runtime.evaluate"])
        play.pass(.seconds(5))
        let names = play.commands.map(\.command.method)
        #expect(
            names == [
                "Page.stopLoading", "Emulation.setScriptExecutionDisabled", "Runtime.terminateExecution",
                "Network.disable", "Runtime.disable", "Runtime.evaluate",
            ])
        try play.value("0")
        try play.enterWorld()
        try play.look()
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.map(\.ending) == [.hung])
        #expect(play.outcomes.first?.links == ["http://a.test/b"])
    }

    /// A page that does not respond for a second may be on a loaded machine.
    @Test func `after scripts were stopped, a slow machine has enough time to answer`() throws {
        var play = Play { $0.stall = .seconds(1) }
        try play.start()
        try play.reply("Runtime.runIfWaitingForDebugger")
        try play.commit()
        try play.reply("Page.navigate", #"{"loaderId":"L"}"#)
        play.commands = []
        play.pass(.seconds(1))
        _ = try play.takeCommand("Runtime.evaluate")
        play.pass(.seconds(4))
        try play.value("0")
        play.pass(.seconds(4))
        try play.enterWorld()
        play.pass(.seconds(4))
        try play.look()
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.map(\.ending) == [.hung])
        #expect(play.outcomes.first?.links == ["http://a.test/b"])
    }

    @Test func `a page whose script cannot be stopped ends after one more test`() throws {
        var play = Play()
        try play.open()
        play.pass(.seconds(1))
        try play.enterWorld()
        play.commands = []
        play.pass(.seconds(5))
        #expect(play.takeNames().last == "Runtime.evaluate")
        play.pass(.seconds(5))
        #expect(play.takeNames() == ["Target.disposeBrowserContext"])
        play.pass(.seconds(2))
        #expect(play.outcomes.map(\.ending) == [.hung])
    }

    @Test func `a crash ends the page with the outcome so far`() throws {
        var play = Play()
        try play.open()
        try play.request("a")
        try play.event("Inspector.targetCrashed", "{}")
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.map(\.ending) == [.crashed])
        #expect(play.outcomes.first?.requests.map(\.url) == ["http://a.test/a"])
        #expect(play.outcomes.first?.notices.map(\.kind) == [.crash])
    }

    @Test func `a crash of a frame does not end the page`() throws {
        var play = Play()
        try play.open()
        try play.attach("F", "T2", "iframe", from: "S")
        try play.event("Inspector.targetCrashed", "{}", session: "F")
        play.pass(.seconds(1))
        #expect(play.outcomes.isEmpty)
        #expect(play.takeNames().contains("Page.createIsolatedWorld"))
    }

    @Test(arguments: [
        (
            #"{"errorText":"net::ERR_CONNECTION_REFUSED"}"#,
            PageOutcome.Ending.failed("net::ERR_CONNECTION_REFUSED")
        ),
        (#"{"errorText":"net::ERR_ABORTED","isDownload":true}"#, .download),
    ])
    func `a URL without a page ends with the reason`(reply: String, ending: PageOutcome.Ending) throws {
        var play = Play()
        try play.start()
        try play.reply("Runtime.runIfWaitingForDebugger")
        try play.reply("Page.navigate", reply)
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.map(\.ending) == [ending])
        #expect(play.outcomes.first?.address == "http://a.test/")
    }

    @Test func `nested frames and workers are watched, and resumed last`() throws {
        var play = Play { $0.preludes = ["prelude"] }
        try play.open()
        try play.attach("F", "T2", "iframe", from: "S")
        #expect(play.commands.allSatisfy { $0.command.session == "F" && $0.number == nil })
        #expect(play.takeNames().last == "Runtime.runIfWaitingForDebugger")
        try play.attach("W", "T3", "worker", from: "F")
        #expect(play.commands.contains { $0.command.parameters.contains("prelude") })
        #expect(play.takeNames().last == "Runtime.runIfWaitingForDebugger")
        // A service worker belongs to the context.
        try play.attach("V", "T4", "service_worker", from: nil)
        #expect(play.takeNames().last == "Runtime.runIfWaitingForDebugger")
        try play.request("w", session: "W")
        try play.event("Target.detachedFromTarget", #"{"sessionId":"W"}"#, session: "F")
        #expect(play.owned == ["C", "S", "F", "V"])
        // Otherwise the requests of the worker would not be reported.
        play.pass(.milliseconds(500))
        #expect(play.takeNames() == ["Page.createIsolatedWorld"])
    }

    @Test func `windows of a page are closed and counted, and too many stop the page`() throws {
        var play = Play()
        try play.open()
        try play.event("Page.windowOpen", #"{"url":"http://b.test/"}"#)
        try play.attach("P", "T9", "page", from: nil)
        #expect(play.takeNames() == ["Runtime.runIfWaitingForDebugger", "Target.closeTarget"])
        for _ in 1..<Tab.maxNuisances { try play.event("Page.windowOpen", #"{"url":"http://b.test/"}"#) }
        #expect(play.commands.map(\.command.method).contains("Runtime.terminateExecution"))
        try play.value("0")
        try play.enterWorld()
        try play.look()
        try play.reply("Target.disposeBrowserContext")
        let notices = [PageNotice(.window, count: Tab.maxNuisances, texts: ["http://b.test/"])]
        #expect(play.outcomes.first?.notices == notices)
        #expect(play.outcomes.first?.ending == .outOfTime)
        #expect(play.outcomes.first?.links == ["http://b.test/", "http://a.test/b"])
    }

    /// Chromium stops loading a document that navigates elsewhere, so it never fires `load`.
    @Test func `a document that a download was to replace is not waited for`() throws {
        var play = Play()
        try play.start()
        try play.reply("Runtime.runIfWaitingForDebugger")
        try play.commit()
        try play.reply("Page.navigate", #"{"frameId":"T","loaderId":"L"}"#)
        play.commands = []
        try play.event(
            "Browser.downloadWillBegin", #"{"frameId":"T","url":"http://a.test/f.zip"}"#, session: nil)
        play.pass(.milliseconds(500))
        #expect(play.takeNames() == ["Page.createIsolatedWorld"])
    }

    @Test func `a tab owns its frames in any process`() throws {
        var play = Play()
        try play.open()
        try play.event("Page.frameAttached", #"{"frameId":"A","parentFrameId":"T"}"#)
        try play.event("Page.frameAttached", #"{"frameId":"B","parentFrameId":"T"}"#)
        try play.event("Page.frameDetached", #"{"frameId":"B","reason":"swap"}"#)
        try play.attach("F", "B", "iframe", from: "S")
        try play.event("Page.frameAttached", #"{"frameId":"C","parentFrameId":"B"}"#, session: "F")
        try play.attach("P", "D", "page", from: nil)
        for frame in ["T", "A", "B", "C", "D"] { #expect(play.tab.owns(frame: frame), "\(frame)") }
        try play.event("Page.frameDetached", #"{"frameId":"A","reason":"remove"}"#)
        #expect(!play.tab.owns(frame: "A"))
        #expect(!play.tab.owns(frame: "E"))
    }

    @Test(arguments: [("alert", true), ("beforeunload", true), ("confirm", false), ("prompt", false)])
    func `a dialog is answered at once by its type`(type: String, isAccepted: Bool) throws {
        var play = Play()
        try play.open()
        try play.event("Page.javascriptDialogOpening", #"{"type":"\#(type)","message":"Well?"}"#)
        let command = try play.takeCommand("Page.handleJavaScriptDialog").command
        #expect(command.parameters == #"{"accept":\#(isAccepted)}"#)
    }

    @Test func `a page that cannot be stopped from opening dialogs ends`() throws {
        var play = Play()
        try play.open()
        for _ in 0..<(3 * Tab.maxNuisances) {
            try play.event("Page.javascriptDialogOpening", #"{"type":"alert","message":"again"}"#)
        }
        #expect(play.takeNames().last == "Target.disposeBrowserContext")
        play.pass(.seconds(2))
        #expect(play.outcomes.map(\.ending) == [.outOfTime])
    }

    @Test func `a window for a person ends when it is closed, and its dialogs are not answered`() throws {
        var play = Play {
            $0.staysOpen = true
            $0.limit = .seconds(600)
        }
        try play.open()
        try play.event("Page.javascriptDialogOpening", #"{"type":"confirm","message":"Well?"}"#)
        play.pass(.seconds(300))
        play.commands = []
        try play.attach("P", "T9", "page", from: nil)
        #expect(play.takeNames() == ["Runtime.runIfWaitingForDebugger"])
        try play.event("Target.detachedFromTarget", #"{"sessionId":"S"}"#, session: nil)
        try play.reply("Storage.getCookies", cookies("after"))
        #expect(play.outcomes.map(\.ending) == [.complete])
        #expect(play.outcomes.first?.cookies.map(\.value) == ["after"])
    }

    private func cookies(_ value: String) -> String {
        """
        {"cookies":[{"name":"a","value":"\(value)","domain":".a.test","path":"/","expires":-1,"session":true,
        "httpOnly":true,"secure":false},{"name":"broken"}]}
        """
    }

    @Test func `closing the whole browser reports the cookies that were last read`() throws {
        var play = Play {
            $0.staysOpen = true
            $0.limit = .seconds(600)
        }
        try play.open()
        play.pass(.zero)
        try play.reply("Storage.getCookies", cookies("before"))
        play.pass(.milliseconds(1500))
        play.tab.browserDidEnd("the browser has ended", now: play.now)
        play.drain()
        #expect(play.outcomes.map(\.ending) == [.complete])
        var cookie = BrowserCookie("a", "before", domain: ".a.test")
        cookie.isHTTPOnly = true
        #expect(play.outcomes.first?.cookies == [cookie])
    }

    @Test func `a page with too many requests is stopped`() throws {
        var play = Play()
        try play.open()
        for number in 0...PageOutcome.maxRequests { try play.request("\(number)") }
        #expect(play.takeNames().suffix(6).first == "Page.stopLoading")
        play.pass(.seconds(5))
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.map(\.ending) == [.outOfTime])
        #expect(play.outcomes.first?.notices.map(\.kind) == [.tooManyRequests])
    }

    /// Other pages need the tab of a page that only waits. The outcome is that its time was over, whatever the page waits
    /// for.
    @Test func `a page that waits for a slow request ends early if it is responsive`() throws {
        var play = Play { $0.patience = .seconds(3) }
        try play.start()
        try play.reply("Runtime.runIfWaitingForDebugger")
        try play.commit()
        try play.reply("Page.navigate", #"{"frameId":"T","loaderId":"L"}"#)
        play.pass(.seconds(1))
        try play.request("slow", type: "Image")
        play.commands = []
        play.pass(.seconds(2))
        // A test command checks whether the page responds, because a script that is still running may send more requests.
        try play.value("0")
        play.pass(.milliseconds(999))
        #expect(play.takeNames() == [])
        play.pass(.milliseconds(1))
        try play.enterWorld()
        try play.look()
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.map(\.ending) == [.outOfTime])
        #expect(play.outcomes.first?.elapsed == .seconds(4))
        #expect(play.outcomes.first?.links == ["http://a.test/b"])
    }

    @Test func `a page that does not respond is waited for until its limit`() throws {
        var play = Play { $0.patience = .seconds(3) }
        try play.start()
        try play.reply("Runtime.runIfWaitingForDebugger")
        try play.commit()
        try play.reply("Page.navigate", #"{"frameId":"T","loaderId":"L"}"#)
        try play.request("slow", type: "Image")
        play.pass(.seconds(6))
        #expect(!play.takeNames().contains("Page.createIsolatedWorld"))
    }

    @Test func `a scrolled screen without requests takes a short pause, and one with requests a longer one`()
        throws
    {
        var play = Play { $0.scroll = 20 }
        try play.open()
        play.pass(.milliseconds(500))
        try play.enterWorld()
        func scroll(_ height: Int) throws { try play.value(#"{"hasMoved":true,"height":\#(height)}"#) }
        try scroll(1000)
        play.pass(.milliseconds(40))
        // Long enough for its request, and for requests that the response causes.
        try play.request("a")
        try scroll(2000)
        play.pass(.milliseconds(500))
        #expect(play.takeNames() == [])
        try play.answer("a")
        play.pass(.milliseconds(149))
        #expect(play.takeNames() == [])
        play.pass(.milliseconds(1))
        try scroll(3000)
        // After one late request, every later scroll gets the longer pause.
        play.pass(.milliseconds(40))
        try play.request("b")
        try play.answer("b")
        play.pass(.milliseconds(150))
        try scroll(4000)
        play.pass(.milliseconds(149))
        #expect(play.takeNames() == [])
        play.pass(.milliseconds(1))
        #expect(play.takeNames() == ["Runtime.evaluate"])
    }

    @Test func `a page is scrolled until it no longer moves, and then back`() throws {
        var play = Play { $0.scroll = 20 }
        try play.open()
        play.pass(.milliseconds(500))
        try play.enterWorld()
        for height in [1000, 2000, 2000] {
            try play.value(#"{"hasMoved":true,"height":\#(height)}"#)
            play.pass(.milliseconds(150))
        }
        // The page has to stay in place twice, because content that is loaded at the end may appear late.
        for _ in 0..<2 {
            try play.value(#"{"hasMoved":false,"height":2000}"#)
            play.pass(.milliseconds(150))
        }
        try play.value("null")
        play.pass(.milliseconds(150))
        try play.look()
        #expect(play.takeNames() == ["Target.disposeBrowserContext"])
    }

    @Test func `an endless page is scrolled up to the maximum number of screens`() throws {
        var play = Play { $0.scroll = 3 }
        try play.open()
        play.pass(.milliseconds(500))
        try play.enterWorld()
        for number in 1...3 {
            try play.value(#"{"hasMoved":true,"height":\#(number * 1000)}"#)
            play.pass(.milliseconds(150))
        }
        try play.value("null")
        play.pass(.milliseconds(150))
        try play.look()
        #expect(play.takeNames() == ["Target.disposeBrowserContext"])
    }

    @Test func `the content of a tab is scrolled before the next tab is opened`() throws {
        var play = Play {
            $0.acting = .all
            $0.scroll = 20
        }
        try play.open()
        play.pass(.milliseconds(500))
        try play.enterWorld()
        try play.value(#"{"hasMoved":false,"height":900}"#)
        // The page may load scripts at the first move of the mouse.
        play.pass(.milliseconds(150))
        try play.look()
        // The page has no lists before and after its tabs are opened.
        let none = #"{"result":{"value":{"count":0,"links":[]}}}"#
        #expect(try play.reply("Runtime.evaluate", none).parameters.contains("larderChoice"))
        for _ in 1...2 {
            #expect(
                try play.reply("Runtime.evaluate", #"{"result":{"value":{"isTab":true,"count":1}}}"#)
                    .parameters.contains("larderHandled"))
            play.pass(.milliseconds(150))
            // Each panel is scrolled by a few screens at most.
            for number in 1...5 {
                try play.value(#"{"hasMoved":true,"height":\#(number * 1000)}"#)
                play.pass(.milliseconds(40))
            }
            try play.value("null")
        }
        try play.value(#"{"isTab":false,"count":0,"links":["http://a.test/c"]}"#)
        #expect(play.actCount == 1)
        #expect(try play.reply("Runtime.evaluate", none).parameters.contains("larderChoice"))
        try play.value(#"{"isFound":false}"#)
        try play.look()
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.first?.links.contains("http://a.test/c") == true)
    }

    @Test func `scripts run in order with quiet times between them, and their errors are reported`() throws {
        var play = Play { $0.scripts = ["one()", "two()"] }
        try play.open()
        play.pass(.milliseconds(500))
        let failure =
            #"{"result":{},"exceptionDetails":{"text":"Uncaught","exception":{"description":"Oh"}}}"#
        let first = try play.reply("Runtime.evaluate", failure)
        #expect(first.parameters.contains("one()"))
        #expect(!first.parameters.contains("contextId"))
        play.pass(.milliseconds(500))
        let second = try play.reply("Runtime.evaluate", #"{"result":{}}"#)
        #expect(second.parameters.contains("two()"))
        play.pass(.milliseconds(500))
        try play.enterWorld()
        try play.look()
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.first?.notices == [PageNotice(.scriptError, count: 1, texts: ["Oh"])])
    }

    @Test func `further viewports and dark colours follow the look, and then links are read again`()
        throws
    {
        var play = Play {
            $0.viewports += [Viewport(width: 390, height: 844, scale: 3, isMobile: true)]
            $0.seesDark = true
        }
        try play.open()
        play.pass(.milliseconds(500))
        try play.enterWorld()
        try play.look()
        #expect(try play.takeCommand("Emulation.setEmulatedMedia").command.parameters.contains("dark"))
        try play.value("null")
        play.pass(.milliseconds(150))
        let metrics = try play.takeCommand("Emulation.setDeviceMetricsOverride").command.parameters
        #expect(metrics.contains(#""width":390"#) && metrics.contains(#""mobile":true"#))
        try play.value("null")
        play.pass(.milliseconds(150))
        try play.value(
            #"{"address":"http://a.test/","title":"A","links":["http://a.test/c","http://a.test/b"]}"#)
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.first?.links == ["http://a.test/b", "http://a.test/c"])
    }

    private static func views(_ names: [String]) -> String {
        let links = names.map { "\"http://a.test/#/\($0)\"" }.joined(separator: ",")
        return "{\"address\":\"http://a.test/\",\"title\":\"A\",\"links\":[\(links)]}"
    }

    /// The views that a page shows if each link of its navigation names one.
    ///
    /// - Parameter send: Sends the requests of a view.
    private func shownViews(
        ofKind views: [String], sending send: (String, inout Play) throws -> Void = { _, _ in }
    ) throws -> [String] {
        var play = Play()
        try play.open()
        play.pass(.milliseconds(500))
        try play.enterWorld()
        try play.value(Self.views(views))
        var shown: [String] = []
        while let command = play.commands.first(where: { $0.command.method == "Runtime.evaluate" })?.command,
            let name = views.first(where: { command.parameters.contains("#/\($0)\\\"") })
        {
            shown.append(name)
            try play.reply("Runtime.evaluate", #"{"result":{}}"#)
            try send(name, &play)
            play.pass(.milliseconds(150))
            try play.value(Self.views(views))
        }
        try play.reply("Target.disposeBrowserContext")
        let passedOver = play.outcomes.first?.notices.first { $0.kind == .repeatedView }?.count ?? 0
        #expect(shown.count + passedOver == views.count)
        return shown
    }

    @Test func `a document with many views that need nothing new shows only some of them`() throws {
        let views = (100..<150).map { "item/\($0)" }
        let shown = try shownViews(ofKind: views)
        #expect(shown.count == 16 + 4)
        let all = try shownViews(ofKind: views) { name, play in
            try play.request("data of \(name)")
            try play.answer("data of \(name)")
        }
        #expect(all == views)
    }

    // The first request is new.
    @Test(arguments: [
        (#"{ item(id: 1) }"#, false, 1 + 16 + 4), (#"{ item(id: 1) }"#, true, 50), (nil, false, 50),
    ])
    func `a view that repeats a POST request needs nothing new`(
        body: String?, isDifferentInEach: Bool, count: Int
    ) throws {
        let views = (100..<150).map { "item/\($0)" }
        let shown = try shownViews(ofKind: views) { name, play in
            let body = body.map { isDifferentInEach ? "\($0) for \(name)" : $0 }
            try play.post("data of \(name)", to: "graphql", body: body)
            try play.answer("data of \(name)")
        }
        #expect(shown.count == count)
    }

    @Test func `a view is shown once, although each view links to it with its own address`() throws {
        var play = Play()
        try play.open()
        play.pass(.milliseconds(500))
        try play.enterWorld()
        let items = (100..<150).map { "item/\($0)" }
        try play.value(Self.views(items + ["settings?returnTo=%2F"]))
        var shown: [String] = []
        while let command = play.commands.first(where: { $0.command.method == "Runtime.evaluate" })?.command {
            let name = command.parameters.contains("settings") ? "settings" : "item"
            shown.append(name)
            try play.reply("Runtime.evaluate", #"{"result":{}}"#)
            play.pass(.milliseconds(150))
            try play.value(Self.views(items + ["settings?returnTo=%2Fview%2F\(shown.count)"]))
        }
        #expect(shown.count { $0 == "settings" } == 1)
        // A link with another address to return to is nothing new.
        #expect(shown.count { $0 == "item" } == 16 + 4)
    }

    @Test
    func `requests of views and the source of the answers of a mirror are recorded`()
        throws
    {
        var play = Play()
        try play.open()
        try play.request("first")
        let fields = #"{"requestId":"first","response":{"status":200,"headers":{"Larder":"hit; by=time"}}}"#
        try play.event("Network.responseReceived", fields)
        try play.event("Network.loadingFinished", #"{"requestId":"first"}"#)
        play.pass(.milliseconds(500))
        try play.enterWorld()
        try play.value(Self.views(["one"]))
        try play.reply("Runtime.evaluate", #"{"result":{}}"#)
        try play.request("second")
        try play.answer("second")
        play.pass(.milliseconds(150))
        try play.value(Self.views(["one"]))
        try play.reply("Target.disposeBrowserContext")
        let requests = play.outcomes.first?.requests ?? []
        #expect(requests.map(\.isAfterText) == [false, true])
        #expect(requests.map(\.mirrorSource) == ["hit; by=time", nil])
    }

    @Test func `a view is shown once for all places in it`() throws {
        var play = Play()
        try play.open()
        play.pass(.milliseconds(500))
        try play.enterWorld()
        try play.value(Self.views(["api#methods", "api#events", "api"]))
        let view = try play.reply("Runtime.evaluate", #"{"result":{}}"#)
        #expect(view.parameters.contains("#/api#methods"))
        play.pass(.milliseconds(150))
        try play.value(Self.views(["api#methods", "api#events", "api"]))
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.first?.notices == [])
    }

    @Test func `links to views of other documents do not keep views from being passed over`() throws {
        var play = Play()
        try play.open()
        play.pass(.milliseconds(500))
        try play.enterWorld()
        let links = (100..<150).map { "\"http://a.test/#/item/\($0)\"" }.joined(separator: ",")
        func value(_ older: Int) -> String {
            let link = "\"http://a.test/old/#/item/\(older)\""
            return "{\"address\":\"http://a.test/\",\"title\":\"A\",\"links\":[\(links),\(link)]}"
        }
        try play.value(value(0))
        var shown = 0
        while play.commands.contains(where: { $0.command.method == "Runtime.evaluate" }) {
            shown += 1
            try play.reply("Runtime.evaluate", #"{"result":{}}"#)
            play.pass(.milliseconds(150))
            try play.value(value(shown))
        }
        #expect(shown == 16 + 4)
    }

    @Test func `views beyond the maximum are reported once`() throws {
        var play = Play { $0.maxViews = 1 }
        try play.open()
        play.pass(.milliseconds(500))
        try play.enterWorld()
        try play.value(Self.views(["one", "two"]))
        let view = try play.reply("Runtime.evaluate", #"{"result":{}}"#)
        #expect(view.parameters.contains("#/one"))
        play.pass(.milliseconds(150))
        try play.value(Self.views(["two", "three"]))
        try play.reply("Target.disposeBrowserContext")
        let notice = PageNotice(.view, count: 2, texts: ["http://a.test/"])
        #expect(play.outcomes.first?.notices == [notice])
    }

    @Test func `views that were not shown for lack of time are reported`() throws {
        var play = Play()
        try play.open()
        play.pass(.milliseconds(500))
        try play.enterWorld()
        try play.value(Self.views(["one", "two", "three"]))
        try play.reply("Runtime.evaluate", #"{"result":{}}"#)
        for number in 0..<100 {
            try play.request("\(number)")
            play.pass(.milliseconds(100))
            try play.request("of \(number)")
            play.pass(.milliseconds(200))
        }
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.first?.ending == .outOfTime)
        #expect(play.outcomes.first?.notices.first { $0.kind == .view }?.count == 2)
    }

    @Test func `a step is repeated if its document changed meanwhile`() throws {
        var play = Play()
        try play.open()
        play.pass(.milliseconds(500))
        try play.enterWorld()
        try play.commit("M", url: "http://a.test/next")
        try play.refuse("Runtime.evaluate", "Cannot find context with specified id")
        #expect(play.outcomes.isEmpty)
        try play.load("M")
        play.pass(.milliseconds(500))
        try play.enterWorld()
        try play.look()
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.map(\.ending) == [.complete])
    }

    @Test func `a page whose document keeps changing ends after a limited number of repetitions`() throws {
        var play = Play()
        try play.open()
        for _ in 0..<10 {
            play.pass(.milliseconds(500))
            guard play.commands.contains(where: { $0.command.method == "Page.createIsolatedWorld" }) else {
                break
            }
            try play.refuse("Page.createIsolatedWorld", "no frame")
        }
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.count == 1)
    }

    @Test func `the tab is closed after the picture is taken`() throws {
        var play = Play { $0.wantsPicture = true }
        try play.open()
        play.pass(.milliseconds(500))
        try play.enterWorld()
        try play.look()
        try play.reply("Page.captureScreenshot", #"{"data":"AQID"}"#)
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.first?.picture == [1, 2, 3])
    }

    @Test func `a browser that does not open a tab is ended`() {
        var play = Play()
        play.pass(.seconds(15))
        #expect(play.givenUp.count == 1)
        play.tab.browserDidEnd("it is gone", now: play.now)
        play.drain()
        play.tab.browserDidEnd("it is gone", now: play.now)
        play.drain()
        #expect(play.outcomes.map(\.ending) == [.failed("it is gone")])
    }

    @Test func `unexpected messages change nothing`() throws {
        var play = Play()
        try play.open()
        play.tab.didReceive(.result(try Play.json("{}")), to: 999, now: play.now)
        for method in ["Page.frameNavigated", "Target.attachedToTarget", "Network.requestWillBeSent"] {
            for json in ["{}", "[]", "null", #"{"requestId":5,"frame":7,"targetInfo":[]}"#] {
                try play.event(method, json)
                try play.event(method, json, session: nil)
            }
        }
        #expect(play.takeNames() == [])
        play.pass(.milliseconds(500))
        #expect(play.takeNames() == ["Page.createIsolatedWorld"])
    }
}

@Suite struct MessageTests {
    @Test func `only awaited replies and known events are parsed`() {
        func message(_ text: String) -> Message? { Message(Array(text.utf8)[...], isAwaited: { $0 == 5 }) }
        guard case .reply(5, .result(let value)) = message(#"{"id":5,"result":{"a":1}}"#) else {
            Issue.record("no reply")
            return
        }
        #expect(value["a"]?.int == 1)
        guard case .reply(5, .refusal("no")) = message(#"{"id":5,"error":{"message":"no"}}"#) else {
            Issue.record("no refusal")
            return
        }
        #expect(message(#"{"id":6,"result":{}}"#).map { _ in true } == nil)
        #expect(message(#"{"method":"Runtime.consoleAPICalled","params":{}}"#).map { _ in true } == nil)
        guard case .event(let event) = message(#"{"method":"Page.windowOpen","params":{},"sessionId":"S"}"#)
        else {
            Issue.record("no event")
            return
        }
        #expect(event.session == "S")
        let frame = #"{"method":"Network.webSocketFrameReceived","params":{"requestId":"w"}}"#
        #expect(message(frame).map { _ in true } == true)
    }

    @Test(arguments: [
        "", "{", "[]", "null", "{}", #"{"id":5}"#, #"{"method":"Page.windowOpen"}"#, "\u{0}", "{\"id\":",
    ])
    func `a malformed message is ignored or counts as a refusal`(text: String) {
        let message = Message(Array(text.utf8)[...], isAwaited: { $0 == 5 })
        if case .reply(5, .refusal) = message { return }
        #expect(message.map { _ in true } == nil)
    }

    @Test func `a command is a JSON text with a trailing NUL`() {
        let bytes = Command("A.b", "S", ["c": 1]).bytes(number: 3)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "{\"id\":3,\"method\":\"A.b\",\"params\":{\"c\":1},\"sessionId\":\"S\"}\0")
    }
}
