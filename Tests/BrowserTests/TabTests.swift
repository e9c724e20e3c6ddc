import Testing
import Web

@testable import Browser

/// Plays the browser to a tab.
private struct Play {
    var tab: Tab
    var now = Duration.zero
    /// What the tab said and nobody has looked at.
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

    /// Whether the page answers at once that it is at rest.
    var isCalm = true

    mutating func drain() {
        for action in tab.takeActions() {
            switch action {
            case .send(let command, let number?) where isCalm && Self.asksForCalm(command):
                tab.take(Self.calm, to: number, now: now)
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

    /// The names of the commands since the last look.
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
    mutating func reply(_ method: String, _ json: String = "{}") throws -> Command {
        let (command, number) = try takeCommand(method)
        tab.take(.result(try Self.json(json)), to: try #require(number), now: now)
        drain()
        return command
    }

    mutating func refuse(_ method: String, _ why: String) throws {
        let (_, number) = try takeCommand(method)
        tab.take(.refusal(why), to: try #require(number), now: now)
        drain()
    }

    mutating func event(_ method: String, _ json: String, session: String? = "S") throws {
        tab.take(Event(method: method, session: session, parameters: try Self.json(json)), now: now)
        drain()
    }

    mutating func pass(_ time: Duration) {
        // As its driver does: at each deadline, and not between.
        let end = now + time
        while let deadline = tab.deadline, deadline <= end {
            now = max(deadline, now)
            tab.tick(now: now)
            drain()
        }
        now = end
    }

    private static func asksForCalm(_ command: Command) -> Bool {
        command.method == "Runtime.evaluate" && command.parameters.contains(#""expression":"1""#)
    }

    private static let calm = Reply.refusal("whatever it says")

    static func json(_ text: String) throws -> JSONValue { try JSONValue.parse(Array(text.utf8).span) }

    // MARK: - Scenes

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
        let request = #"{"url":"http://a.test/\#(key)","method":"GET"}"#
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
        try reply("Runtime.evaluate", #"{"result":{"value":\#(json)}}"#)
    }

    mutating func enterWorld() throws {
        try reply("Page.createIsolatedWorld", #"{"executionContextId":7}"#)
    }

    mutating func look() throws {
        try value(##"{"address":"http://a.test/#end","title":"A","links":["http://a.test/b","ftp://c"]}"##)
    }
}

@Suite struct TabTests {
    @Test func `a page is set up in one go, let go last, and led to its address after that`() throws {
        var play = Play { $0.preludes = ["prelude"] }
        try play.start()
        let names = play.commands.map(\.command.method)
        #expect(names.last == "Runtime.runIfWaitingForDebugger")
        #expect(names.contains("Network.enable"))
        #expect(names.contains("Target.setAutoAttach"))
        #expect(names.contains("Browser.setDownloadBehavior"))
        // Only what is let go is waited for.
        #expect(play.commands.filter { $0.number != nil }.count == 1)
        #expect(!names.contains("Page.navigate"))
        #expect(play.owned == ["C", "S"])
        try play.reply("Runtime.runIfWaitingForDebugger")
        let command = try play.takeCommand("Page.navigate").command
        #expect(command.parameters == #"{"url":"http://a.test/"}"#)
    }

    @Test func `a proxy is the context's, and is asked for loopback too`() throws {
        var play = Play { $0.proxy = "http://127.0.0.1:99" }
        let command = try play.takeCommand("Target.createBrowserContext").command
        #expect(command.parameters.contains(#""proxyServer":"http://127.0.0.1:99""#))
        #expect(command.parameters.contains(#""proxyBypassList":"<-loopback>""#))
    }

    @Test func `a page that has loaded is waited for as long as it shall be quiet, and no longer`() throws {
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

    @Test func `a request starts the quiet anew, and one without an answer keeps it off a while`() throws {
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

    @Test(arguments: ["Media", "Ping", "EventSource"])
    func `what goes on for ever keeps nobody waiting`(type: String) throws {
        var play = Play { $0.quiet = .milliseconds(300) }
        try play.open()
        try play.request("a", type: type)
        try play.event(
            "Network.responseReceived", #"{"requestId":"a","type":"\#(type)","response":{"status":200}}"#)
        play.pass(.milliseconds(300))
        #expect(play.takeNames() == ["Page.createIsolatedWorld"])
    }

    @Test func `a page that leads on before it has loaded is waited for on the next one`() throws {
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

    @Test func `a page whose scripts are at work when it seems quiet is waited for once more`() throws {
        var play = Play { $0.quiet = .milliseconds(300) }
        play.isCalm = false
        try play.open()
        play.pass(.milliseconds(300))
        play.now += .milliseconds(400)
        try play.value("1")
        play.pass(.milliseconds(299))
        #expect(play.commands.isEmpty)
        play.pass(.milliseconds(1))
        // It asks for something while it is asked.
        try play.request("late")
        try play.value("1")
        try play.answer("late")
        play.pass(.milliseconds(300))
        try play.value("1")
        #expect(play.takeNames() == ["Page.createIsolatedWorld"])
    }

    @Test func `a page that is never at rest is looked at all the same`() throws {
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

    @Test func `when time is up, what is there is taken`() throws {
        var play = Play { $0.limit = .seconds(5) }
        try play.start()
        try play.reply("Runtime.runIfWaitingForDebugger")
        try play.commit()
        try play.reply("Page.navigate", #"{"loaderId":"L"}"#)
        try play.request("slow", type: "Image")
        for _ in 0..<4 {
            play.pass(.seconds(1))
            // It is asked whether it can still answer, and does.
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

    @Test func `a server that says nothing has the whole time, and nothing is taken`() throws {
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

    @Test func `a script that lets nobody else run is stopped, and what is there is taken`() throws {
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

    /// Where nobody else runs for a second, it may be for a busy machine.
    @Test func `a page whose scripts were stopped has time to answer, however little they had`() throws {
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

    @Test func `a script that cannot be stopped costs the page, and no more time`() throws {
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

    @Test func `a crash ends the page with what is known`() throws {
        var play = Play()
        try play.open()
        try play.request("a")
        try play.event("Inspector.targetCrashed", "{}")
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.map(\.ending) == [.crashed])
        #expect(play.outcomes.first?.requests.map(\.url) == ["http://a.test/a"])
        #expect(play.outcomes.first?.notices.map(\.kind) == [.crash])
    }

    @Test func `a frame's crash leaves the page`() throws {
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
    func `an address without a page says why`(reply: String, ending: PageOutcome.Ending) throws {
        var play = Play()
        try play.start()
        try play.reply("Runtime.runIfWaitingForDebugger")
        try play.reply("Page.navigate", reply)
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.map(\.ending) == [ending])
        #expect(play.outcomes.first?.address == "http://a.test/")
    }

    @Test func `frames and workers below frames are watched too, and let go last`() throws {
        var play = Play { $0.preludes = ["prelude"] }
        try play.open()
        try play.attach("F", "T2", "iframe", from: "S")
        #expect(play.commands.allSatisfy { $0.command.session == "F" && $0.number == nil })
        #expect(play.takeNames().last == "Runtime.runIfWaitingForDebugger")
        try play.attach("W", "T3", "worker", from: "F")
        #expect(play.commands.contains { $0.command.parameters.contains("prelude") })
        #expect(play.takeNames().last == "Runtime.runIfWaitingForDebugger")
        // A service worker is the context's.
        try play.attach("V", "T4", "service_worker", from: nil)
        #expect(play.takeNames().last == "Runtime.runIfWaitingForDebugger")
        try play.request("w", session: "W")
        try play.event("Target.detachedFromTarget", #"{"sessionId":"W"}"#, session: "F")
        #expect(play.owned == ["C", "S", "F", "V"])
        // Nobody would tell of what the worker asked for.
        play.pass(.milliseconds(500))
        #expect(play.takeNames() == ["Page.createIsolatedWorld"])
    }

    @Test func `a window that a page opens is closed and counted, and many are too many`() throws {
        var play = Play()
        try play.open()
        try play.event("Page.windowOpen", #"{"url":"http://b.test/"}"#)
        try play.attach("P", "T9", "page", from: nil)
        #expect(play.takeNames() == ["Runtime.runIfWaitingForDebugger", "Target.closeTarget"])
        for _ in 1..<Tab.nuisanceLimit { try play.event("Page.windowOpen", #"{"url":"http://b.test/"}"#) }
        #expect(play.commands.map(\.command.method).contains("Runtime.terminateExecution"))
        try play.value("0")
        try play.enterWorld()
        try play.look()
        try play.reply("Target.disposeBrowserContext")
        let notices = [PageNotice(.window, count: Tab.nuisanceLimit, texts: ["http://b.test/"])]
        #expect(play.outcomes.first?.notices == notices)
        #expect(play.outcomes.first?.ending == .outOfTime)
        #expect(play.outcomes.first?.links == ["http://b.test/", "http://a.test/b"])
    }

    /// Chromium gives up the rest of a document that leads elsewhere, and it never loads.
    @Test func `a page whose place a file was to take is not waited for`() throws {
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

    @Test func `a tab knows the frames that are its own, whatever process they are in`() throws {
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
    func `a dialog is answered at once`(type: String, isAccepted: Bool) throws {
        var play = Play()
        try play.open()
        try play.event("Page.javascriptDialogOpening", #"{"type":"\#(type)","message":"Well?"}"#)
        let command = try play.takeCommand("Page.handleJavaScriptDialog").command
        #expect(command.parameters == #"{"accept":\#(isAccepted)}"#)
    }

    @Test func `a storm of dialogs that cannot be stopped ends the page`() throws {
        var play = Play()
        try play.open()
        for _ in 0..<(3 * Tab.nuisanceLimit) {
            try play.event("Page.javascriptDialogOpening", #"{"type":"alert","message":"again"}"#)
        }
        #expect(play.takeNames().last == "Target.disposeBrowserContext")
        play.pass(.seconds(2))
        #expect(play.outcomes.map(\.ending) == [.outOfTime])
    }

    @Test func `a page for a person ends when he closes it, and nobody answers for him`() throws {
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

    @Test func `who closes the whole browser leaves the cookies that he had`() throws {
        var play = Play {
            $0.staysOpen = true
            $0.limit = .seconds(600)
        }
        try play.open()
        play.pass(.zero)
        try play.reply("Storage.getCookies", cookies("before"))
        play.pass(.milliseconds(1500))
        play.tab.abandon("the browser has ended", now: play.now)
        play.drain()
        #expect(play.outcomes.map(\.ending) == [.complete])
        var cookie = BrowserCookie("a", "before", domain: ".a.test")
        cookie.isHTTPOnly = true
        #expect(play.outcomes.first?.cookies == [cookie])
    }

    @Test func `a page that asks for too much is stopped`() throws {
        var play = Play()
        try play.open()
        for number in 0...PageOutcome.requestLimit { try play.request("\(number)") }
        #expect(play.takeNames().suffix(6).first == "Page.stopLoading")
        play.pass(.seconds(5))
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.map(\.ending) == [.outOfTime])
        #expect(play.outcomes.first?.notices.map(\.kind) == [.tooManyRequests])
    }

    /// It is as good as asleep, and its place is wanted; whoever it is that keeps it, it is told that its time
    /// was over.
    @Test func `a page that something slow keeps from loading gives its place up, if it could go on`() throws
    {
        var play = Play { $0.patience = .seconds(3) }
        try play.start()
        try play.reply("Runtime.runIfWaitingForDebugger")
        try play.commit()
        try play.reply("Page.navigate", #"{"frameId":"T","loaderId":"L"}"#)
        play.pass(.seconds(1))
        try play.request("slow", type: "Image")
        play.commands = []
        play.pass(.seconds(2))
        // It is asked whether it can go on: a script that runs for so long may ask for more.
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

    @Test func `a page that says nothing while it waits may be at work, and is waited for`() throws {
        var play = Play { $0.patience = .seconds(3) }
        try play.start()
        try play.reply("Runtime.runIfWaitingForDebugger")
        try play.commit()
        try play.reply("Page.navigate", #"{"frameId":"T","loaderId":"L"}"#)
        try play.request("slow", type: "Image")
        play.pass(.seconds(6))
        #expect(!play.takeNames().contains("Page.createIsolatedWorld"))
    }

    @Test func `a screen that asks for nothing takes no time, and one that asks has it`() throws {
        var play = Play { $0.scroll = 20 }
        try play.open()
        play.pass(.milliseconds(500))
        try play.enterWorld()
        func scroll(_ height: Int) throws { try play.value(#"{"hasMoved":true,"height":\#(height)}"#) }
        try scroll(1000)
        play.pass(.milliseconds(40))
        // As long as what it asked for takes, and what that asks for.
        try play.request("a")
        try scroll(2000)
        play.pass(.milliseconds(500))
        #expect(play.takeNames() == [])
        try play.answer("a")
        play.pass(.milliseconds(149))
        #expect(play.takeNames() == [])
        play.pass(.milliseconds(1))
        try scroll(3000)
        // Who has listened late once is waited for from then on.
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

    @Test func `a page is scrolled as long as that leads on, and then back`() throws {
        var play = Play { $0.scroll = 20 }
        try play.open()
        play.pass(.milliseconds(500))
        try play.enterWorld()
        for height in [1000, 2000, 2000] {
            try play.value(#"{"hasMoved":true,"height":\#(height)}"#)
            play.pass(.milliseconds(150))
        }
        // Twice it did not lead on; what is loaded at the end may show late.
        for _ in 0..<2 {
            try play.value(#"{"hasMoved":false,"height":2000}"#)
            play.pass(.milliseconds(150))
        }
        try play.value("null")
        play.pass(.milliseconds(150))
        try play.look()
        #expect(play.takeNames() == ["Target.disposeBrowserContext"])
    }

    @Test func `a page without an end is scrolled so many screens`() throws {
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

    @Test func `what a tab shows is scrolled before the next one is opened`() throws {
        var play = Play {
            $0.acting = .all
            $0.scroll = 20
        }
        try play.open()
        play.pass(.milliseconds(500))
        try play.enterWorld()
        try play.value(#"{"hasMoved":false,"height":900}"#)
        try play.look()
        for _ in 1...2 {
            #expect(
                try play.reply("Runtime.evaluate", #"{"result":{"value":{"isTab":true,"count":1}}}"#)
                    .parameters.contains("larderHandled"))
            play.pass(.milliseconds(150))
            // No further than a few screens.
            for number in 1...5 {
                try play.value(#"{"hasMoved":true,"height":\#(number * 1000)}"#)
                play.pass(.milliseconds(40))
            }
            try play.value("null")
        }
        try play.value(#"{"isTab":false,"count":0,"links":["http://a.test/c"]}"#)
        #expect(play.actCount == 1)
        try play.value(#"{"isFound":false}"#)
        try play.look()
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.first?.links.contains("http://a.test/c") == true)
    }

    @Test func `scripts run in turn, with the quiet between, and their errors are told`() throws {
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

    @Test func `further viewports and dark colours come after the look, and links are looked for again`()
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

    @Test func `views beyond what is wanted are told, each once`() throws {
        var play = Play { $0.routes = 1 }
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

    @Test func `views for which no time is left are told too`() throws {
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

    @Test func `a document that goes away under a look is looked at once more`() throws {
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

    @Test func `a page that goes away for ever under a look ends all the same`() throws {
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

    @Test func `a picture is the last that is taken, after which the tab is closed`() throws {
        var play = Play { $0.wantsPicture = true }
        try play.open()
        play.pass(.milliseconds(500))
        try play.enterWorld()
        try play.look()
        try play.reply("Page.captureScreenshot", #"{"data":"AQID"}"#)
        try play.reply("Target.disposeBrowserContext")
        #expect(play.outcomes.first?.picture == [1, 2, 3])
    }

    @Test func `a browser that opens no tab is given up`() {
        var play = Play()
        play.pass(.seconds(15))
        #expect(play.givenUp.count == 1)
        play.tab.abandon("it is gone", now: play.now)
        play.drain()
        play.tab.abandon("it is gone", now: play.now)
        play.drain()
        #expect(play.outcomes.map(\.ending) == [.failed("it is gone")])
    }

    @Test func `whatever is said out of turn changes nothing`() throws {
        var play = Play()
        try play.open()
        play.tab.take(.result(try Play.json("{}")), to: 999, now: play.now)
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
    @Test func `only what is awaited, or known, is read`() {
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
    }

    @Test(arguments: [
        "", "{", "[]", "null", "{}", #"{"id":5}"#, #"{"method":"Page.windowOpen"}"#, "\u{0}", "{\"id\":",
    ])
    func `a broken message is none, or a refusal`(text: String) {
        let message = Message(Array(text.utf8)[...], isAwaited: { $0 == 5 })
        if case .reply(5, .refusal) = message { return }
        #expect(message.map { _ in true } == nil)
    }

    @Test func `a command is one JSON text, closed by a NUL`() {
        let bytes = Command("A.b", "S", ["c": 1]).bytes(number: 3)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "{\"id\":3,\"method\":\"A.b\",\"params\":{\"c\":1},\"sessionId\":\"S\"}\0")
    }
}
