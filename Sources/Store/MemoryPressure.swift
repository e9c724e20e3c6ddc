internal import CLinux
internal import Glibc
package import System

/// A thread that sleeps until the kernel reports that programs wait for memory, and then frees some of this
/// process's memory.
package final class MemoryPressure: Sendable {
    private let stopSignal: StopSignal
    private let thread: NamedThread

    /// Starts the thread. Nil if there are no files to watch.
    ///
    /// - Parameters:
    ///   - files: The kernel's pressure files.
    ///   - relief: The policy that decides how much to free.
    ///   - pause: The interval in milliseconds between readings of files that cannot wake the thread, and the
    ///     pause after a file has woken it.
    ///   - freeableByteCount: Returns how many bytes can be freed. Called on the thread, like `shrink`.
    ///   - shrink: Frees memory until only the given number of bytes is left.
    package init?(
        _ files: [PressureFile] = PressureFile.ofThisProcess(), relief: PressureRelief = PressureRelief(),
        pause: Int32 = 2000, freeableByteCount: @escaping @Sendable () -> Int,
        shrink: @escaping @Sendable (Int) -> Void
    ) throws(SystemError) {
        guard !files.isEmpty else { return nil }
        let stop = try StopSignal()
        stopSignal = stop
        thread = try NamedThread.start("larder-memory") {
            var relief = relief
            Self.watch(files, stop: stop, pause: pause) { report in
                let remaining = relief.bytesToKeep(
                    of: freeableByteCount(), after: report, now: SystemClock.seconds())
                if let remaining { shrink(remaining) }
            }
        }
    }

    deinit {
        stop()
    }

    /// Stops the thread and waits until it has ended. May be called repeatedly, from any other thread.
    package func stop() {
        stopSignal.give()
        thread.join()
    }

    /// Waits for reports of the kernel and passes them to `report`, until the thread is stopped.
    private static func watch(
        _ files: [PressureFile], stop: StopSignal, pause: Int32, report: (PressureRelief.KernelReport) -> Void
    ) {
        let pollable = files.filter { $0.notification == .byPolling }
        let unpollable = files.filter { $0.notification == .byReading }
        var polled = [pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0)]
        polled += pollable.map { pollfd(fd: $0.descriptor, events: Int16(POLLPRI), revents: 0) }
        while true {
            let count = poll(&polled, nfds_t(polled.count), unpollable.isEmpty ? -1 : pause)
            // With so few descriptors, no other error is possible.
            if count < 0, errno != EINTR { return }
            if polled[0].revents != 0 { return }
            for case let average? in unpollable.map({ $0.average() }) { report(.average(average)) }
            guard count > 0 else { continue }
            for index in polled.indices.dropFirst() where polled[index].revents != 0 {
                // A control group that was removed reports nothing any more. `poll` ignores negative
                // descriptors.
                if Int32(polled[index].revents) & POLLPRI == 0 || Int32(polled[index].revents) & POLLERR != 0
                {
                    polled[index].fd = -1
                } else {
                    report(.stall)
                }
            }
            if poll(&polled, 1, pause) > 0 { return }
        }
    }
}

// MARK: - PressureRelief

/// Decides how much of a cache to free when programs have to wait for memory: half of it, then half of the
/// rest, as long as they wait. The cache fills again by use afterwards.
package struct PressureRelief: Sendable, Equatable {
    /// A report of the kernel about waiting programs.
    package enum KernelReport: Sendable, Equatable {
        /// Programs waited for longer than the trigger allows.
        case stall
        /// The share of the last ten seconds in which some program waited, in hundredths of a percent.
        case average(Int)
    }

    /// The minimum time between two reliefs, so that the first can take effect.
    package let secondsBetween: Int64
    /// The time of the last relief.
    private var last: Int64?

    /// The average from which on it counts as a stall; the same share as in `PressureFile.trigger`.
    private static let minStallAverage = 750
    /// If half of the cache would be smaller than this, all of it is freed.
    private static let minCacheBytes = 1024 * 1024

    package init(secondsBetween: Int64 = 5) {
        self.secondsBetween = secondsBetween
    }

    /// Returns how many of `byteCount` bytes to keep; nil to keep all of them.
    package mutating func bytesToKeep(of byteCount: Int, after report: KernelReport, now: Int64) -> Int? {
        switch report {
        case .stall: break
        case .average(let average): guard average >= Self.minStallAverage else { return nil }
        }
        if let last, now - last < secondsBetween { return nil }
        guard byteCount > 0 else { return nil }
        last = now
        return byteCount / 2 < Self.minCacheBytes ? 0 : byteCount / 2
    }
}

