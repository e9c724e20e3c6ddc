internal import CCurl
internal import CLinux
internal import Glibc
package import System
internal import Web

/// Runs requests in parallel, with one libcurl multi handle. The loop belongs to one thread; other threads
/// may use only its waker.
///
/// The owner calls `start` for each request and then `turn` until all results are there. A request is in
/// exactly one of these places, and moves only down the list:
///
/// - `waiting`: the rate limit is used up, so the request has not been given to libcurl.
/// - `running`: a `Transfer` runs it.
/// - `results`: it has ended, or failed before it began. One of the next calls of `turn` returns the result.
///
/// So each request that is started gets exactly one result, from `turn` or `cancelAll`.
package final class FetchLoop {
    package let waker: FetchWaker
    /// The hosts that demand TLS: those of the options, and those whose responses have demanded it since.
    package private(set) var strictTransport: StrictTransport?
    private let sockets: SocketQueue
    private let setup: TransferSetup
    private let limits: TransferTimer.Limits
    private let age = Stopwatch()
    /// Transfers whose handles can be used again.
    private var idle: [Transfer] = []
    /// Transfers that have no result yet, by their handles.
    private var running: [UnsafeMutableRawPointer: Transfer] = [:]
    private var results: [FetchResult] = []
    /// When the time limits of the running transfers are checked next, as a value of `age`.
    private var nextLimitCheck: Duration = .zero
    /// Requests that wait because the rate limit is used up, in the order of `start`.
    private var waiting: [FetchRequest] = []

    /// Reads the files that the options name.
    ///
    /// - Parameter receiver: receives the bodies, which are then stored neither in memory nor in files.
    /// - Throws: `FetchFailure` if a file cannot be read or libcurl fails to start.
    package init(_ options: FetchOptions, receiver: (any BodyReceiver)? = nil) throws(FetchFailure) {
        let code = Self.globalInit
        guard code == CURLE_OK, let multi = curl_multi_init() else {
            throw FetchFailure(.machine, "libcurl failed to start")
        }
        waker = try FetchWaker(multi)
        sockets = try SocketQueue(waker)
        setup = try TransferSetup(options, receiver)
        limits = options.timeLimits
        strictTransport = options.strictTransport
        // By default libcurl keeps four connections for each running transfer.
        try larder_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, options.maxIdleConnections).check()
        try larder_curl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, options.maxConnectionsPerHost)
            .check()
    }

    deinit {
        for handle in running.keys { curl_multi_remove_handle(waker.multi, handle) }
    }

    /// Readable while a `turn` has something to do, except for work that is due only after `patience`. It lets
    /// callers wait for the loop and for other descriptors in one place.
    package var descriptor: Int32 { sockets.descriptor }

    /// The number of requests that have no result yet.
    package var runningCount: Int { running.count + waiting.count }

    /// Starts a request. A later `turn` returns its result, even if the request cannot be started.
    /// Credentials in its URL are neither sent nor stored; the credentials to use are in
    /// `FetchOptions.credentials`.
    ///
    /// An http URL whose host demands TLS gets a 307 to its https URL at once, as in browsers
    /// (`Non-Authoritative-Reason: HSTS`).
    package func start(_ request: FetchRequest) {
        var request = request
        if request.url.hasCredentials { request.url = request.url.withoutCredentials }
        if let url = strictTransport?.httpsURL(for: request.url, now: Self.date) {
            let fields: HTTPFields = ["Location": url.href, "Non-Authoritative-Reason": "HSTS"]
            let response = FetchedResponse(status: 307, fields: fields, body: .bytes([]))
            return addUnsentResult(.response(response), for: request, partial: request.resume)
        }
        if setup.rate?.isOpen ?? true { begin(request) } else { waiting.append(request) }
    }

    /// Changes the rate limit of a loop that was created with one.
    package func change(bytesPerSecond: Int) { setup.rate?.change(bytesPerSecond: bytesPerSecond) }

    /// Advances all transfers and returns the results of those that have ended. If none has, waits for the
    /// network or the waker, at most for `timeout`.
    ///
    /// - Parameter maxResults: the maximum number of results, at least 1. Later turns return the others. A caller
    ///   that starts a request for each result thus sends the first ones before it has processed all results.
    package func turn(
        waitingAtMost timeout: Duration, maxResults: Int = .max
    ) throws(FetchFailure) -> [FetchResult] {
        try advance(waitingAtMost: timeout)
        let taken = Array(results.prefix(max(1, maxResults)))
        if taken.count == results.count {
            results.removeAll(keepingCapacity: true)
        } else {
            results.removeFirst(taken.count)
        }
        return taken
    }

    /// Runs expired timers and resumes paused transfers, and returns results like `turn`. It does not look at
    /// the sockets, for callers that know that `descriptor` is not readable.
    package func runDueWork() throws(FetchFailure) -> [FetchResult] {
        try resumePaused()
        try runTimers()
        defer { results.removeAll(keepingCapacity: true) }
        return results
    }

    /// Runs one request to its end while no other is running. Blocks. Nil if it was interrupted.
    package func result(
        of request: FetchRequest, _ interruption: Interruption
    ) throws(FetchFailure) -> FetchResult? {
        interruption.addWaker(waker)
        defer { interruption.removeWaker(waker) }
        start(request)
        while !interruption.isRequested {
            guard let result = try turn(waitingAtMost: .seconds(60)).first else { continue }
            result.partial?.discard()
            return result
        }
        for result in cancelAll() { result.partial?.discard() }
        return nil
    }

    /// Ends all requests. Each gets a failure of kind `.interrupted`, with the part of the body that a later
    /// request can resume.
    package func cancelAll() -> [FetchResult] {
        let failure = FetchFailure(.interrupted, "it had not finished")
        for transfer in running.values { fail(transfer, with: failure) }
        for request in waiting { addUnsentResult(.failure(failure), for: request, partial: request.resume) }
        waiting = []
        defer { results = [] }
        return results
    }

    /// Ends the requests with these numbers. The next `turn` returns their results, with this failure.
    package func cancel(_ numbers: Set<UInt32>, with failure: FetchFailure) {
        for transfer in running.values where transfer.request.map({ numbers.contains($0.number) }) ?? false {
            fail(transfer, with: failure)
        }
        for request in waiting where numbers.contains(request.number) {
            addUnsentResult(.failure(failure), for: request, partial: request.resume)
        }
        waiting.removeAll { numbers.contains($0.number) }
    }

    /// Adds cookies that a page's scripts set, as lines of a Netscape cookie file, for the requests that
    /// start from now on. They replace no cookie that a server set.
    package func addCookies(fromScripts lines: [String]) throws(FetchFailure) {
        try setup.cookies?.addCookies(fromScripts: lines)
    }

    /// Writes the cookies to the file that `CookieOptions.save` names.
    package func saveCookies() throws(FetchFailure) {
        try setup.cookies?.save()
    }

    private var now: Duration { age.elapsed }

    private static var date: HTTPDate { HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch()) }

    private static let globalInit = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
}

