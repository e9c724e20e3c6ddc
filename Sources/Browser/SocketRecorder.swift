internal import Web

/// Records the messages of the sockets and event streams of a page from the network events of its session, as a value.
///
/// The recording ends when the page is read (``stop()``), so that a replay leads to the same content, or when a limit is
/// reached. Its time begins with the first message, since a server may need long for that.
struct SocketRecorder: Sendable {
    private(set) var recording = SocketRecording()
    /// The URLs of connections that the server has not accepted yet, by the identifiers of their requests.
    private var opening: [String: String] = [:]
    /// The indices of connections in the recording, by the identifiers of their requests.
    private var places: [String: Int] = [:]
    /// The time of the first message of a server.
    private var start: Duration?
    private var isStopped = false

    /// The maximum time from the first message of a server on. Later messages are not recorded.
    static let maxTime = Duration.seconds(10)
    /// The maximum number of connections that wait for the server. Further ones are not recorded.
    private static let maxOpening = 100

    /// The events after which a recording without them is not complete.
    private static let messageEvents: Set<String> = [
        "Network.eventSourceMessageReceived", "Network.loadingFinished", "Network.webSocketClosed",
        "Network.webSocketFrameReceived", "Network.webSocketFrameSent",
    ]

    /// Ends the recording.
    mutating func stop() { isStopped = true }

    mutating func take(_ event: Event, now: Duration) {
        guard !isStopped, !recording.isTruncated, let id = event["requestId"]?.string else { return }
        switch event.method {
        case "Network.webSocketCreated":
            begin(id, event["url"]?.string, now)
        case "Network.requestWillBeSent":
            guard event["type"]?.string == "EventSource" else { return }
            begin(id, event["request"]?["url"]?.string, now)
        case "Network.webSocketHandshakeResponseReceived":
            guard event["response"]?["status"]?.int == 101, let url = opening.removeValue(forKey: id) else {
                return
            }
            places[id] = recording.open(.webSocket, url, subprotocol: Self.subprotocol(in: event["response"]))
        case "Network.responseReceived":
            guard let url = opening.removeValue(forKey: id), event["response"]?["status"]?.int == 200 else {
                return
            }
            places[id] = recording.reopenStream(url) ?? recording.open(.eventStream, url)
        default:
            // Other events of a connection, such as received comments of a stream, lose no message.
            guard Self.messageEvents.contains(event.method), let place = places[id], !isOver(now) else {
                return
            }
            takeMessage(event, on: place, now)
        }
    }

    private mutating func begin(_ id: String, _ url: String?, _ now: Duration) {
        guard let url, !isOver(now), opening.count < Self.maxOpening else { return }
        opening[id] = url
    }

    /// Whether the time is over, which ends the recording.
    private mutating func isOver(_ now: Duration) -> Bool {
        guard let start, now - start > Self.maxTime else { return false }
        recording.truncate()
        return true
    }

    private mutating func takeMessage(_ event: Event, on place: Int, _ now: Duration) {
        switch event.method {
        case "Network.webSocketFrameSent":
            if let message = Self.message(event["response"]) { recording.send(message, on: place) }
        case "Network.webSocketFrameReceived":
            if let message = Self.message(event["response"]) { receive(message, on: place, now) }
        case "Network.eventSourceMessageReceived":
            let message = SocketRecording.Message.event(
                name: event["eventName"]?.string ?? "message", id: event["eventId"]?.string ?? "",
                data: event["data"]?.string ?? "")
            receive(message, on: place, now)
        case "Network.webSocketClosed": recording.end(place)
        // The browser connects again after the server has ended a stream, but not after the page has.
        case "Network.loadingFinished": recording.end(place)
        default: return
        }
    }

    private mutating func receive(_ message: SocketRecording.Message, on place: Int, _ now: Duration) {
        start = start ?? now
        recording.receive(message, on: place)
    }

    /// The message in a frame; nil for control frames.
    private static func message(_ frame: JSONValue?) -> SocketRecording.Message? {
        guard let payload = frame?["payloadData"]?.string else { return nil }
        return switch frame?["opcode"]?.int {
        case 1: .text(payload)
        // The browser encodes binary payloads in Base64.
        case 2: .bytes(payload)
        default: nil
        }
    }

    private static func subprotocol(in response: JSONValue?) -> String {
        let fields = response?["headers"]?.members ?? []
        let field = fields.first { HTTPGrammar.matches($0.key, "sec-websocket-protocol") }
        return field?.value.string ?? ""
    }
}
