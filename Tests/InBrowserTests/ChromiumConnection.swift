import Browser
import Glibc
import Web

/// A DevTools connection over a socket: JSON messages, each followed by a NUL byte.
///
/// It has no thread. A caller that waits for a reply or a condition reads the messages.
final class ChromiumConnection {
    /// Called for each message that is not a reply, with its session.
    var onEvent: (_ method: String, _ parameters: JSONValue?, _ session: String?) -> Void = { _, _, _ in }

    private let process: BrowserProcess
    private var received: [UInt8] = []
    private var lastNumber = 0
    private var answers: [Int: JSONValue] = [:]
    private var awaited: Set<Int> = []
    /// The maximum size of a message; a screenshot is one message.
    private static let messageLimit = 256 << 20

    init(_ process: BrowserProcess) {
        self.process = process
    }

    /// Sends a command without waiting for its reply.
    @discardableResult
    func post(
        _ method: String, session: String? = nil, _ parameters: (inout JSONWriter) -> Void = { _ in }
    ) throws(ChromiumError) -> Int {
        lastNumber += 1
        var writer = JSONWriter(.compact)
        writer.object {
            $0.member("id", lastNumber)
            $0.member("method", method)
            $0.memberIfPresent("sessionId", session)
            $0.member("params") { $0.object(parameters) }
        }
        var message = writer.bytes[...]
        message.append(0)
        while !message.isEmpty {
            let sent = message.withUnsafeBytes {
                send(process.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if sent < 0 && errno == EINTR { continue }
            if sent < 0 && errno == EAGAIN {
                var waiting = pollfd(fd: process.descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&waiting, 1, 1000)
                continue
            }
            guard sent > 0 else { throw ChromiumError("sending \(method) to chromium", errno: errno) }
            message = message.dropFirst(sent)
        }
        return lastNumber
    }

    /// Sends a command and waits for its result.
    @discardableResult
    func call(
        _ method: String, session: String? = nil, within limit: Duration = .seconds(120),
        _ parameters: (inout JSONWriter) -> Void = { _ in }
    ) throws(ChromiumError) -> JSONValue {
        let number = try post(method, session: session, parameters)
        awaited.insert(number)
        defer { awaited.remove(number) }
        guard try wait(limit, until: { answers[number] != nil }),
            let answer = answers.removeValue(forKey: number)
        else {
            throw ChromiumError("waiting for the answer to \(method)", "none came within \(limit)")
        }
        if let error = answer["error"] {
            throw ChromiumError(method, error["message"]?.string ?? "it failed")
        }
        guard let result = answer["result"] else { throw ChromiumError(method, "an answer without a result") }
        return result
    }

    /// Reads messages until `condition` is true. Returns false if it was not true within the limit.
    func wait(_ limit: Duration, until condition: () -> Bool) throws(ChromiumError) -> Bool {
        let deadline = ContinuousClock.now + limit
        while !condition() {
            let left = deadline - .now
            guard left > .zero else { return false }
            try receive(within: left)
        }
        return true
    }

    /// Reads the messages that have arrived. Waits for at most the limit if there are none.
    func receive(within limit: Duration) throws(ChromiumError) {
        var waiting = pollfd(fd: process.descriptor, events: Int16(POLLIN), revents: 0)
        let parts = limit.components
        let milliseconds = parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000 + 1
        let ready = poll(&waiting, 1, Int32(clamping: milliseconds))
        if ready == 0 || (ready < 0 && errno == EINTR) { return }
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 18) { buffer, count in
            let result = read(process.descriptor, buffer.baseAddress, buffer.count)
            if result < 0 { failure = errno }
            count = max(result, 0)
        }
        if failure == EINTR || failure == EAGAIN { return }
        guard failure == 0, !bytes.isEmpty else {
            throw ChromiumError(
                "reading from chromium", failure == 0 ? "it has ended" : String(cString: strerror(failure)))
        }
        var rest = bytes[...]
        while let end = rest.firstIndex(of: 0) {
            received += rest[..<end]
            rest = rest[(end + 1)...]
            let message = received
            received = []
            try take(message)
        }
        received += rest
        guard received.count <= Self.messageLimit else {
            throw ChromiumError("reading from chromium", "an endless message")
        }
    }

    private func take(_ bytes: [UInt8]) throws(ChromiumError) {
        let message: JSONValue
        do {
            message = try JSONValue.parse(bytes.span, limits: JSONLimits(byteCount: Self.messageLimit))
        } catch {
            throw ChromiumError("reading a message of chromium", error.description)
        }
        if let number = message["id"]?.int {
            if awaited.contains(number) { answers[number] = message }
        } else if let method = message["method"]?.string {
            onEvent(method, message["params"], message["sessionId"]?.string)
        }
    }
}