// MARK: - PressureFile

/// A pressure file of the kernel (PSI), which reports how long programs have waited for memory. It is closed
/// with the last reference.
package final class PressureFile: Sendable {
    /// How changes of a file are noticed.
    package enum Notification: Sendable {
        /// The kernel wakes a thread that polls the file.
        case byPolling
        /// The file has to be read at intervals.
        case byReading
    }

    let descriptor: Int32
    let notification: Notification

    /// Wakes the thread when some program has waited for 150 ms within two seconds. Unprivileged processes
    /// may only use multiples of two seconds.
    private static let trigger: StaticString = "some 150000 2000000"

    /// Takes ownership of the descriptor.
    package init(descriptor: Int32, notification: Notification) {
        self.descriptor = descriptor
        self.notification = notification
    }

    deinit {
        close(descriptor)
    }

    /// Opens a pressure file; nil if the kernel does not have it. If the kernel does not allow a trigger, the
    /// file is read at intervals.
    package static func open(_ path: String) -> PressureFile? {
        let descriptor = Glibc.open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        if descriptor >= 0 {
            // The kernel expects the terminating null byte.
            let size = trigger.utf8CodeUnitCount + 1
            if write(descriptor, trigger.utf8Start, size) == size {
                return PressureFile(descriptor: descriptor, notification: .byPolling)
            }
            close(descriptor)
        }
        let read = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard read >= 0 else { return nil }
        let file = PressureFile(descriptor: read, notification: .byReading)
        // A kernel with PSI turned off has the file, but reading it fails.
        return file.average() == nil ? nil : file
    }

    /// The pressure files of the machine and of this process's control group, which may have a lower limit.
    /// Empty if the kernel provides none.
    static func ofThisProcess() -> [PressureFile] {
        var paths = ["/proc/pressure/memory"]
        if let group = controlGroup() {
            // The paths if cgroup version 2 is mounted alone, and if it is mounted beside version 1.
            paths += ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map { "\($0)\(group)/memory.pressure" }
        }
        return paths.compactMap(open)
    }

    /// The share of the last ten seconds in which some program waited, in hundredths of a percent.
    func average() -> Int? {
        Self.read(descriptor).flatMap { Self.average(in: $0.span) }
    }

    /// Parses `some avg10=1.23 avg60=…`.
    package static func average(in bytes: Span<UInt8>) -> Int? {
        let prefix: StaticString = "some avg10="
        let start = prefix.utf8CodeUnitCount
        guard bytes.count > start, (0..<start).allSatisfy({ bytes[$0] == prefix.utf8Start[$0] }) else {
            return nil
        }
        var (value, decimals): (Int, Int?) = (0, nil)
        for index in start..<bytes.count where decimals != 2 {
            switch bytes[index] {
            case 0x30...0x39 where value < 100_000:
                value = value * 10 + Int(bytes[index] - 0x30)
                decimals = decimals.map { $0 + 1 }
            case 0x2e where decimals == nil && index > start: decimals = 0
            default: return nil
            }
        }
        return decimals == 2 ? value : nil
    }

    /// The path of this process's group in the cgroup v2 tree, from the line `0::/path`.
    private static func controlGroup() -> String? {
        (try? WholeFile.beginning(of: "/proc/self/cgroup", 4096)).flatMap(controlGroup)
    }

    package static func controlGroup(in bytes: [UInt8]) -> String? {
        for line in bytes.split(separator: 0x0a) where line.starts(with: "0::/".utf8) {
            let path = line.dropFirst(3)
            return path.count == 1 ? "" : String(decoding: path, as: UTF8.self)
        }
        return nil
    }

    /// Reads the file from its start. Its content is shorter than the buffer.
    private static func read(_ descriptor: Int32) -> [UInt8]? {
        let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, 0))
        }
        return bytes.isEmpty ? nil : bytes
    }
}

/// Settings of the C library's allocator.
package enum HeapMemory {
    /// Makes malloc return large blocks to the system at once. By default, each freed large block raises the
    /// threshold, up to 32 MB.
    package static func returnLargeBlocksAtOnce() {
        mallopt(M_MMAP_THRESHOLD, 1 << 20)
        mallopt(M_TRIM_THRESHOLD, 2 << 20)
    }
}
