internal import Check
internal import Crawl
internal import Fetch
internal import HTTPServer
internal import Mirror
internal import Store
internal import Synchronization
internal import System
internal import Web

/// Sends requests to origins for a mirror, on the event loop of one of its threads. Belongs to that thread.
final class LoadLoop: ThreadLoader {
    let waker: FetchWaker
    private let loop: FetchLoop
    private let clock: @Sendable () -> HTTPDate
    private var running: [UInt32: (done: Completion, start: HTTPDate)] = [:]
    private var number: UInt32 = 0

    typealias Completion = @Sendable (LoadOutcome) -> Void

    /// - Parameter clock: dates requests and responses.
    init(_ options: FetchOptions, clock: @escaping @Sendable () -> HTTPDate) throws(FetchFailure) {
        loop = try FetchLoop(options)
        waker = loop.waker
        self.clock = clock
    }

    var descriptor: Int32 { loop.descriptor }
    var timeUntilDue: Duration { loop.patience }

    func load(_ request: LoadRequest, done: @escaping Completion) {
        number &+= 1
        running[number] = (done, clock())
        request.stream?.setWakeHandler { [waker] in waker.wake() }
        loop.start(FetchRequest(request, number: number))
    }

    func turn(isReadable: Bool) { turn(waitingAtMost: isReadable ? .zero : nil) }

    /// - Parameter time: the maximum time to wait. Nil if the caller knows that no socket is readable: handles only
    ///   expired timers.
    func turn(waitingAtMost time: Duration?) {
        do throws(FetchFailure) {
            guard let time else { return conclude(try loop.runDueWork()) }
            conclude(try loop.turn(waitingAtMost: time))
        } catch {
            let pending = running.values
            running = [:]
            for request in pending { request.done(.failure(error.description)) }
        }
    }

    /// Cancels all requests. Their completions are called with a failure.
    func stop() { conclude(loop.cancelAll()) }

    /// Calls the completions of requests that have ended.
    private func conclude(_ results: [FetchResult]) {
        for result in results {
            result.partial?.discard()
            guard let request = running.removeValue(forKey: result.number) else { continue }
            request.done(LoadOutcome(result, start: request.start, end: clock()))
        }
    }
}

/// Sends requests to origins for a mirror like `LoadLoop`, on a thread of its own. May be called from any thread; a lock
/// protects the queue of requests.
final class LoadThread: Sendable {
    private struct LoadQueue {
        var requests: [(LoadRequest, LoadLoop.Completion)] = []
        var isClosed = false
    }

    private let waiting = Mutex(LoadQueue())
    private let waker: FetchWaker
    private let thread = Mutex<NamedThread?>(nil)

    /// - Throws: `LarderError` of kind `.machine` if libcurl or the thread cannot be started.
    init(_ options: FetchOptions, clock: @escaping @Sendable () -> HTTPDate) throws(LarderError) {
        do throws(FetchFailure) {
            let loop = try LoadLoop(options, clock: clock)
            waker = loop.waker
            let transfer = LoopTransfer(loop: loop)
            do throws(SystemError) {
                let started = try NamedThread.start("larder-fetch") { [self] in run(transfer.loop) }
                thread.withLock { $0 = started }
            } catch {
                throw FetchFailure(.machine, error.description)
            }
        } catch {
            throw LarderError(error)
        }
    }

    func load(_ request: LoadRequest, done: @escaping @Sendable (LoadOutcome) -> Void) {
        let isTaken = waiting.withLock { waiting in
            if !waiting.isClosed { waiting.requests.append((request, done)) }
            return !waiting.isClosed
        }
        if isTaken { waker.wake() } else { done(.failure("the server is stopping")) }
    }

    /// Cancels running requests. May be called from any other thread, repeatedly.
    func stop() {
        waiting.withLock { $0.isClosed = true }
        waker.wake()
        thread.withLock { $0 }?.join()
    }

    /// The body of the thread: starts queued requests and runs the loop until it is stopped.
    private func run(_ loop: LoadLoop) {
        while true {
            let (requests, isClosed) = waiting.withLock { waiting in
                defer { waiting.requests = [] }
                return (waiting.requests, waiting.isClosed)
            }
            for (request, done) in requests { loop.load(request, done: done) }
            if isClosed { return loop.stop() }
            loop.turn(waitingAtMost: .seconds(60))
        }
    }

    /// Carries the loop to its thread, the only one that uses it from then on, so the transfer is safe.
    private struct LoopTransfer: @unchecked Sendable {
        let loop: LoadLoop
    }
}

extension FetchRequest {
    fileprivate init(_ request: LoadRequest, number: UInt32) {
        self.init(
            number: number, url: request.url, nearestZone: request.nearestZone, fields: request.fields)
        method = request.method
        body = request.body.isEmpty ? nil : request.body
        isAnonymous = request.isAnonymous
        isServerWide = request.isServerWide
        codings = request.codings
        if let tell = request.interim {
            interim = { status, fields in tell(status, fields.withoutControls) }
        }
        stream = request.stream.map(StreamBridge.init)
    }
}

extension LoadOutcome {
    fileprivate init(_ result: FetchResult, start: HTTPDate, end: HTTPDate) {
        switch result.outcome {
        case .failure(let failure):
            self = result.isStreamedOnly ? .passedOn(failure.description) : .failure(failure.description)
        case .response(let response):
            let fields = response.fields.forClients(isCoded: response.isCoded)
            var flags = result.exchange.map(ResponseFlags.init) ?? []
            if response.isCoded { flags.insert(.isCoded) }
            self = .response(
                LoadedResponse(
                    status: response.status, fields: fields, body: BodyContent(response.body),
                    requestTime: start,
                    responseTime: end, flags: flags, ending: response.ending))
        }
    }
}

/// Adapts a mirror's client to the stream that the fetch loop writes to.
private final class StreamBridge: BodyStream {
    private let stream: any LoadStream

    init(_ stream: any LoadStream) { self.stream = stream }

    func begin(status: Int, fields: HTTPFields, isCoded: Bool, byteCount: Int?) -> Bool {
        stream.begin(status: status, fields: fields.forClients(isCoded: isCoded), byteCount: byteCount)
    }

    var hasRoom: Bool { stream.hasRoom }
    var isGone: Bool { stream.isGone }
    func take(_ bytes: UnsafeRawBufferPointer) { stream.take(bytes) }
    func end(isWhole: Bool) { stream.end(isWhole: isWhole) }
}

extension HTTPFields {
    /// The header fields for clients: without those that describe a content coding that was removed (RFC 9530 section
    /// 2), and without control characters that some clients take for line ends.
    fileprivate func forClients(isCoded: Bool) -> HTTPFields {
        var fields = withoutControls
        guard !isCoded, fields.contains("Content-Encoding") else { return fields }
        for name in ["Content-Length", "Content-Encoding", "Content-Digest", "Content-MD5", "Digest"] {
            fields.remove(name)
        }
        return fields
    }
}
