import Browser
import Testing
import Web

@Suite struct SocketRecordingTests {
    private typealias Turn = SocketRecording.Turn

    /// Makes a recording of one socket from words: `<text` was received and `>text` was sent.
    private func recording(_ words: String) throws -> SocketRecording {
        var recording = SocketRecording()
        let place = recording.open(.webSocket, "ws://a.test/") ?? -1
        for word in words.split(separator: " ") {
            let message = SocketRecording.Message.text(String(word.dropFirst()))
            if word.hasPrefix("<") { recording.receive(message, on: place) }
            if word.hasPrefix(">") { recording.send(message, on: place) }
        }
        return recording
    }

    @Test(arguments: [
        ("", [[]]), ("<a <b", [["a", "b"]]), (">x <a", [[], ["a"]]),
        ("<a >x <b <c >y", [["a"], ["b", "c"], []]),
        (">x >y <a", [[], [], ["a"]]),
    ])
    func `messages of the server belong to the message of the client before them`(
        words: String, expected: [[String]]
    ) throws {
        let turns = try recording(words).connections[0].turns
        #expect(turns.map(\.received) == expected.map { $0.map { .text($0) } })
        #expect(turns.first?.sent == nil)
    }

    @Test func `a recording without messages of a server is empty`() throws {
        #expect(SocketRecording().isEmpty)
        #expect(try recording(">x").isEmpty)
        #expect(try !recording("<a").isEmpty)
    }

    @Test func `a recording ends at its limits and keeps the earlier messages`() throws {
        var recording = try recording("<a")
        recording.receive(.bytes(String(repeating: "A", count: SocketRecording.maxBytes)), on: 0)
        recording.receive(.text("b"), on: 0)
        recording.end(0)
        #expect(recording.isTruncated && recording.connections[0].turns == [Turn(received: [.text("a")])])
        #expect(!recording.connections[0].hasEnded)
        let further = recording.open(.webSocket, "ws://b.test/")
        #expect(further == nil)
        var many = SocketRecording()
        for number in 0..<1000 { _ = many.open(.webSocket, "ws://a.test/\(number)") }
        #expect(many.isTruncated && many.connections.count < 100)
        var small = try self.recording("")
        for _ in 0..<100_000 { small.receive(.text(""), on: 0) }
        #expect(small.isTruncated && small.connections[0].turns[0].received.count < 20_000)
    }

    @Test func `an event stream that the server ended goes on in the same connection`() throws {
        var recording = SocketRecording()
        let place = recording.open(.eventStream, "http://a.test/e") ?? -1
        let whileOpen = recording.reopenStream("http://a.test/e")
        recording.end(place)
        let other = recording.reopenStream("http://a.test/other")
        let reopened = recording.reopenStream("http://a.test/e")
        #expect(whileOpen == nil && other == nil && reopened == place)
        #expect(!recording.connections[place].hasEnded)
    }

    @Test func `the JSON has all messages in order`() throws {
        var recording = try recording("<a >x")
        recording.receive(.bytes("AAE="), on: 0)
        recording.end(0)
        let stream = recording.open(.eventStream, "http://a.test/e") ?? -1
        recording.receive(.event(name: "n", id: "1", data: "d\n"), on: stream)
        #expect(
            recording.members.text(.compact) == """
                {"connections":[{"kind":"socket","url":"ws://a.test/","protocol":"","turns":[{"received":[{"text":"a"}]},\
                {"sent":{"text":"x"},"received":[{"bytes":"AAE="}]}],"hasEnded":true},\
                {"kind":"events","url":"http://a.test/e","protocol":"","turns":[{"received":\
                [{"name":"n","id":"1","data":"d\\n"}]}],"hasEnded":false}]}
                """)
    }
}
