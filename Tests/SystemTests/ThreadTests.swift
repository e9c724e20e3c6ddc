import Synchronization
import System
import Testing

/// Threads, and the types that pass messages and signals between them.
@Suite struct ThreadTests {
    @Test func `several threads can join the same thread`() throws {
        let isOpen = Monitor(false)
        let ended = Atomic(0)
        let thread = try NamedThread.start("waited-for") {
            isOpen.wait { $0 ? () : nil }
            ended.add(1, ordering: .relaxed)
        }
        let waiters = try (1...3).map { number in
            try NamedThread.start("waiter-\(number)") { thread.join() }
        }
        isOpen.change { $0 = true }
        for waiter in waiters { waiter.join() }
        thread.join()
        #expect(ended.load(ordering: .relaxed) == 1)
    }

    @Test func `a thread without references runs to its end`() throws {
        let outcome = Monitor<Int?>(nil)
        try NamedThread.start("let-go") { outcome.change { $0 = 7 } }
        #expect(outcome.wait { $0 } == 7)
    }

    @Test func `a wait ends after its timeout`() {
        let state = Monitor(0)
        #expect(state.wait(atMost: .milliseconds(1)) { $0 > 0 ? $0 : nil } == nil)
        state.change { $0 = 3 }
        #expect(state.wait(atMost: .zero) { $0 > 0 ? $0 : nil } == 3)
    }

    @Test func `messages arrive in order, and those in the queue remain after the inbox is closed`() throws {
        let inbox = Inbox<Int>()
        let seen = Monitor<[Int]>([])
        let reader = try NamedThread.start("reader") {
            while let number = inbox.next() { seen.change { $0.append(number) } }
        }
        for number in 0..<1000 { #expect(inbox.put(number)) }
        inbox.close()
        #expect(!inbox.put(1000))
        reader.join()
        #expect(seen.change { $0 } == Array(0..<1000))
    }

    @Test func `only a message put into the empty inbox calls the wake closure`() {
        let wakes = Atomic(0)
        let inbox = Inbox<Int>(wake: { wakes.add(1, ordering: .relaxed) })
        for number in 1...3 { inbox.put(number) }
        #expect(wakes.load(ordering: .relaxed) == 1)
        #expect(inbox.takeAll() == [1, 2, 3])
        #expect(inbox.takeAll().isEmpty)
        inbox.put(4)
        #expect(wakes.load(ordering: .relaxed) == 2)
        #expect(inbox.next() == 4)
        inbox.put(5)
        #expect(wakes.load(ordering: .relaxed) == 3)
        #expect(inbox.takeAll() == [5])
    }

    @Test func `a stop signal ends each wait, no matter how often it is given`() throws {
        let stop = try StopSignal()
        #expect(!stop.wait(milliseconds: 0))
        stop.give()
        stop.give()
        #expect(stop.wait(milliseconds: -1))
        #expect(stop.wait(milliseconds: -1))
    }

    @Test func `an interruption wakes tasks and registered wakers, but not removed ones`() async {
        final class Counted: Waker {
            let wakes = Atomic(0)
            func wake() { wakes.add(1, ordering: .relaxed) }
        }
        let interruption = Interruption()
        let (there, gone) = (Counted(), Counted())
        interruption.addWaker(there)
        interruption.addWaker(gone)
        interruption.removeWaker(gone)
        async let first: Void = interruption.waitForRequest()
        async let second: Void = interruption.waitForRequest()
        #expect(!interruption.isRequested)
        interruption.request()
        await first
        await second
        await interruption.waitForRequest()
        #expect(interruption.isRequested)
        #expect(there.wakes.load(ordering: .relaxed) == 1)
        #expect(gone.wakes.load(ordering: .relaxed) == 0)
    }
}
