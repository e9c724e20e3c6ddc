/// What threads leave for another one, in the order in which it came. Any thread may put and take.
package final class Inbox<Message: Sendable>: Sendable {
    private struct State {
        /// Nil where one has been taken, so that it goes when its taker is done with it.
        var messages: [Message?] = []
        var head = 0
        var isClosed = false
    }

    private let state = Monitor(State())
    private let wake: @Sendable () -> Void

    /// - Parameter wake: called when there is something again after all was taken, by whoever puts it.
    package init(wake: @escaping @Sendable () -> Void = {}) {
        self.wake = wake
    }

    /// False when the inbox is closed: then nothing is put into it.
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

    /// Waits for the next one; nil when the inbox is closed and nothing is left.
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

    /// The next one, waited for so long at most; nil when there is none, or the inbox is closed and empty.
    package func next(atMost time: Duration) -> Message? {
        let found: Message?? = state.wait(atMost: time) { state -> Message?? in
            guard state.head < state.messages.count else { return state.isClosed ? .some(nil) : nil }
            defer { state.head += 1 }
            return .some(state.messages[state.head].take())
        }
        return found ?? nil
    }

    /// All that is there, without waiting.
    package func takeAll() -> [Message] {
        state.change { state in
            guard state.head < state.messages.count else { return [] }
            defer {
                state.messages = []
                state.head = 0
            }
            // No key path: it would be made anew each time.
            return state.messages[state.head...].compactMap { $0 }
        }
    }

    /// Nothing more is put from here on; what is there is still taken.
    package func close() {
        state.change { $0.isClosed = true }
    }
}
