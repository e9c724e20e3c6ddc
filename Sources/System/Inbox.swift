/// A queue of messages to a thread. Any thread may put and take messages.
///
/// A thread that only reads messages waits in `next()`. A thread that also waits for descriptors passes a `wake`
/// closure, which for example writes to an `eventfd`, and then calls `takeAll()`.
package final class Inbox<Message: Sendable>: Sendable {
    /// The state under the lock.
    private struct State {
        /// The messages from `head` on are in the queue. Those before it are nil, so that the queue does not
        /// retain them.
        var messages: [Message?] = []
        var head = 0
        var isClosed = false
    }

    private let state = Monitor(State())
    private let wake: @Sendable () -> Void

    /// - Parameter wake: called by the thread that puts a message into the empty queue, outside the lock.
    package init(wake: @escaping @Sendable () -> Void = {}) {
        self.wake = wake
    }

    /// Appends a message. Returns false, and does nothing, if the inbox is closed.
    @discardableResult
    package func put(_ message: Message) -> Bool {
        let (isPut, isFirst) = state.change { state in
            guard !state.isClosed else { return (false, false) }
            state.messages.append(message)
            return (true, state.messages.count - state.head == 1)
        }
        if isFirst { wake() }
        return isPut
    }

    /// Waits for a message and returns it; nil if the inbox is closed and empty.
    package func next() -> Message? {
        state.wait { state in
            guard state.head < state.messages.count else {
                state.messages.removeAll(keepingCapacity: true)
                state.head = 0
                return state.isClosed ? .some(nil) : nil
            }
            defer { state.head += 1 }
            return .some(state.messages[state.head].take())
        }
    }

    /// Waits at most `time` for a message and returns it; nil if there is none, or if the inbox is closed and
    /// empty.
    package func next(atMost time: Duration) -> Message? {
        // The outer optional is nil after a timeout; the inner one is nil if the inbox is closed and empty.
        let message: Message?? = state.wait(atMost: time) { state -> Message?? in
            guard state.head < state.messages.count else { return state.isClosed ? .some(nil) : nil }
            defer { state.head += 1 }
            return .some(state.messages[state.head].take())
        }
        return message ?? nil
    }

    /// Returns all messages in the queue, without waiting.
    package func takeAll() -> [Message] {
        state.change { state in
            defer {
                state.messages = []
                state.head = 0
            }
            return state.messages[state.head...].compactMap { $0 }
        }
    }

    /// Closes the inbox: no more messages are accepted, but those in the queue can still be taken.
    package func close() {
        state.change { $0.isClosed = true }
    }
}
