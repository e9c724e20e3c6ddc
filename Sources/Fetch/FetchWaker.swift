internal import CCurl
internal import System

/// Ends a loop's wait from any thread.
package final class FetchWaker: Waker, @unchecked Sendable {
    // Of all calls on a multi handle only curl_multi_wakeup may be made from other threads, and it is the only one
    // that this class makes; whoever holds the waker keeps the handle alive.
    let multi: UnsafeMutableRawPointer

    init(_ multi: UnsafeMutableRawPointer) {
        self.multi = multi
    }

    deinit {
        curl_multi_cleanup(multi)
    }

    package func wake() {
        curl_multi_wakeup(multi)
    }
}
