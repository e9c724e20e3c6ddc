internal import CCurl
internal import CLinux
internal import Glibc
package import System
internal import Web

/// One libcurl multi handle, run by the thread that owns the loop. Nothing here is locked; only the waker may
/// leave.
package final class FetchLoop {
    package let waker: FetchWaker
    /// What the file of `StrictTransport` held and what hosts have said since.
    package private(set) var strictTransport: StrictTransport?
    private let sockets: SocketQueue
    private let shortWay: ShortWay?
    private let setup: TransferSetup
    private let limits: TransferWatch.Limits
    private let age = Stopwatch()
    private var idle: [Transfer] = []
    private var running: [UnsafeMutableRawPointer: Transfer] = [:]
    private var results: [FetchResult] = []
    private var nextLook: Duration = .zero
    /// Requests that the rate keeps back.
    private var waiting: [FetchRequest] = []
    /// While all connections of their hosts are busy.
    private var crowded: [(request: FetchRequest, isOdd: Bool)] = []

    /// Reads the files that the options name. Throws when one cannot be read, or when libcurl fails to start.
    ///
    /// - Parameter receiver: gets the bodies in place of memory and files.
    package init(_ options: FetchOptions, receiver: (any BodyReceiver)? = nil) throws(FetchFailure) {
        let code = Self.globalInit
        guard code == CURLE_OK, let multi = curl_multi_init() else {
            throw FetchFailure(.machine, "libcurl failed to start")
        }
        waker = try FetchWaker(multi)
        sockets = try SocketQueue(waker)
        setup = try TransferSetup(options, receiver, waker.book)
        shortWay = ShortWay(setup, sockets)
        limits = options.watch
        strictTransport = options.strictTransport
        // Without it libcurl keeps four connections for each running transfer.
        try larder_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, options.keptConnections).check()
        try larder_curl_multi_set_long(
            multi, CURLMOPT_MAX_HOST_CONNECTIONS,
            options.connectionsPerHost - (options.shortWay == .half ? shortWay?.linesPerHost ?? 0 : 0)
        ).check()
    }

    deinit {
        for handle in running.keys { curl_multi_remove_handle(waker.multi, handle) }
    }

    /// Readable while a `turn` has something to do, as it is after `patience`: for those who wait for other
    /// things, too.
    package var descriptor: Int32 { sockets.descriptor }

    /// How many requests have no result yet.
    package var runningCount: Int { running.count + waiting.count + crowded.count }

    /// Starts a request; its result comes out of a later `turn`, also when it cannot even start. Credentials
    /// in its URL are neither sent nor kept: those that are meant stand in `FetchOptions.credentials`.
    ///
    /// An http URL whose host asks for TLS is answered at once by a 307 to its https URL, as browsers do it
    /// (`Non-Authoritative-Reason: HSTS`).
    package func start(_ request: FetchRequest) {
        var request = request
        if request.url.hasCredentials { request.url = request.url.withoutCredentials }
        if let url = strictTransport?.upgraded(request.url, now: Self.date) {
            let fields: HTTPFields = ["Location": url.href, "Non-Authoritative-Reason": "HSTS"]
            let response = FetchedResponse(status: 307, fields: fields, body: .bytes([]))
            return add(.response(response), for: request, partial: request.resume)
        }
        if setup.rate?.isOpen ?? true { begin(request) } else { waiting.append(request) }
    }

    /// From here on so much may come, where there was a limit from the beginning.
    package func change(bytesPerSecond: Int) { setup.rate?.change(bytesPerSecond: bytesPerSecond) }

    /// Moves every transfer on, waits at most `timeout` for the network or the waker when nothing is
    /// finished, and gives what is.
    package func turn(waitingAtMost timeout: Duration) throws(FetchFailure) -> [FetchResult] {
        try advance(waitingAtMost: timeout)
        defer { results.removeAll(keepingCapacity: true) }
        return results
    }

    /// The same for who waits for the descriptor and knows that nothing has come.
    package func turnToWhatIsDue() throws(FetchFailure) -> [FetchResult] {
        try goOn()
        try catchUp()
        defer { results.removeAll(keepingCapacity: true) }
        return results
    }

    /// Runs one request to its end, where none is under way. Nil when it was interrupted.
    package func result(
        of request: FetchRequest, _ interruption: Interruption
    ) throws(FetchFailure) -> FetchResult? {
        interruption.wakes(waker)
        defer { interruption.forgets(waker) }
        start(request)
        while !interruption.isRequested {
            guard let result = try turn(waitingAtMost: .seconds(60)).first else { continue }
            result.partial?.discard()
            return result
        }
        for result in abandon() { result.partial?.discard() }
        return nil
    }

    /// Ends everything that is under way: each request gets a failure that says so, with what a later one can
    /// go on with.
    package func abandon() -> [FetchResult] {
        let failure = FetchFailure(.interrupted, "it had not finished")
        for transfer in running.values { end(transfer, failure) }
        for request in waiting + crowded.map(\.request) {
            add(.failure(failure), for: request, partial: request.resume)
        }
        (waiting, crowded) = ([], [])
        defer { results = [] }
        return results
    }

    /// Ends what is under way of these numbers; the next `turn` gives their results, which say so.
    package func end(_ numbers: Set<UInt32>, with failure: FetchFailure) {
        for transfer in running.values where transfer.request.map({ numbers.contains($0.number) }) ?? false {
            end(transfer, failure)
        }
        for request in waiting + crowded.map(\.request) where numbers.contains(request.number) {
            add(.failure(failure), for: request, partial: request.resume)
        }
        waiting.removeAll { numbers.contains($0.number) }
        crowded.removeAll { numbers.contains($0.request.number) }
    }

    /// Takes cookies in that scripts of a page set, as lines of Netscape's file, for the requests that begin
    /// from here on. None takes the place of one that a server set.
    package func keep(cookiesOfScripts lines: [String]) throws(FetchFailure) {
        try setup.cookies?.keep(ofScripts: lines)
    }

    /// Writes the file that `CookieOptions.save` names.
    package func saveCookies() throws(FetchFailure) {
        try setup.cookies?.save()
    }

    private var now: Duration { age.elapsed }

    private static var date: HTTPDate { HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch()) }

    private static let globalInit = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
}

