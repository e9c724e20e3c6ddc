package import Web

/// The messages of a page's WebSockets and event streams in its first seconds, arranged for a replay to the same page.
///
/// A replay does not interpret messages. It counts the messages of the client: the first ``Turn`` of a connection has the
/// messages that the server sent before the client's first one, and the turn with index n those that followed the client's
/// n-th message.
///
/// `SocketReplay` (Mirror) reads the JSON form in a page.
///
/// The recording ends at its limits (``isTruncated``), so that a page with endless messages costs little.
package struct SocketRecording: Sendable, Equatable {
    package enum Kind: String, Sendable {
        case webSocket = "socket"
        /// Server-sent events.
        case eventStream = "events"
    }

    package enum Message: Sendable, Equatable {
        case text(String)
        /// A binary message, encoded in Base64.
        case bytes(String)
        /// A server-sent event.
        case event(name: String, id: String, data: String)

        /// The size of the message in the recording.
        var byteCount: Int {
            switch self {
            case .text(let text), .bytes(let text): text.utf8.count
            case .event(let name, let id, let data): name.utf8.count + id.utf8.count + data.utf8.count
            }
        }
    }

    /// A message of the client, and those of the server up to the client's next one.
    package struct Turn: Sendable, Equatable {
        /// Nil for the first turn of a connection.
        package var sent: Message?
        package var received: [Message] = []

        package init(sent: Message? = nil, received: [Message] = []) {
            (self.sent, self.received) = (sent, received)
        }
    }

    package struct Connection: Sendable, Equatable {
        package let kind: Kind
        package let url: String
        /// The subprotocol that the server chose; empty if none.
        package let subprotocol: String
        package fileprivate(set) var turns = [Turn()]
        /// Whether the connection ended after the last message.
        package fileprivate(set) var hasEnded = false

        fileprivate init(_ kind: Kind, _ url: String, _ subprotocol: String) {
            (self.kind, self.url, self.subprotocol) = (kind, url, subprotocol)
        }
    }

    /// The connections in the order in which they were opened.
    package private(set) var connections: [Connection] = []
    /// Whether messages or connections are left out, because a limit was reached.
    package private(set) var isTruncated = false
    private var byteCount = 0
    private var messageCount = 0

    package init() {}

    /// The maximum total size of all messages of a page.
    package static let maxBytes = 1 << 20
    /// The maximum number of messages of a page.
    static let maxMessages = 10_000
    /// The maximum number of connections of a page.
    static let maxConnections = 16

    /// Whether no server has sent a message.
    package var isEmpty: Bool { connections.allSatisfy { $0.turns.allSatisfy(\.received.isEmpty) } }

    /// Adds a connection that the server has accepted, and returns its index; nil if there are too many.
    package mutating func open(_ kind: Kind, _ url: String, subprotocol: String = "") -> Int? {
        guard !isTruncated, connections.count < Self.maxConnections else {
            isTruncated = true
            return nil
        }
        connections.append(Connection(kind, url, subprotocol))
        return connections.count - 1
    }

    /// Adds a message of the client, which begins a new turn.
    package mutating func send(_ message: Message, on connection: Int) {
        guard admit(message, on: connection) else { return }
        connections[connection].turns.append(Turn(sent: message))
    }

    /// Adds a message of the server.
    package mutating func receive(_ message: Message, on connection: Int) {
        guard admit(message, on: connection) else { return }
        connections[connection].turns[connections[connection].turns.count - 1].received.append(message)
    }

    /// Notes that a connection ended. Without its last messages, the end would come too early in a replay.
    package mutating func end(_ connection: Int) {
        guard !isTruncated, connections.indices.contains(connection) else { return }
        connections[connection].hasEnded = true
    }

    /// Reopens the last event stream of this URL that the server has ended, as browsers do, and returns its index.
    package mutating func reopenStream(_ url: String) -> Int? {
        let last = connections.lastIndex { $0.kind == .eventStream && $0.url == url && $0.hasEnded }
        if let last { connections[last].hasEnded = false }
        return last
    }

    /// Ends the recording, because its time is over.
    package mutating func truncate() { isTruncated = true }

    private mutating func admit(_ message: Message, on connection: Int) -> Bool {
        guard !isTruncated, connections.indices.contains(connection) else { return false }
        byteCount += message.byteCount
        messageCount += 1
        isTruncated = byteCount > Self.maxBytes || messageCount > Self.maxMessages
        return !isTruncated
    }
}

extension SocketRecording: JSONObject {
    package var members: JSONMembers { ["connections": connections] }
}

extension SocketRecording.Connection: JSONObject {
    package var members: JSONMembers {
        [
            "kind": kind.rawValue, "url": url, "protocol": subprotocol, "turns": turns, "hasEnded": hasEnded,
        ]
    }
}

extension SocketRecording.Turn: JSONObject {
    package var members: JSONMembers { ["sent": IfAny(sent), "received": received] }
}

extension SocketRecording.Message: JSONObject {
    package var members: JSONMembers {
        switch self {
        case .text(let text): ["text": text]
        case .bytes(let base64): ["bytes": base64]
        case .event(let name, let id, let data): ["name": name, "id": id, "data": data]
        }
    }
}
