import Testing
import Web

@testable import Browser

@Suite struct SocketRecorderTests {
    private func take(
        _ recorder: inout SocketRecorder, _ method: String, _ json: String, at now: Duration = .zero
    ) throws {
        let parameters = try JSONValue.parse(Array(json.utf8).span)
        recorder.take(Event(method: "Network." + method, session: "S", parameters: parameters), now: now)
    }

    /// A recorder with an open socket, whose request has the identifier `w`.
    private func withSocket(status: Int = 101) throws -> SocketRecorder {
        var recorder = SocketRecorder()
        try take(&recorder, "webSocketCreated", #"{"requestId":"w","url":"ws://a.test/s"}"#)
        try take(
            &recorder, "webSocketHandshakeResponseReceived",
            #"{"requestId":"w","response":{"status":\#(status),"headers":{"sec-websocket-protocol":"chat"}}}"#
        )
        return recorder
    }

    private func frame(_ payload: String, opcode: Int = 1) -> String {
        #"{"requestId":"w","response":{"opcode":\#(opcode),"payloadData":"\#(payload)"}}"#
    }

    @Test func `texts and bytes of a socket are recorded until it is closed, and control frames are not`()
        throws
    {
        var recorder = try withSocket()
        try take(&recorder, "webSocketFrameReceived", frame("a"))
        try take(&recorder, "webSocketFrameReceived", frame("p", opcode: 9))
        try take(&recorder, "webSocketFrameSent", frame("x"))
        try take(&recorder, "webSocketFrameReceived", frame("AAE=", opcode: 2))
        try take(&recorder, "webSocketClosed", #"{"requestId":"w"}"#)
        let connection = try #require(recorder.recording.connections.first)
        #expect(
            connection.turns == [
                .init(received: [.text("a")]), .init(sent: .text("x"), received: [.bytes("AAE=")]),
            ])
        #expect(connection.url == "ws://a.test/s" && connection.subprotocol == "chat" && connection.hasEnded)
    }

    @Test func `events of a stream are recorded with their names`() throws {
        var recorder = SocketRecorder()
        let request = #"{"requestId":"e","type":"EventSource","request":{"url":"http://a.test/e"}}"#
        try take(&recorder, "requestWillBeSent", request)
        try take(&recorder, "responseReceived", #"{"requestId":"e","response":{"status":200}}"#)
        try take(
            &recorder, "eventSourceMessageReceived",
            #"{"requestId":"e","eventName":"tick","eventId":"7","data":"d"}"#)
        let connection = try #require(recorder.recording.connections.first)
        #expect(connection.kind == .eventStream && connection.url == "http://a.test/e")
        #expect(connection.turns == [.init(received: [.event(name: "tick", id: "7", data: "d")])])
    }

    @Test func `connections that the server refused and other requests are not recorded`() throws {
        var recorder = try withSocket(status: 403)
        try take(&recorder, "webSocketFrameReceived", frame("a"))
        try take(
            &recorder, "requestWillBeSent",
            #"{"requestId":"f","type":"Fetch","request":{"url":"http://a.test/e"}}"#)
        try take(&recorder, "responseReceived", #"{"requestId":"f","response":{"status":200}}"#)
        #expect(recorder.recording.connections.isEmpty)
    }

    @Test func `the time of the recording begins with the first message of the server`() throws {
        var recorder = try withSocket()
        let first = SocketRecorder.maxTime * 3
        try take(&recorder, "webSocketFrameReceived", frame("a"), at: first)
        try take(&recorder, "webSocketFrameReceived", frame("b"), at: first + SocketRecorder.maxTime)
        #expect(!recorder.recording.isTruncated)
        #expect(recorder.recording.connections[0].turns == [.init(received: [.text("a"), .text("b")])])
    }

    @Test func `the recording ends when it is stopped, and after its time`() throws {
        var stopped = try withSocket()
        stopped.stop()
        try take(&stopped, "webSocketFrameReceived", frame("a"))
        #expect(stopped.recording.isEmpty && !stopped.recording.isTruncated)
        var late = try withSocket()
        try take(&late, "webSocketFrameReceived", frame("a"))
        let tooLate = SocketRecorder.maxTime + .milliseconds(1)
        try take(&late, "dataReceived", #"{"requestId":"w"}"#, at: tooLate)
        #expect(!late.recording.isTruncated)
        try take(&late, "webSocketFrameReceived", frame("b"), at: tooLate)
        #expect(late.recording.isTruncated)
        #expect(late.recording.connections[0].turns == [.init(received: [.text("a")])])
    }
}