extension FetchLoop {
    private func begin(_ request: FetchRequest, isOdd: Bool = false) {
        do throws(FetchFailure) {
            let transfer = try usableTransfer()
            let origin = request.url.origin
            func others() -> Int { ownCount(of: origin) }
            if !isOdd, let shortWay, shortWay.takes(request, to: origin, by: transfer, beside: others) {
                running[transfer.handle] = transfer
                return
            }
            var keepsConnection = true
            if let shortWay, setup.options.shortWay == .all, request.url.scheme == "http" {
                guard shortWay.makesRoom(at: origin, others() + 1) else {
                    idle.append(transfer)
                    return crowded.append((request, isOdd))
                }
                keepsConnection = !shortWay.isNext(request, to: origin)
            }
            try transfer.start(request, keepsConnection: keepsConnection)
            try curl_multi_add_handle(waker.multi, transfer.handle).check()
            running[transfer.handle] = transfer
        } catch {
            if error.kind == .mismatch { request.resume?.discard() }
            add(.failure(error), for: request, partial: error.kind == .mismatch ? nil : request.resume)
        }
    }

    /// How many requests libcurl has under way there. Costs as much as there are: it is asked where connections begin.
    private func ownCount(of origin: String) -> Int {
        running.values.count { $0.line == nil && $0.request?.url.origin == origin }
    }

    private func usableTransfer() throws(FetchFailure) -> Transfer {
        if let transfer = idle.popLast() { return transfer }
        return try Transfer(setup)
    }

    /// A result without an exchange.
    private func add(_ outcome: FetchResult.Outcome, for request: FetchRequest, partial: PartialBody?) {
        results.append(
            FetchResult(
                number: request.number, url: request.url, outcome: outcome, wireByteCount: 0, exchange: nil,
                sentFields: HTTPFields(), partial: partial))
    }

    private func advance(waitingAtMost time: Duration) throws(FetchFailure) {
        try goOn()
        sendAll()
        try sockets.turn(waitingAtMost: min(time, patience))
        if let shortWay {
            for (socket, flags) in sockets.takeOthers() {
                shortWay.turn(socket, flags)
                takeProgress()
            }
        }
        takeFinished()
        try catchUp()
    }

    private func catchUp() throws(FetchFailure) {
        if !crowded.isEmpty {
            beginCrowded()
        }
        sendAll()
        // What is over may let others begin at once, each of which may be over at once; but not for ever.
        for _ in 0..<Self.mostRounds {
            guard try sockets.catchUp() else { break }
            takeFinished()
        }
        look()
    }

    /// Where there is no room for one, there is none for those that are like it and came later.
    private func beginCrowded() {
        let all = crowded
        crowded = []
        var full: [Bool: Set<String>] = [:]
        for (request, isOdd) in all {
            let (origin, asksByTag) = (request.url.origin, request.tagAskedBy != nil && !isOdd)
            let count = crowded.count
            if full[asksByTag]?.contains(origin) == true {
                crowded.append((request, isOdd))
            } else {
                begin(request, isOdd: isOdd)
                if crowded.count > count { full[asksByTag, default: []].insert(origin) }
            }
        }
    }

    private static let mostRounds = 16

