internal import CCurl
internal import CLinux
internal import Glibc
internal import System
internal import Web

/// What has become of a request that went the short way.
struct ShortAnswer {
    var status = 0
    /// Below zero where nobody told it.
    var contentLength = -1
    /// Of the body as it comes.
    var receivedByteCount = 0
    /// Its connection has had an answer before.
    var isReused = false
    /// When it was asked, or the answer before it was whole.
    var start = Duration.zero
    var firstByte = Duration.zero
    var done = Duration.zero
    /// What is like it may stand behind others.
    var mayStandBehind = false
}

/// A connection of the short way, with what is under way on it.
final class ShortLine {
    enum Reading {
        case head
        case body(BodyReader)
        /// All until the connection ends.
        case rest
    }

    /// What is asked there.
    private struct Question {
        let transfer: Transfer
        /// Where it ends among all that goes out.
        let end: Int
        /// By which it asks; nil where it does not.
        let tag: String?
        /// It was asked before the answer to another one had come, or another one before its own.
        var isShared: Bool
    }

    let descriptor: Int32
    let peer: IPAddress
    let place: ShortWay.Place
    private(set) var isConnected = false
    /// It has had an answer before.
    private(set) var isReused = false
    /// In the order of their answers.
    private var questions: [Question] = []
    private var outgoing: [UInt8] = []
    /// How much of that, and of all that there ever was, has gone out.
    private var (gone, sentByteCount) = (0, 0)
    private var answerCount = 0
    /// A head that is not whole, or what nobody takes yet.
    var received: [UInt8] = []
    var reading = Reading.head
    /// What the event queue tells of it.
    var interest = EPOLLIN.rawValue | EPOLLOUT.rawValue
    /// The server ends it after this answer.
    private(set) var isLast = false
    /// When it was begun or, idle, since when it has nothing to do.
    private(set) var start = Duration.zero
    private(set) var isOpen = true

    init?(_ place: ShortWay.Place, port: UInt16) {
        guard let descriptor = place.peer.connecting(to: port) else { return nil }
        self.descriptor = descriptor
        (self.place, peer) = (place, place.peer)
    }

    deinit { end() }

    func end() {
        questions = []
        if isOpen { close(descriptor) }
        isOpen = false
    }

    /// Whose answer comes next.
    var transfer: Transfer? { questions.first?.transfer }
    var transfers: [Transfer] { questions.map(\.transfer) }
    var askedCount: Int { questions.count }
    var hasUnsent: Bool { gone < outgoing.count }

    /// Whether another one may stand behind those that are asked there.
    var mayAskMore: Bool {
        isReused && !isLast && !questions.isEmpty && questions.allSatisfy { $0.tag != nil }
    }

    func asks(by tag: String) -> Bool { questions.contains { $0.tag == tag } }

    /// Whether what comes may be another one's answer, of a server that does not keep the order.
    var isShared: Bool { questions.first?.isShared ?? false }

    /// Whether this head says of what it was asked about that it still holds, and names it.
    func isConfirmed(by head: AnswerHead, in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard head.status == 304, let place = head.entityTag,
            let tag = questions.first?.tag
        else { return false }
        let weak = "W/".utf8
        let (held, named) = (tag.utf8[...], bytes[place])
        return (held.starts(with: weak) ? held.dropFirst(2) : held)
            .elementsEqual(named.starts(with: weak) ? named.dropFirst(2) : named)
    }

    /// It has given few answers for one that had to be asked so much again.
    var isShortLived: Bool { answerCount < Self.manyAnswers }

    private static let manyAnswers = 32

    /// Whether it is connected, as it has been told.
    func connect() -> Bool {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        isConnected = getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 && code == 0
        return isConnected
    }

    /// Neither has it ended, nor has it anything to say.
    var isSilent: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) < 0 && errno == EAGAIN
    }

    func ask(_ transfer: Transfer, _ now: Duration, _ write: (inout [UInt8]) -> Void) {
        if questions.isEmpty { start = now }
        transfer.answer.start = now
        transfer.answer.isReused = isReused
        write(&outgoing)
        for index in questions.indices { questions[index].isShared = true }
        questions.append(
            Question(
                transfer: transfer, end: sentByteCount - gone + outgoing.count,
                tag: transfer.request?.tagAskedBy, isShared: !questions.isEmpty))
    }

    /// False when the connection is over.
    func send() -> Bool {
        transfer?.isSent = true
        let count = outgoing.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress.map { $0 + gone }, $0.count - gone, Int32(MSG_NOSIGNAL))
        }
        guard count >= 0 else { return errno == EAGAIN || errno == EINTR }
        gone += count
        sentByteCount += count
        if gone == outgoing.count {
            outgoing.removeAll(keepingCapacity: true)
            gone = 0
        }
        return true
    }

    func begin(_ head: AnswerHead, at now: Duration) {
        guard let transfer else { return }
        transfer.answer.status = head.status
        transfer.answer.contentLength =
            switch head.body {
            case .none?: 0
            case .length(let count)?: count
            case .chunked?, nil: -1
            }
        isLast = head.isLast
        transfer.answer.firstByte = now - transfer.answer.start
    }

    /// The answer that came is whole: the next one follows, if there is one to come.
    func goOn(_ now: Duration) {
        questions.removeFirst()
        answerCount += 1
        (reading, isReused, start) = (.head, true, now)
        guard let next = questions.first else { return }
        next.transfer.isSent = next.end <= sentByteCount
        next.transfer.answer.isReused = true
        next.transfer.answer.start = now
    }
}

extension IPAddress {
    /// A socket on its way there, which does not wait. Nil where there is no way.
    fileprivate func connecting(to port: UInt16) -> Int32? {
        let family = if case .v4 = self { AF_INET } else { AF_INET6 }
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { return nil }
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        guard withSocketAddress(port, { connect(descriptor, $0, $1) }) == 0 || errno == EINPROGRESS else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    private func withSocketAddress(
        _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        switch self {
        case .v4(let value):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = value.bigEndian
            return withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        case .v6(let high, let low):
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            withUnsafeMutableBytes(of: &address.sin6_addr) { bytes in
                bytes.storeBytes(of: high.bigEndian, as: UInt64.self)
                bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            return withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
                }
            }
        }
    }
}
