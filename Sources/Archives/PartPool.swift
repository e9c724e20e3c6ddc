internal import System

/// Makes the parts of something on several threads, each with a tool of its own, and gives them in the order
/// in which they were asked for. It belongs to the thread that puts them together.
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

    /// Of what waits, and of what its parts are made from.
    private static var mostBytes: Int { 16 << 20 }
    private static var most: Int { 256 }

    /// - Parameters:
    ///   - name: of the threads, which get numbers behind it.
    ///   - makeTool: called on each thread; what it cannot make has been made once before.
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

    /// There should be no more of them before some are taken.
    var isFull: Bool { waiting.count - head >= Self.most || waitingByteCount > Self.mostBytes }

    var isEmpty: Bool { waiting.count == head }

    func add(_ byteCount: Int, _ make: @escaping @Sendable (Tool) -> Part) {
        let slot = Monitor<Part?>(nil)
        waiting.append((slot, byteCount))
        waitingByteCount += byteCount
        jobs.put(Job(slot: slot, make: make))
    }

    /// The oldest; waits until it is made. Nil when none is left.
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
        // It stands in line for a while yet, and must not hold what it has given.
        slot.change { $0 = nil }
        return part
    }
}