    private func takeFinished() {
        var queued: Int32 = 0
        while let message = curl_multi_info_read(waker.multi, &queued) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle else {
                continue
            }
            // The message is gone once the handle is removed.
            let code = larder_curl_message_result(message)
            guard let transfer = running[handle] else { continue }
            let url = transfer.request?.url
            let count = results.count
            if code == CURLE_OK { transfer.lookForBytesBeyondLength() }
            finish(transfer, code)
            if code != CURLE_OK, results.count > count, let url,
                case .failure(let failure)? = results.last?.outcome
            {
                share(failure, url)
            }
            // One that failed before it was connected keeps its buffer, and libcurl then refuses to set up
            // the next.
            if code == CURLE_OK { idle.append(transfer) }
        }
    }

    private func sendAll() {
        guard let shortWay, shortWay.hasUnsent else { return }
        shortWay.sendAll()
        takeProgress()
    }

    /// What came of the short way.
    private func takeProgress() {
        for progress in shortWay?.takeProgress() ?? [] {
            switch progress {
            case .ended(let transfer, let failure):
                if let failure { transfer.stop = failure }
                finish(transfer, CURLE_OK)
                idle.append(transfer)
            case .odd(let transfer): if let request = takeBack(transfer) { begin(request, isOdd: true) }
            case .unanswered(let transfer):
                if let request = takeBack(transfer) { crowded.append((request, false)) }
            }
        }
    }

    /// Nothing came of it.
    private func takeBack(_ transfer: Transfer) -> FetchRequest? {
        running[transfer.handle] = nil
        defer {
            transfer.clear()
            idle.append(transfer)
        }
        return transfer.request
    }

    private func finish(_ transfer: Transfer, _ code: CURLcode) {
        let isLibcurls = transfer.line == nil
        if isLibcurls { curl_multi_remove_handle(waker.multi, transfer.handle) }
        running[transfer.handle] = nil
        setup.rate?.take(transfer.uncounted())
        guard let result = transfer.finish(code) else { return }
        if case .response(let response) = result.outcome, result.exchange?.security == .verified,
            let value = response.fields["Strict-Transport-Security"]
        {
            strictTransport?.note(value, from: result.url, now: Self.date)
        }
        if isLibcurls { shortWay?.note(result) }
        results.append(result)
    }

    private func end(_ transfer: Transfer, _ failure: FetchFailure) {
        transfer.stop = failure
        if let line = transfer.line {
            shortWay?.drop(line, for: transfer)
            takeProgress()
        }
        finish(transfer, CURLE_ABORTED_BY_CALLBACK)
    }

    /// Whoever waits for a connection that many are to share has its fate too: libcurl would have each of
    /// them try anew, one after the other.
    private func share(_ failure: FetchFailure, _ url: WebURL) {
        switch failure.kind {
        case .unknownHost, .unreachable, .timeout, .insecure: break
        case .broken, .nonsense, .tooLarge, .refused, .endless, .noRoom, .mismatch, .interrupted, .machine:
            return
        }
        guard url.scheme == "https", results.last?.exchange == nil else { return }
        let origin = url.origin
        let others = running.values.filter { $0.request?.url.origin == origin }
        guard others.allSatisfy({ $0.isWaiting }) else { return }
        for transfer in others { end(transfer, failure) }
    }

    /// Gives up what gets nowhere.
    private func look() {
        guard !running.isEmpty, case let now = now, now >= nextLook else { return }
        nextLook = now + limits.tick
        for transfer in running.values {
            if let line = transfer.line, let shortWay, shortWay.gaveUp(line) {
                takeProgress()
            } else if let failure = transfer.verdict(now: now, limits) {
                end(transfer, failure)
            }
        }
    }

    /// Lets those go on whom the rate has kept back, while it allows: who waits longest first, and then new
    /// ones.
    private func goOn() throws(FetchFailure) {
        for transfer in running.values where transfer.pauseNumber != nil && transfer.isStreamed {
            if transfer.mayStream, setup.rate?.isOpen ?? true {
                try transfer.goOn()
                if let line = transfer.line {
                    shortWay?.goOn(line)
                    takeProgress()
                }
            }
        }
        guard let rate = setup.rate, rate.isOpen else { return }
        let paused = running.values.filter { $0.pauseNumber != nil }.sorted {
            $0.pauseNumber ?? 0 < $1.pauseNumber ?? 0
        }
        for transfer in paused where rate.isOpen && transfer.mayStream { try transfer.goOn() }
        while rate.isOpen, let request = waiting.first {
            waiting.removeFirst()
            begin(request)
        }
    }

    /// How long nothing has to be done unless the network wants something.
    package var patience: Duration {
        guard results.isEmpty, shortWay?.hasUnsent != true else { return .zero }
        let now = now
        var wait = min(sockets.patience, running.isEmpty ? Duration.seconds(60) : max(.zero, nextLook - now))
        if let due = setup.rate?.wait, due > .zero { wait = min(wait, due) }
        return wait
    }
}

/// Ends a loop's wait from any thread.
package final class FetchWaker: Waker, @unchecked Sendable {
    // Other threads touch the descriptor alone; whoever holds the waker keeps the handle alive, and what that tells of its
    // connections.
    let book = ConnectionBook()
    let multi: UnsafeMutableRawPointer
    /// Readable since somebody called.
    let descriptor: Int32

    init(_ multi: UnsafeMutableRawPointer) throws(FetchFailure) {
        self.multi = multi
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { throw FetchFailure(.machine, "no file descriptor is left") }
    }

    deinit {
        curl_multi_cleanup(multi)
        if descriptor >= 0 { close(descriptor) }
    }

    package func wake() {
        eventfd_write(descriptor, 1)
    }
}
