internal import Glibc
internal import System

/// A file of the kernel's that tells how long programs have waited for memory (PSI). Closed with the last reference.
package final class PressureFile: Sendable {
    package enum Manner: Sendable {
        /// It wakes who polls it.
        case wakes
        /// It has to be read now and then.
        case isRead
    }

    let descriptor: Int32
    let manner: Manner

    /// To be woken when some program has waited for 150 ms of two seconds. Who is not privileged may only ask for
    /// multiples of two seconds.
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
            if write(woken, trigger.utf8Start, size) == size { return PressureFile(descriptor: woken, manner: .wakes) }
            close(woken)
        }
        let read = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard read >= 0 else { return nil }
        let file = PressureFile(descriptor: read, manner: .isRead)
        // A kernel with PSI turned off has the file, and refuses to read it.
        return file.average() == nil ? nil : file
    }

    /// The machine's, and that of our own control group, whose limit may be nearer. None where the kernel tells nothing.
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
        guard bytes.count > start, (0..<start).allSatisfy({ bytes[$0] == prefix.utf8Start[$0] }) else { return nil }
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
