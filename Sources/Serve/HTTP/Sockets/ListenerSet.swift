internal import CLinux
internal import Glibc

/// The listeners of one event loop, which are in its queue or out of it together.
final class ListenerSet {
    private let listeners: [ListeningSocket]
    private let epoll: Int32
    private(set) var areWatched = false

    init(_ listeners: [ListeningSocket], epoll: Int32) {
        self.listeners = listeners
        self.epoll = epoll
    }

    func contains(_ descriptor: Int32) -> Bool {
        listeners.contains { $0.descriptor == descriptor }
    }

    /// Has the queue tell of new clients; `errno` says why it is false.
    func watch() -> Bool {
        areWatched = listeners.allSatisfy { listener in
            larder_epoll_add(epoll, listener.descriptor, EPOLLIN.rawValue, UInt64(listener.descriptor)) == 0
                || errno == EEXIST
        }
        return areWatched
    }

    /// New clients wait in the kernel's line from here on.
    func ignore() {
        areWatched = false
        // The only ways to fail are to be out of the queue already.
        for listener in listeners { epoll_ctl(epoll, EPOLL_CTL_DEL, listener.descriptor, nil) }
    }
}