extension FetchLoop {
    private func begin(_ request: FetchRequest) {
        do throws(FetchFailure) {
            let transfer = try usableTransfer()
            try transfer.start(request)
            try curl_multi_add_handle(waker.multi, transfer.handle).check()
            running[transfer.handle] = transfer
        } catch {
            if error.kind == .mismatch { request.resume?.discard() }
            addUnsentResult(
                .failure(error), for: request, partial: error.kind == .mismatch ? nil : request.resume)
        }
    }

    private func usableTransfer() throws(FetchFailure) -> Transfer {
        if let transfer = idle.popLast() { return transfer }
        return try Transfer(setup)
    }

    /// Adds the result of a request that was not sent.
    private func addUnsentResult(
        _ outcome: FetchResult.Outcome, for request: FetchRequest, partial: PartialBody?
    ) {
        results.append(
            FetchResult(
                number: request.number, url: request.url, outcome: outcome, wireByteCount: 0, exchange: nil,
                sentFields: HTTPFields(), partial: partial))
    }

    private func advance(waitingAtMost time: Duration) throws(FetchFailure) {
        try resumePaused()
        try sockets.turn(waitingAtMost: min(time, patience))
        collectFinished()
        try runTimers()
    }

    private func runTimers() throws(FetchFailure) {
        // A transfer that ends may let another start, which may end at once, and so on.
        for _ in 0..<Self.maxTimerRounds {
            guard try sockets.runTimers() else { break }
            collectFinished()
        }
        checkLimits()
    }

    /// The maximum number of rounds of timers in one turn. Timers that are still due run in the next turn, so
    /// that the caller gets the results so far.
    private static let maxTimerRounds = 16

