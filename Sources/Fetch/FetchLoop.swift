internal import CCurl
internal import Web

/// One libcurl multi handle, run by the thread that owns the loop. Nothing here is locked; only the waker may leave.
package final class FetchLoop {
    package let waker: FetchWaker
    private let options: FetchOptions
    private var idle: [Transfer] = []
    private var running: [UnsafeMutableRawPointer: Transfer] = [:]
    private var results: [FetchResult] = []

    package init(_ options: FetchOptions) throws(FetchFailure) {
        let code = Self.globalInit
        guard code == CURLE_OK, let multi = curl_multi_init() else {
            throw FetchFailure(.machine, "libcurl does not start")
        }
        waker = FetchWaker(multi)
        self.options = options
        // Without it libcurl keeps four connections for each running transfer.
        let kept = larder_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, options.keptConnections)
        guard kept == CURLM_OK else { throw FetchFailure(.machine, String(cString: curl_multi_strerror(kept))) }
    }

    deinit {
        for handle in running.keys { curl_multi_remove_handle(waker.multi, handle) }
    }

    package var runningCount: Int { running.count }

    /// Starts a request; its result comes out of a later `turn`, also when it cannot even start.
    package func start(_ request: FetchRequest) {
        do throws(FetchFailure) {
            guard let transfer = idle.popLast() ?? Transfer(options) else {
                throw FetchFailure(.machine, "no memory is left")
            }
            try transfer.start(request)
            let code = curl_multi_add_handle(waker.multi, transfer.handle)
            guard code == CURLM_OK else { throw FetchFailure(.machine, String(cString: curl_multi_strerror(code))) }
            running[transfer.handle] = transfer
        } catch {
            results.append(
                FetchResult(number: request.number, url: request.url, outcome: .failure(error), wireByteCount: 0))
        }
    }

    /// Moves every transfer on, waits at most `timeout` for the network or the waker when nothing is finished, and
    /// gives what is.
    package func turn(waitingAtMost timeout: Duration) throws(FetchFailure) -> [FetchResult] {
        try perform()
        if results.isEmpty, timeout > .zero {
            let milliseconds = Int32(min(60_000, max(1, timeout / .milliseconds(1))))
            let code = curl_multi_poll(waker.multi, nil, 0, milliseconds, nil)
            guard code == CURLM_OK else { throw FetchFailure(.machine, String(cString: curl_multi_strerror(code))) }
            try perform()
        }
        defer { results.removeAll(keepingCapacity: true) }
        return results
    }

    private func perform() throws(FetchFailure) {
        var stillRunning: Int32 = 0
        let code = curl_multi_perform(waker.multi, &stillRunning)
        guard code == CURLM_OK else { throw FetchFailure(.machine, String(cString: curl_multi_strerror(code))) }
        var queued: Int32 = 0
        while let message = curl_multi_info_read(waker.multi, &queued) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle else { continue }
            // The message is gone once the handle is removed.
            let code = larder_curl_message_result(message)
            curl_multi_remove_handle(waker.multi, handle)
            guard let transfer = running.removeValue(forKey: handle) else { continue }
            if let result = transfer.finish(code) { results.append(result) }
            // One that failed before it was connected keeps its buffer, and libcurl then refuses to set up the next.
            if code == CURLE_OK { idle.append(transfer) }
        }
    }

    private static let globalInit = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
}

/// Ends a loop's wait from any thread.
package final class FetchWaker: @unchecked Sendable {
    // Of all calls on a multi handle only curl_multi_wakeup may be made from other threads, and it is the only one
    // that this class makes; whoever holds the waker keeps the handle alive.
    fileprivate let multi: UnsafeMutableRawPointer

    fileprivate init(_ multi: UnsafeMutableRawPointer) {
        self.multi = multi
    }

    deinit {
        curl_multi_cleanup(multi)
    }

    package func wake() {
        curl_multi_wakeup(multi)
    }
}
