internal import CCurl
internal import CLinux
internal import Codings
internal import Glibc
internal import System
internal import Web

/// The short way to servers that are asked again and again by plain http: a GET that has nothing particular goes out on a
/// connection that libcurl knows nothing of, and its answer is read by the same `Transfer`. Where a server is, libcurl has
/// found out lately.
///
/// What is odd goes by libcurl: a request before anything of it is sent, and one whose answer is odd while nobody was given
/// anything of that, as a GET may be asked twice (RFC 9110 §9.2.2). So does what has to do with cookies.
///
/// Where a server confirms one thing after the other, what is asked whether it still holds goes out behind others on their
/// connection (RFC 9112 §9.3.2). Not every server keeps the order: there an answer counts only where it confirms by its tag
/// what it is to confirm, or objects, and what is answered otherwise is asked once more, alone. It belongs to the thread of its loop.
final class ShortWay {
    /// What came of a request.
    enum Progress {
        case ended(Transfer, FetchFailure?)
        /// It is to be asked by libcurl.
        case odd(Transfer)
        /// It stood behind another one on a connection that is over, and is to be asked anew.
        case unanswered(Transfer)
    }

    final class Place {
        let origin: String
        var peer: IPAddress
        /// When a name is to be looked up anew.
        var end = Duration.zero
        /// Until then libcurl alone reads its answers.
        var oddEnd = Duration.zero
        /// Until then nothing is asked behind others.
        var singleEnd = Duration.zero
        var lines: [ShortLine] = []
        var idle: [ShortLine] = []
        private var confirmations = 0

        private static let enoughConfirmations = 8

        init(_ origin: String, _ peer: IPAddress) { (self.origin, self.peer) = (origin, peer) }

        func answered(byConfirmation isConfirmation: Bool) {
            confirmations = isConfirmation ? min(confirmations + 1, Self.enoughConfirmations) : 0
        }

        func confirms(_ now: Duration) -> Bool {
            confirmations >= Self.enoughConfirmations && now >= singleEnd
        }
    }

