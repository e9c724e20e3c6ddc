import Glibc
import Store
import System
import TestOrigin
import Testing

@Suite struct MemoryPressureTests {
    private static let held = 8 * 1024 * 1024
    private let relief = PressureRelief(secondsBetween: 0)
    private let kept = Monitor<[Int]>([])

    private func watch(_ files: [PressureFile]) throws -> MemoryPressure {
        let watcher = try MemoryPressure(
            files, relief: relief, pause: 5, freeableByteCount: { Self.held },
            shrink: { [kept] bytes in kept.change { $0.append(bytes) } })
        return try #require(watcher)
    }

    private func waitForRelief() -> Int {
        kept.wait { $0.popLast() }
    }

    @Test func `a file that supports polling triggers relief again and again`() throws {
        let pair = try UrgentPair()
        let watcher = try watch([PressureFile(descriptor: pair.receiver, notification: .byPolling)])
        try pair.send()
        #expect(waitForRelief() == Self.held / 2)
        #expect(waitForRelief() == Self.held / 2)
        watcher.stop()
        watcher.stop()
    }

    @Test func `a file that does not support polling is read at intervals`() throws {
        let scratch = try TemporaryFolder()
        let path = try scratch.write("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", to: "pressure")
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        let watcher = try watch([PressureFile(descriptor: descriptor, notification: .byReading)])
        defer { watcher.stop() }
        try scratch.write("some avg10=80.00 avg60=0.00 avg300=0.00 total=0\n", to: "pressure")
        #expect(waitForRelief() == Self.held / 2)
    }

    @Test func `a removed file is not polled any more, and the others are`() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        close(ends[1])
        let pair = try UrgentPair()
        let watcher = try watch([
            PressureFile(descriptor: ends[0], notification: .byPolling),
            PressureFile(descriptor: pair.receiver, notification: .byPolling),
        ])
        defer { watcher.stop() }
        try pair.send()
        #expect(waitForRelief() == Self.held / 2)
        #expect(kept.change { $0.allSatisfy { $0 == Self.held / 2 } })
    }

    @Test func `the thread ends with the last reference`() throws {
        let pair = try UrgentPair()
        weak var weakly: MemoryPressure?
        do {
            let watcher = try watch([PressureFile(descriptor: pair.receiver, notification: .byPolling)])
            weakly = watcher
        }
        #expect(weakly == nil)
    }

    /// Some kernels have no pressure files; then no watcher is created.
    @Test func `the files of this machine's kernel can be watched`() throws {
        let watcher = try MemoryPressure(
            freeableByteCount: { 0 }, shrink: { _ in Issue.record("there was nothing to free") })
        watcher?.stop()
    }

    /// A loopback connection. Urgent data raises POLLPRI at the receiver, as memory pressure does at the kernel's files.
    private final class UrgentPair {
        let receiver: Int32
        private let sender: Int32

        init() throws {
            let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
            let (waiting, calling) = (socket(AF_INET, type, 0), socket(AF_INET, type, 0))
            defer { close(waiting) }
            sender = calling
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                    bind(waiting, generic, size) == 0 && listen(waiting, 1) == 0
                        && getsockname(waiting, generic, &size) == 0 && connect(calling, generic, size) == 0
                }
            }
            receiver = isConnected ? accept(waiting, nil, nil) : -1
            guard receiver >= 0 else { throw TestError("connecting two sockets") }
        }

        // The owner of the pressure file closes `receiver`.
        deinit { close(sender) }

        func send() throws {
            guard Glibc.send(sender, "!", 1, Int32(MSG_OOB)) == 1 else { throw TestError("sending") }
        }
    }
}

@Suite struct PressureFileTests {
    @Test(arguments: [
        ("some avg10=0.00 avg60=0.00 avg300=0.00 total=1446408\nfull avg10=0.00", 0),
        ("some avg10=1.23 avg60=4.56 avg300=7.89 total=1\n", 123),
        ("some avg10=100.00 avg60=0.00", 10_000),
        ("some avg10=12.3", nil), ("some avg10=", nil), ("some avg10=.50", nil), ("some avg10=5,00", nil),
        ("some avg10=1.2.3", nil), ("some avg10=99999999999999999999.00", nil), ("full avg10=1.00", nil),
        ("", nil),
    ])
    func `the share of the last ten seconds is read in hundredths of a percent`(text: String, average: Int?) {
        let found = PressureFile.average(in: text.utf8.span)
        #expect(found == average)
    }

    @Test(arguments: [
        ("0::/user.slice/app.scope\n", "/user.slice/app.scope"), ("0::/\n", ""), ("0::/", ""),
        ("4:memory:/a\n1:cpu:/b\n0::/c\n", "/c"), ("4:memory:/a\n", nil), ("10::/a\n", nil), ("0::\n", nil),
        ("", nil),
    ])
    func `the control group is read from the line of cgroup version 2`(text: String, path: String?) {
        #expect(PressureFile.controlGroup(in: Array(text.utf8)) == path)
    }

    @Test func `without pressure files no thread is started`() throws {
        let scratch = try TemporaryFolder()
        #expect(PressureFile.open(scratch.file("pressure")) == nil)
        let watcher = try MemoryPressure([], freeableByteCount: { 1 }, shrink: { _ in })
        #expect(watcher == nil)
    }
}

@Suite struct PressureReliefTests {
    private static let megabyte = 1024 * 1024

    struct Step: Sendable, CustomTestStringConvertible {
        let now: Int64
        let report: PressureRelief.KernelReport
        let held: Int
        let kept: Int?

        var testDescription: String { "\(now): \(report), \(held) held" }
    }

    @Test func `a stall frees half of the cache, at most once in some seconds, and a small rest completely`()
    {
        let steps = [
            Step(now: 100, report: .stall, held: 64 * Self.megabyte, kept: 32 * Self.megabyte),
            Step(now: 100, report: .stall, held: 32 * Self.megabyte, kept: nil),
            Step(now: 104, report: .average(9000), held: 32 * Self.megabyte, kept: nil),
            Step(now: 105, report: .stall, held: 32 * Self.megabyte, kept: 16 * Self.megabyte),
            Step(now: 110, report: .average(749), held: 16 * Self.megabyte, kept: nil),
            Step(now: 110, report: .average(750), held: 16 * Self.megabyte, kept: 8 * Self.megabyte),
            Step(now: 115, report: .stall, held: 2 * Self.megabyte, kept: Self.megabyte),
            Step(now: 120, report: .stall, held: 2 * Self.megabyte - 1, kept: 0),
            // Nothing was freed, so that the next relief need not wait.
            Step(now: 125, report: .stall, held: 0, kept: nil),
            Step(now: 126, report: .stall, held: 3, kept: 0),
        ]
        var relief = PressureRelief(secondsBetween: 5)
        for step in steps {
            #expect(
                relief.bytesToKeep(of: step.held, after: step.report, now: step.now) == step.kept, "\(step)")
        }
    }
}
