internal import CLinux
internal import Glibc
package import System

/// A thread that sleeps until the kernel says that programs wait for memory, and then has some of ours given
/// back.
package final class MemoryPressure: Sendable {
    private let stopSignal: StopSignal
    private let thread: NamedThread

    /// Nil where there is nothing to watch.
    ///
    /// - Parameters:
    ///   - pause: how long files that wake nobody are left unread, and those that do are not listened to
    ///     again, in ms.
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
                if Int32(polled[index].revents) & POLLPRI == 0 || Int32(polled[index].revents) & POLLERR != 0
                {
                    polled[index].fd = -1
                } else {
                    tell(.stall)
                }
            }
            if poll(&polled, 1, pause) > 0 { return }
        }
    }
}

// MARK: - PressureRelief

/// Decides how much of what is kept in memory goes when programs have to wait for memory: half, then half of
/// the rest, for as long as they do. What was given back comes again by use, once they no longer do.
package struct PressureRelief: Sendable, Equatable {
    /// What the kernel says of the programs that wait.
    package enum Sign: Sendable, Equatable {
        /// They waited for longer than was agreed.
        case stall
        /// For how much of the last ten seconds some of them waited, in hundredths of a percent.
        case average(Int)
    }

    /// How long relief takes to show before there is more of it.
    package let secondsBetween: Int64
    private var last: Int64?

    /// The share of ten seconds that counts as a stall: that of `PressureFile.trigger`.
    package static let averageThatStalls = 750
    /// Less than this is given back whole.
    package static let smallest = 1024 * 1024

    package init(secondsBetween: Int64 = 5) {
        self.secondsBetween = secondsBetween
    }

    /// How many of `byteCount` bytes may stay; nil when all of them may.
    package mutating func bytesToKeep(of byteCount: Int, after sign: Sign, now: Int64) -> Int? {
        switch sign {
        case .stall: break
        case .average(let average): guard average >= Self.averageThatStalls else { return nil }
        }
        if let last, now - last < secondsBetween { return nil }
        guard byteCount > 0 else { return nil }
        last = now
        return byteCount / 2 < Self.smallest ? 0 : byteCount / 2
    }
}

// MARK: - PressureFile

/// A file of the kernel's that tells how long programs have waited for memory (PSI). Closed with the last
/// reference.
package final class PressureFile: Sendable {
    package enum Manner: Sendable {
        /// It wakes who polls it.
        case wakes
        /// It has to be read now and then.
        case isRead
    }

    let descriptor: Int32
    let manner: Manner

    /// To be woken when some program has waited for 150 ms of two seconds. Who is not privileged may only ask
    /// for multiples of two seconds.
    private static let trigger: StaticString = "some 150000 2000000"

    /// Owns the descriptor from here on.
    package init(descriptor: Int32, manner: Manner) {
        self.descriptor = descriptor
        self.manner = manner
    }

    deinit {
        close(descriptor)
    }

    /// Nil where the kernel has no such file. One that may not be asked to wake anybody is read.
    package static func open(_ path: String) -> PressureFile? {
        let woken = Glibc.open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        if woken >= 0 {
            // With the byte that ends it, as the kernel wants it.
            let size = trigger.utf8CodeUnitCount + 1
            if write(woken, trigger.utf8Start, size) == size {
                return PressureFile(descriptor: woken, manner: .wakes)
            }
            close(woken)
        }
        let read = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard read >= 0 else { return nil }
        let file = PressureFile(descriptor: read, manner: .isRead)
        // A kernel with PSI turned off has the file, and refuses to read it.
        return file.average() == nil ? nil : file
    }

    /// The machine's, and that of our own control group, whose limit may be nearer. None where the kernel
    /// tells nothing.
    package static func ofThisProcess() -> [PressureFile] {
        var paths = ["/proc/pressure/memory"]
        if let group = controlGroup() {
            // Where version 2 is mounted alone, and where it stands beside version 1.
            paths += ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map { "\($0)\(group)/memory.pressure" }
        }
        return paths.compactMap(open)
    }

    /// For how much of the last ten seconds some program waited, in hundredths of a percent.
    func average() -> Int? {
        Self.read(descriptor).flatMap { Self.average(in: $0.span) }
    }

    /// Of `some avg10=1.23 avg60=…`.
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

    /// The path of our group in version 2's tree: the line `0::/path`.
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

    /// The file from its start, of which the first page is more than enough.
    private static func read(_ descriptor: Int32) -> [UInt8]? {
        let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, 0))
        }
        return bytes.isEmpty ? nil : bytes
    }
}

/// What the process does with memory that it lets go of.
package enum HeapMemory {
    /// Otherwise each large block that is let go of has more kept for later, up to 32 MB for each thread.
    package static func givesLargeBlocksBack() {
        mallopt(M_MMAP_THRESHOLD, 1 << 20)
        mallopt(M_TRIM_THRESHOLD, 2 << 20)
    }
}
