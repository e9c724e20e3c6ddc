internal import CCurl
internal import CLinux
internal import Glibc
internal import System

/// The sockets that libcurl watches, in one epoll queue, and the time at which libcurl wants to be called next.
/// It belongs to the thread of its loop.
///
/// This is the caller's side of libcurl's "multi socket" interface: libcurl calls back with the sockets to watch
/// and the time of its next timer, and the queue calls `curl_multi_socket_action` for each event. The cost of a
/// turn depends on the number of events, not on the number of transfers.
final class SocketQueue {
    /// Readable while a socket has events or the loop was woken.
    let descriptor: Int32
    private let multi: UnsafeMutableRawPointer
    private let waker: Int32
    private let age = Stopwatch()
    /// When the next of libcurl's own timers is due.
    private var timerDue: Duration?
    /// Sockets that libcurl no longer watches. Most of them get another request at once, so they stay in the queue until
    /// they have an event or are closed.
    private var unwatched: [Int32] = []
    private var events = [epoll_event](repeating: epoll_event(), count: 128)

    init(_ waker: FetchWaker) throws(FetchFailure) {
        multi = waker.multi
        self.waker = waker.descriptor
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0,
            larder_epoll_add(descriptor, self.waker, EPOLLIN.rawValue, UInt64(self.waker)) == 0
        else { throw FetchFailure(.machine, "cannot create an event queue: \(SystemError.text(of: errno))") }
        let me = Unmanaged.passUnretained(self).toOpaque()
        try larder_curl_multi_on_socket(
            multi,
            { _, socket, what, context, _ in
                guard let context else { return -1 }
                return Unmanaged<SocketQueue>.fromOpaque(context).takeUnretainedValue().watch(socket, what)
            }, me
        ).check()
        try larder_curl_multi_on_timer(
            multi,
            { _, milliseconds, context in
                guard let context else { return -1 }
                let queue = Unmanaged<SocketQueue>.fromOpaque(context).takeUnretainedValue()
                queue.timerDue = milliseconds < 0 ? nil : queue.age.elapsed + .milliseconds(milliseconds)
                return 0
            }, me
        ).check()
    }

    deinit {
        // The waker frees the handle, which may outlive the queue.
        _ = larder_curl_multi_on_socket(multi, nil, nil)
        _ = larder_curl_multi_on_timer(multi, nil, nil)
        if descriptor >= 0 { close(descriptor) }
    }

    /// The time until the next timer of libcurl: it need not be called earlier unless a socket has an event.
    var patience: Duration { timerDue.map { max(.zero, $0 - age.elapsed) } ?? .seconds(60) }

    /// Waits for events, at most for `time` or until the loop is woken, and passes them to libcurl.
    func turn(waitingAtMost time: Duration) throws(FetchFailure) {
        let milliseconds =
            time > .zero ? Int32(min(60_000, max(1, (time / .milliseconds(1)).rounded(.up)))) : 0
        let count = epoll_wait(descriptor, &events, Int32(events.count), milliseconds)
        guard count >= 0 || errno == EINTR else {
            throw FetchFailure(.machine, "cannot wait for sockets: \(SystemError.text(of: errno))")
        }
        var running: Int32 = 0
        for index in 0..<max(0, Int(count)) {
            let socket = Int32(truncatingIfNeeded: larder_epoll_token(&events[index]))
            guard socket != waker else {
                var wakings: eventfd_t = 0
                eventfd_read(waker, &wakings)
                continue
            }
            if let place = unwatched.firstIndex(of: socket) {
                unwatched.remove(at: place)
                epoll_ctl(descriptor, EPOLL_CTL_DEL, socket, nil)
                continue
            }
            try curl_multi_socket_action(
                multi, socket, Self.mask(larder_epoll_flags(&events[index])), &running
            )
            .check()
        }
        try runTimers()
    }

    /// Runs libcurl's timers that are due. Returns whether there were any.
    @discardableResult
    func runTimers() throws(FetchFailure) -> Bool {
        guard let timerDue, timerDue <= age.elapsed else { return false }
        self.timerDue = nil
        var running: Int32 = 0
        try curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running).check()
        return true
    }

    /// Watches a socket for the events that libcurl asks for, or stops watching it. Returns 0, or -1 on errors.
    private func watch(_ socket: curl_socket_t, _ what: Int32) -> Int32 {
        let flags: UInt32 =
            switch what {
            case CURL_POLL_IN: EPOLLIN.rawValue
            case CURL_POLL_OUT: EPOLLOUT.rawValue
            case CURL_POLL_INOUT: EPOLLIN.rawValue | EPOLLOUT.rawValue
            default: 0
            }
        guard flags != 0 else {
            unwatched.append(socket)
            return 0
        }
        if let place = unwatched.firstIndex(of: socket) { unwatched.remove(at: place) }
        if larder_epoll_change(descriptor, socket, flags, UInt64(socket)) == 0 { return 0 }
        return larder_epoll_add(descriptor, socket, flags, UInt64(socket))
    }

    /// The events of epoll in libcurl's form. A hang-up counts as readable: libcurl then reads the end.
    private static func mask(_ flags: UInt32) -> Int32 {
        var mask: Int32 = 0
        if flags & (EPOLLIN.rawValue | EPOLLHUP.rawValue) != 0 { mask |= CURL_CSELECT_IN }
        if flags & EPOLLOUT.rawValue != 0 { mask |= CURL_CSELECT_OUT }
        if flags & EPOLLERR.rawValue != 0 { mask |= CURL_CSELECT_ERR }
        return mask
    }
}
