internal import Glibc
package import System

/// A thread that sleeps until the kernel says that programs wait for memory, and then has some of ours given back.
package final class MemoryPressure: Sendable {
    private let stopSignal: StopSignal
    private let thread: NamedThread

    /// Nil where there is nothing to watch.
    ///
    /// - Parameters:
    ///   - pause: how long files that wake nobody are left unread, and those that do are not listened to again, in ms.
    ///   - held: how many bytes there are to give back; called on the thread, as `shrink` is.
    ///   - shrink: gives back all but so many bytes.
    package init?(
        _ files: [PressureFile] = PressureFile.ofThisProcess(), relief: PressureRelief = PressureRelief(),
        pause: Int32 = 2000, held: @escaping @Sendable () -> Int, shrink: @escaping @Sendable (Int) -> Void
    ) throws(SystemError) {
        guard !files.isEmpty else { return nil }
        let stop = try StopSignal()
        stopSignal = stop
        thread = try NamedThread.start("larder-memory") {
            var relief = relief
            Self.watch(files, stop: stop, pause: pause) { sign in
                let kept = relief.bytesToKeep(of: held(), after: sign, now: SystemClock.seconds())
                if let kept { shrink(kept) }
            }
        }
    }

    deinit {
        stop()
    }

    /// Returns when the thread has ended. From any other thread, and as often as one likes.
    package func stop() {
        stopSignal.give()
        thread.join()
    }

    /// Sleeps and tells each sign, until it is to stop.
    private static func watch(
        _ files: [PressureFile], stop: StopSignal, pause: Int32, tell: (PressureRelief.Sign) -> Void
    ) {
        let waking = files.filter { $0.manner == .wakes }
        let silent = files.filter { $0.manner == .isRead }
        var polled = [pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0)]
        polled += waking.map { pollfd(fd: $0.descriptor, events: Int16(POLLPRI), revents: 0) }
        while true {
            let count = poll(&polled, nfds_t(polled.count), silent.isEmpty ? -1 : pause)
            // Nothing else can be wrong with so few.
            if count < 0, errno != EINTR { return }
            if polled[0].revents != 0 { return }
            for case let average? in silent.map({ $0.average() }) { tell(.average(average)) }
            guard count > 0 else { continue }
            for index in polled.indices.dropFirst() where polled[index].revents != 0 {
                // A control group that is gone tells no more; poll passes over what is negative.
                if Int32(polled[index].revents) & POLLPRI == 0 || Int32(polled[index].revents) & POLLERR != 0 {
                    polled[index].fd = -1
                } else {
                    tell(.stall)
                }
            }
            if poll(&polled, 1, pause) > 0 { return }
        }
    }
}
