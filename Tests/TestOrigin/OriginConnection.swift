import Glibc

/// A connection of one client. One thread serves it until either side closes it.
final class OriginConnection: Sendable {
    private let server: OriginServer
    private let socket: Socket
    private let number: Int
    private static let headLimit = 1 << 20

    init(server: OriginServer, socket: Socket, number: Int) {
        self.server = server
        self.socket = socket
        self.number = number
    }

    func run() {
        var pending: [UInt8] = []
        requests: while let request = nextRequest(&pending) {
            guard let answer = server.answer(to: request)?.applied(to: request) else { return }
            guard pause(answer.headDelay) else { return }
            switch send(answer, to: request) {
            case .whole:
                if !request.keepsAlive || answer.closesAfterwards { break requests }
            case .last:
                break requests
            case .reset:
                socket.resetOnClose()
                return
            }
        }
        // Closing at once would send a reset if received bytes are unread. So wait until the client closes
        // its side, or the origin stops.
        socket.shutDown(Int(SHUT_WR))
        var rest: [UInt8] = []
        while case .bytes = socket.receive(into: &rest) { rest = [] }
        socket.shutDown()
    }

    // MARK: - Reading

    private func nextRequest(_ pending: inout [UInt8]) -> OriginRequest? {
        var searched = 0
        while true {
            if let end = endOfHead(pending, from: searched) {
                guard var request = OriginRequest(head: pending[..<end.head], connection: number) else {
                    refuse(400)
                    return nil
                }
                pending.removeFirst(end.next)
                guard let length = bodyLength(of: request) else { return nil }
                if length > 0 && request["Expect"]?.lowercased() == "100-continue" {
                    guard socket.send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)[...]) else { return nil }
                }
                while pending.count < length {
                    guard case .bytes = socket.receive(into: &pending) else { return nil }
                }
                request.body = Array(pending[..<length])
                pending.removeFirst(length)
                return request
            }
            searched = max(0, pending.count - 3)
            guard pending.count < Self.headLimit, case .bytes = socket.receive(into: &pending) else {
                return nil
            }
        }
    }

    private func bodyLength(of request: OriginRequest) -> Int? {
        if request["Transfer-Encoding"] != nil {
            refuse(411)
            return nil
        }
        guard let text = request["Content-Length"] else { return 0 }
        guard let length = Int(text), length >= 0 else {
            refuse(400)
            return nil
        }
        return length
    }

    private func refuse(_ status: Int) {
        let answer = OriginAnswer.failure(status).closing()
        _ = socket.send(head(of: answer, closes: true)) && socket.send(answer.body[...])
    }

    // MARK: - Sending

    /// Whether the connection is kept, closed or reset after a response.
    private enum Sent { case whole, last, reset }

    private func send(_ answer: OriginAnswer, to request: OriginRequest) -> Sent {
        switch answer.fault {
        case .closeBeforeHead:
            return .last
        case .resetBeforeHead:
            return .reset
        case .garbage(let bytes):
            _ = socket.send(bytes[...])
            return .last
        case .closeAfter, .resetAfter, .brokenChunkAfter, .endless, nil:
            break
        }
        for (status, fields) in answer.interim {
            let lines = fields.map { "\($0): \($1)\r\n" }.joined()
            guard socket.send(Array("HTTP/1.1 \(status) \(reason(for: status))\r\n\(lines)\r\n".utf8)[...])
            else {
                return .last
            }
        }
        guard socket.send(head(of: answer, closes: !request.keepsAlive || answer.closesAfterwards)) else {
            return .last
        }
        if request.method == "HEAD" || answer.hasNoBody { return .whole }
        switch answer.fault {
        case .closeAfter(let count):
            _ = sendBody(answer.body.prefix(count), answer)
            return .last
        case .resetAfter(let count):
            _ = sendBody(answer.body.prefix(count), answer)
            return .reset
        case .brokenChunkAfter(let count):
            _ = sendBody(answer.body.prefix(count), answer) && socket.send(Array("no number\r\n".utf8)[...])
            return .last
        case .endless:
            let round = Array(
                repeatElement(answer.body, count: 1 + 65_536 / max(answer.body.count, 1)).joined())
            while !round.isEmpty && sendBody(round[...], answer) {}
            return .last
        case .closeBeforeHead, .resetBeforeHead, .garbage, nil:
            guard sendBody(answer.body[...], answer) else { return .last }
        }
        switch answer.framing {
        case .length: return .whole
        case .chunked: return socket.send(Array("0\r\n\r\n".utf8)[...]) ? .whole : .last
        case .untilClose: return .last
        }
    }

    private func sendBody(_ body: ArraySlice<UInt8>, _ answer: OriginAnswer) -> Bool {
        var rest = body
        let chunkSize = answer.chunkSize
        let size = min(answer.drip?.pieceSize ?? .max, chunkSize ?? .max)
        while !rest.isEmpty {
            let piece = rest.prefix(size)
            rest = rest.dropFirst(size)
            if chunkSize != nil {
                let framed = Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + [0x0d, 0x0a]
                guard socket.send(framed[...]) else { return false }
            } else {
                guard socket.send(piece) else { return false }
            }
            if let drip = answer.drip, !pause(drip.pause) { return false }
        }
        return true
    }

    private func head(of answer: OriginAnswer, closes: Bool) -> ArraySlice<UInt8> {
        var head = "HTTP/1.1 \(answer.status) \(reason(for: answer.status))\r\n"
        for (name, value) in answer.fields { head += "\(name): \(value)\r\n" }
        if answer.chunkSize != nil {
            head += "Transfer-Encoding: chunked\r\n"
        } else if case .length(let claimed) = answer.framing, !answer.hasNoBody {
            head += "Content-Length: \(claimed ?? answer.body.count)\r\n"
        }
        var isUntilClose = false
        if case .untilClose = answer.framing { isUntilClose = true }
        if closes || isUntilClose { head += "Connection: close\r\n" }
        return Array((head + "\r\n").utf8)[...]
    }

    /// Waits. Returns false at once if the origin stops meanwhile.
    private func pause(_ duration: Duration) -> Bool {
        duration == .zero || !server.state.wait(duration) { $0.isStopping }
    }
}

extension OriginAnswer {
    /// RFC 9110: 1xx, 204 and 304 have no body and so no length of one.
    fileprivate var hasNoBody: Bool { status == 204 || status == 304 || status < 200 }

    fileprivate var chunkSize: Int? {
        if case .brokenChunkAfter? = fault { return 4096 }
        if case .chunked(let size) = framing { return size }
        return nil
    }
}