    private let options: FetchOptions
    private let sockets: SocketQueue
    /// Nil where none are taken.
    private let jar: CookieJar?
    /// Of libcurl's connections; nil where those are counted apart.
    private let book: ConnectionBook?
    private let age = Stopwatch()
    private let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 64 * 1024)
    private var places: [String: Place] = [:]
    /// Origins that libcurl has found, and to which no short way leads.
    private var others: Set<String> = []
    private var lines: [Int32: ShortLine] = [:]
    /// Those with requests that go out together, when all that has come was looked at.
    private var unsent: [ShortLine] = []
    private var idleCount = 0
    private var progress: [Progress] = []

    let linesPerHost: Int
    private static let placeTime = Duration.seconds(60)
    private static let oddTime = Duration.seconds(600)
    private static let idleTime = Duration.seconds(60)
    private static let connectTime = Duration.seconds(1)
    private static let sharedTime = Duration.seconds(3)
    private static let mostPlaces = 256
    private static let headByteCount = 16 * 1024
    /// Under way on a connection.
    private static let mostAsked = 6

    /// Nil where libcurl puts something into requests that it alone knows, or is slowed down.
    init?(_ setup: TransferSetup, _ sockets: SocketQueue) {
        let options = setup.options
        guard options.shortWay != .never, setup.receiver == nil, !options.hasSession,
            options.hostFields.isEmpty,
            options.proxies.isEmpty, options.bytesPerSecond == nil
        else { return nil }
        self.options = options
        self.sockets = sockets
        (jar, book) = (setup.cookies, setup.book)
        linesPerHost = book == nil ? options.connectionsPerHost / 2 : options.connectionsPerHost
    }

    deinit {
        buffer.deallocate()
        for line in lines.values { line.end() }
    }

    /// Where libcurl has found a server.
    func note(_ result: FetchResult) {
        guard let exchange = result.exchange, exchange.version != nil else { return }
        guard exchange.security == .plain, exchange.version == .http11, !exchange.usesProxy,
            let peer = exchange.peer, peer.kind != .linkLocal
        else {
            if others.count >= Self.mostPlaces { others.removeAll() }
            others.insert(result.url.origin)
            return
        }
        if places.count >= Self.mostPlaces { places = places.filter { !$0.value.lines.isEmpty } }
        let origin = result.url.origin
        let place = places[origin] ?? Place(origin, peer)
        (place.peer, place.end) = (peer, age.elapsed + Self.placeTime)
        places[origin] = place
    }

    // MARK: - Requests

    /// False where the request is libcurl's.
    ///
    /// - Parameter others: how many requests libcurl has under way to the host.
    func takes(
        _ request: FetchRequest, to origin: String, by transfer: Transfer, beside others: () -> Int
    ) -> Bool {
        let now = age.elapsed
        guard isPlain(request), let place = places[origin], place.oddEnd <= now,
            let message = Message(request, to: origin, options),
            let line = idleLine(place, for: request.nearestZone, now)
                ?? newLine(place, request.url.effectivePort, for: request.nearestZone, now, others)
                ?? busyLine(place, for: request, now)
        else { return false }
        transfer.start(request, on: line, message)
        if line.isConnected, !line.hasUnsent { unsent.append(line) }
        line.ask(transfer, now, message.write)
        return true
    }

    private func isPlain(_ request: FetchRequest) -> Bool {
        request.method == "GET" && request.body == nil && request.resume == nil && request.maxBytes == nil
            && !request.asksWholeServer
            && request.url.scheme == "http" && request.cookies.isEmpty && jar?.isEmpty ?? true
            && (!options.sendsReferrer || request.referrer == nil)
    }

    var hasUnsent: Bool { !unsent.isEmpty }

    func sendAll() {
        for line in unsent where line.isOpen && line.hasUnsent { send(line) }
        unsent.removeAll(keepingCapacity: true)
    }

    private func idleLine(_ place: Place, for nearestZone: NetworkZone, _ now: Duration) -> ShortLine? {
        while let line = place.idle.last {
            guard Self.isAllowed(line.peer, nearestZone) else { return nil }
            place.idle.removeLast()
            idleCount -= 1
            // What it says before it is asked would be taken for the answer.
            if now - line.start < Self.idleTime, line.isSilent { return line }
            drop(line)
        }
        return nil
    }

    private func newLine(
        _ place: Place, _ port: Int, for nearestZone: NetworkZone, _ now: Duration, _ others: () -> Int
    ) -> ShortLine? {
        // What libcurl is going to open counts as well.
        guard now < place.end, place.lines.count < linesPerHost,
            place.lines.count + (book.map { max($0.count(of: place.origin), others()) } ?? 0) < linesPerHost,
            Self.isAllowed(place.peer, nearestZone),
            let line = ShortLine(place, port: UInt16(clamping: port))
        else { return nil }
        guard sockets.watch(other: line.descriptor, line.interest) else {
            line.end()
            return nil
        }
        lines[line.descriptor] = line
        place.lines.append(line)
        return line
    }

    /// One on which it may stand behind others, and waits for the fewest.
    private func busyLine(_ place: Place, for request: FetchRequest, _ now: Duration) -> ShortLine? {
        guard book != nil, place.confirms(now), let tag = request.tagAskedBy else { return nil }
        var (best, fewest): (ShortLine?, Int) = (nil, Self.mostAsked)
        for line in place.lines
        where line.askedCount < fewest && line.mayAskMore && Self.isAllowed(line.peer, request.nearestZone) {
            (best, fewest) = (line, line.askedCount)
        }
        // Where many versions have one tag, it does not tell whose answer comes.
        return best.flatMap { $0.asks(by: tag) ? nil : $0 }
    }

    /// Whether libcurl may have so many requests to the host under way, which costs connections that have nothing to do.
    func makesRoom(at origin: String, _ count: Int) -> Bool {
        guard let book else { return true }
        while let place = places[origin],
            place.lines.count + max(book.count(of: origin), count) > linesPerHost
        {
            guard let line = place.idle.last else { return false }
            forget(idle: line)
            drop(line)
        }
        return true
    }

    /// Whether the next one like it will go the short way, as far as one knows: then libcurl need not keep a connection,
    /// which may be the only one that the server gives.
    func isNext(_ request: FetchRequest, to origin: String) -> Bool {
        isPlain(request)
            && (places[origin].map { $0.oddEnd <= age.elapsed } ?? !others.contains(origin))
    }

    private static func isAllowed(_ peer: IPAddress, _ nearestZone: NetworkZone) -> Bool {
        nearestZone == .thisMachine || NetworkGuard(nearestZone).refusal(of: peer) == nil
    }

    // MARK: - Events

    /// What came since the last time, in its order.
    func takeProgress() -> [Progress] {
        guard !progress.isEmpty else { return [] }
        defer { progress = [] }
        return progress
    }

    func turn(_ socket: Int32, _ flags: UInt32) {
        guard let line = lines[socket] else { return }
        // Nobody has asked: it has ended, or says what would be taken for an answer.
        guard let transfer = line.transfer else {
            forget(idle: line)
            return drop(line)
        }
        guard transfer.isSent || flags & EPOLLIN.rawValue == 0 else { return cut(line, isEnd: false) }
        if line.hasUnsent {
            if !line.isConnected, !line.connect() { return cut(line, isEnd: false) }
            send(line)
        }
        if line.isOpen, flags & ~EPOLLOUT.rawValue != 0 { receive(line) }
    }

    /// Who takes what comes takes more.
    func goOn(_ line: ShortLine) {
        watch(line)
        let kept = line.received
        line.received = []
        kept.withUnsafeBufferPointer { takeBody($0, line) }
    }

    /// Gives up the hope for a connection, or for what stands behind others on it, when it is time to. Whether it was.
    func gaveUp(_ line: ShortLine) -> Bool {
        let now = age.elapsed
        if !line.isConnected {
            guard now - line.start > Self.connectTime else { return false }
            cut(line, isEnd: false)
            return true
        }
        guard line.isShared, let transfer = line.transfer, transfer.answer.status < 200,
            now - transfer.answer.start > Self.sharedTime
        else { return false }
        askSingly(line.place)
        leave(line, transfer)
        return true
    }

    /// What comes may be another one's answer, or is for libcurl to read.
    private func leave(_ line: ShortLine, _ transfer: Transfer) {
        drop(line, for: transfer)
        progress.append(.odd(transfer))
    }

    /// What it was asked by this transfer is of no use any more.
    func drop(_ line: ShortLine, for transfer: Transfer? = nil) {
        guard lines.removeValue(forKey: line.descriptor) != nil else { return }
        line.place.lines.removeAll { $0 === line }
        for other in line.transfers where other !== transfer { progress.append(.unanswered(other)) }
        line.end()
    }

    private func forget(idle line: ShortLine) {
        line.place.idle.removeAll { $0 === line }
        idleCount -= 1
    }

    private func watch(_ line: ShortLine) {
        let wanted = EPOLLIN.rawValue | (line.hasUnsent ? EPOLLOUT.rawValue : 0)
        guard wanted != line.interest else { return }
        line.interest = wanted
        _ = sockets.watch(other: line.descriptor, wanted)
    }

    private func send(_ line: ShortLine) {
        guard line.send() else { return cut(line, isEnd: false) }
        watch(line)
    }

    private func receive(_ line: ShortLine) {
        let count = recv(line.descriptor, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else {
            if count < 0, errno == EAGAIN || errno == EINTR { return }
            return cut(line, isEnd: count == 0)
        }
        let bytes = UnsafeBufferPointer(rebasing: buffer[..<count])
        guard case .head = line.reading else { return takeBody(bytes, line) }
        guard !line.received.isEmpty else { return takeHead(bytes, line) }
        let received = line.received + bytes
        line.received = []
        received.withUnsafeBufferPointer { takeHead($0, line) }
    }

    /// The connection is over.
    private func cut(_ line: ShortLine, isEnd: Bool) {
        guard let transfer = line.transfer else { return }
        // Servers that cannot be asked so tell it like this.
        if line.askedCount > 1 { askSingly(line.place) }
        drop(line, for: transfer)
        switch line.reading {
        case .rest where isEnd: progress.append(.ended(transfer, nil))
        case .head where !line.isConnected:
            line.place.end = .zero
            progress.append(.odd(transfer))
        // A server may end what it has kept open for a while (RFC 9112 §9.3.1).
        case .head where line.isReused && line.received.isEmpty && transfer.head.byteCount == 0:
            progress.append(.odd(transfer))
        case .head:
            progress.append(
                .ended(transfer, FetchFailure(.broken, "the connection ended before the response")))
        case .body, .rest:
            progress.append(
                .ended(transfer, FetchFailure(.broken, "the connection ended before the body was complete")))
        }
    }

    // MARK: - Answers

    private func takeHead(_ bytes: UnsafeBufferPointer<UInt8>, _ line: ShortLine) {
        guard let transfer = line.transfer else { return }
        var rest = bytes
        while true {
            switch AnswerHead.parse(rest) {
            case .incomplete where rest.count <= Self.headByteCount:
                line.received = Array(rest)
                return
            case .incomplete, .odd: return odd(line)
            case .head(let head) where head.setsCookie && jar != nil: return odd(line)
            case .head(let head):
                let isConfirmation = line.isConfirmed(by: head, in: rest)
                if !head.isInterim { line.place.answered(byConfirmation: isConfirmation) }
                guard !line.isShared || isConfirmation || head.isInterim || head.isObjection else {
                    if head.status == 304 { askSingly(line.place) }
                    return leave(line, transfer)
                }
                line.begin(head, at: age.elapsed)
                let whole = UnsafeBufferPointer(rebasing: rest[..<head.end])
                guard transfer.take(whole: UnsafeRawBufferPointer(whole)) else { return ended(line) }
                rest = UnsafeBufferPointer(rebasing: rest[head.end...])
                if head.isInterim { continue }
                line.reading =
                    head.body.map {
                        .body(BodyReader($0, bodyLimit: options.maxBody, aroundLimit: options.maxHeader))
                    } ?? .rest
                return takeBody(rest, line)
            }
        }
    }

    private func takeBody(_ bytes: UnsafeBufferPointer<UInt8>, _ line: ShortLine) {
        guard let transfer = line.transfer else { return }
        guard transfer.mayTake() else {
            line.received = Array(bytes)
            // A connection that is over would be told of again and again.
            line.interest = 0
            sockets.forget(other: line.descriptor)
            return
        }
        guard case .body(var reader) = line.reading else {
            transfer.answer.receivedByteCount += bytes.count
            let isTaken = bytes.isEmpty || transfer.take(body: UnsafeRawBufferPointer(bytes))
            return isTaken ? () : ended(line)
        }
        var (position, content): (Int, [UInt8]) = (0, [])
        let progress = reader.read(bytes, from: &position, into: &content)
        line.reading = .body(reader)
        transfer.answer.receivedByteCount += position
        if !content.isEmpty, !content.withUnsafeBytes(transfer.take(body:)) { return ended(line) }
        switch progress {
        case .incomplete: break
        case .complete: ended(line, before: UnsafeBufferPointer(rebasing: bytes[position...]))
        case .refused where transfer.isStreamed:
            ended(line, FetchFailure(.nonsense, "the body's chunks are invalid"))
        case .refused: odd(line)
        }
    }

    /// The answer is for libcurl to read, and those that follow, too.
    private func odd(_ line: ShortLine) {
        guard let transfer = line.transfer else { return }
        line.place.oddEnd = age.elapsed + Self.oddTime
        leave(line, transfer)
    }

    /// - Parameter rest: what has come behind a whole answer.
    private func ended(
        _ line: ShortLine, _ failure: FetchFailure? = nil, before rest: UnsafeBufferPointer<UInt8>? = nil
    ) {
        guard let transfer = line.transfer else { return }
        let now = age.elapsed
        transfer.answer.done = now - transfer.answer.start
        transfer.answer.mayStandBehind = book != nil && line.place.confirms(now)
        if let rest, line.askedCount == 1, transfer.contentLength >= 0 {
            transfer.noteBytesBeyondLength(rest.count)
        }
        progress.append(.ended(transfer, failure))
        guard let rest, !line.isLast, line.askedCount > 1 || rest.isEmpty && !line.hasUnsent else {
            if line.askedCount > 1, line.isShortLived { askSingly(line.place) }
            return drop(line, for: transfer)
        }
        line.goOn(now)
        guard let next = line.transfer else {
            guard idleCount < options.keptConnections else { return drop(line) }
            line.place.idle.append(line)
            idleCount += 1
            return
        }
        guard !rest.isEmpty else { return }
        if next.isSent { return takeHead(rest, line) }
        askSingly(line.place)
        drop(line)
    }

    /// Nothing stands behind others there for a while.
    private func askSingly(_ place: Place) { place.singleEnd = age.elapsed + Self.oddTime }

    /// A request as it goes out.
    struct Message {
        /// Those fields that are no secret.
        let openFields: HTTPFields
        let usesCredentials: Bool
        private let fields: HTTPFields
        private let target: Substring.UTF8View
        private let origin: String
        private let codings: String?
        private let userAgent: String

        private static let secret: FieldNames = ["authorization", "cookie", "proxy-authorization"]

        /// Nil for what libcurl may send in a way of its own, or refuse.
        init?(_ request: FetchRequest, to origin: String, _ options: FetchOptions) {
            let href = request.url.withoutFragment.href
            target = href[...].utf8.dropFirst(origin.utf8.count)
            guard href.utf8.count <= options.maxURL, target.allSatisfy({ (0x21...0x7E).contains($0) }),
                !request.fields.contains("Host"), request.fields.list.allSatisfy({ $0.isSendable })
            else { return nil }
            openFields = request.fields.removing(Self.secret)
            fields = request.isAnonymous ? openFields : request.fields
            usesCredentials = openFields.list.count < fields.list.count
            (self.origin, codings, userAgent) = (origin, request.codings, options.userAgent)
        }

        func write(to bytes: inout [UInt8]) {
            func add(_ name: String, _ value: String) {
                bytes += name.utf8
                bytes += ": ".utf8
                HTTPGrammar.append(value, to: &bytes)
                bytes += "\r\n".utf8
            }
            bytes += "GET ".utf8
            bytes += target
            bytes += " HTTP/1.1\r\nHost: ".utf8
            bytes += origin.utf8.dropFirst("http://".utf8.count)
            bytes += "\r\n".utf8
            if codings == nil {
                if !fields.contains("User-Agent") { add("User-Agent", userAgent) }
                if !fields.contains("Accept") { add("Accept", "*/*") }
            }
            for field in fields.list where !Transfer.framing.contains(field.name) {
                add(field.name, field.value)
            }
            if !fields.contains("Accept-Encoding") {
                add("Accept-Encoding", codings.map(ContentCoding.shared) ?? ContentCoding.accepted)
            }
            bytes += "\r\n".utf8
        }
    }
}