    /// Adds the results of the transfers that libcurl reports as ended.
    private func collectFinished() {
        var queued: Int32 = 0
        while let message = curl_multi_info_read(waker.multi, &queued) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle else {
                continue
            }
            // Removing the handle frees the message.
            let code = larder_curl_message_result(message)
            guard let transfer = running[handle] else { continue }
            let url = transfer.request?.url
            let count = results.count
            if code == CURLE_OK { transfer.checkForExcessBytes() }
            finish(transfer, code)
            if code != CURLE_OK, results.count > count, let url,
                case .failure(let failure)? = results.last?.outcome
            {
                failRequestsAwaitingConnection(to: url, with: failure)
            }
            // A transfer that failed before it was connected keeps its buffer, and libcurl then refuses to
            // set the handle up for another request.
            if code == CURLE_OK { idle.append(transfer) }
        }
    }

    /// Removes a transfer from libcurl and adds its result. Its bytes count against the rate limit even if it
    /// failed.
    private func finish(_ transfer: Transfer, _ code: CURLcode) {
        curl_multi_remove_handle(waker.multi, transfer.handle)
        running[transfer.handle] = nil
        setup.rate?.take(transfer.takeUncountedBytes())
        if let request = transfer.retryWithoutDictionary(code) ?? transfer.retryOnNewConnection(code) {
            transfer.clear()
            return begin(request)
        }
        guard let result = transfer.finish(code) else { return }
        if case .response(let response) = result.outcome, result.exchange?.security == .verified,
            let value = response.fields["Strict-Transport-Security"]
        {
            strictTransport?.applyHeader(value, from: result.url, now: Self.date)
        }
        results.append(result)
    }

    /// Ends a running transfer. Its result is this failure.
    private func fail(_ transfer: Transfer, with failure: FetchFailure) {
        transfer.stopReason = failure
        finish(transfer, CURLE_ABORTED_BY_CALLBACK)
    }

    /// Ends the transfers that wait for a connection that could not be made. They were to share it, and
    /// libcurl would have each of them try again, one after the other. Does nothing if any transfer of the
    /// origin has a connection, since the host then works.
    private func failRequestsAwaitingConnection(to url: WebURL, with failure: FetchFailure) {
        switch failure.kind {
        case .unknownHost, .unreachable, .timeout, .insecure: break
        // These concern one response, or this machine.
        case .broken, .invalidResponse, .tooLarge, .refused, .endless, .diskFull, .mismatch, .interrupted,
            .machine:
            return
        }
        guard url.scheme == "https", results.last?.exchange == nil else { return }
        let origin = url.origin
        let others = running.values.filter { $0.request?.url.origin == origin }
        guard others.allSatisfy({ $0.isWaiting }) else { return }
        for transfer in others { fail(transfer, with: failure) }
    }

    /// Ends the transfers that exceed a time limit.
    private func checkLimits() {
        guard !running.isEmpty, case let now = now, now >= nextLimitCheck else { return }
        nextLimitCheck = now + limits.checkInterval
        for transfer in running.values {
            if let failure = transfer.limitFailure(now: now, limits) { fail(transfer, with: failure) }
        }
    }

    /// Resumes paused transfers as far as the rate limit allows, the longest paused first, and then starts
    /// waiting requests.
    ///
    /// Streamed transfers come before all others, since a client waits for them.
    private func resumePaused() throws(FetchFailure) {
        for transfer in running.values where transfer.pauseNumber != nil && transfer.isStreamed {
            if transfer.canStream, setup.rate?.isOpen ?? true { try transfer.resume() }
        }
        guard let rate = setup.rate, rate.isOpen else { return }
        let paused = running.values.filter { $0.pauseNumber != nil }.sorted {
            $0.pauseNumber ?? 0 < $1.pauseNumber ?? 0
        }
        for transfer in paused where rate.isOpen && transfer.canStream { try transfer.resume() }
        while rate.isOpen, let request = waiting.first {
            waiting.removeFirst()
            begin(request)
        }
    }

    /// The time for which the loop has nothing to do unless the network reports an event.
    package var patience: Duration {
        guard results.isEmpty else { return .zero }
        let now = now
        var wait = min(
            sockets.patience, running.isEmpty ? Duration.seconds(60) : max(.zero, nextLimitCheck - now))
        // The rate limit may have opened for waiting requests since the last turn looked.
        if let due = setup.rate?.timeUntilOpen, due > .zero || !waiting.isEmpty { wait = min(wait, due) }
        return wait
    }
}

/// Ends a loop's wait from any thread.
package final class FetchWaker: Waker, @unchecked Sendable {
    // Sendable since other threads use only the descriptor. The waker owns the multi handle, which thus lives
    // as long as any thread may wake the loop.
    let multi: UnsafeMutableRawPointer
    /// Readable after `wake`, until the loop has seen it.
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
