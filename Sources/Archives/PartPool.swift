internal import System

/// Makes parts on several threads, each with its own tool, and returns them in the order in which they were
/// added. All methods must be called on one thread.
final class PartPool<Tool, Part: Sendable> {
    private struct Job: Sendable {
        let slot: Monitor<Part?>
        let make: @Sendable (Tool) -> Part
    }

    private let jobs = Inbox<Job>()
    private let threads: [NamedThread]
    private var waiting: [(slot: Monitor<Part?>, byteCount: Int)] = []
    private var head = 0
    private var waitingByteCount = 0

    /// The maximum number of bytes that waiting parts are made from. Above it, the pool is full.
    private static var mostBytes: Int { 16 << 20 }
    private static var most: Int { 256 }

    /// - Parameters:
    ///   - name: The prefix of the thread names. A number follows it.
    ///   - makeTool: Creates the tool of a thread, on that thread. The caller must have checked that this
    ///     succeeds.
    init(
        threads count: Int, named name: String, _ makeTool: @escaping @Sendable () -> Tool?
    ) throws(ArchiveError) {
        let jobs = jobs
        var threads: [NamedThread] = []
        do throws(SystemError) {
            for number in 1...max(1, count) {
                threads.append(
                    try NamedThread.start("\(name)-\(number)") {
                        guard let tool = makeTool() else { return }
                        while let job = jobs.next() {
                            let part = job.make(tool)
                            job.slot.change { $0 = part }
                        }
                    })
            }
        } catch {
            jobs.close()
            throw ArchiveError(error)
        }
        self.threads = threads
    }

    deinit {
        jobs.close()
        for thread in threads { thread.join() }
    }

    /// Whether parts should be taken before more are added.
    var isFull: Bool { waiting.count - head >= Self.most || waitingByteCount > Self.mostBytes }

    var isEmpty: Bool { waiting.count == head }

    func add(_ byteCount: Int, _ make: @escaping @Sendable (Tool) -> Part) {
        let slot = Monitor<Part?>(nil)
        waiting.append((slot, byteCount))
        waitingByteCount += byteCount
        jobs.put(Job(slot: slot, make: make))
    }

    /// Returns the oldest part, after waiting until it is made. Returns nil if no part is left.
    func next() -> Part? {
        guard head < waiting.count else { return nil }
        let (slot, byteCount) = waiting[head]
        head += 1
        waitingByteCount -= byteCount
        if head > Self.most {
            waiting.removeFirst(head)
            head = 0
        }
        let part = slot.wait { $0 }
        // The slot stays in `waiting` for a while and must not keep the part in memory.
        slot.change { $0 = nil }
        return part
    }
}
