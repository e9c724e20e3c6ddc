import Browser
import TestOrigin
import Testing
import Web

@testable import Mirror

/// Tests the script that replays live messages in a browser. `RehearsalTests` test when it is used.
@Suite(.enabled(if: Chromium.isInstalled, "chromium is not installed"), .serialized)
struct SocketReplayTests {
    private typealias Message = SocketRecording.Message

    /// Opens a page with this recording, and evaluates an expression in it. `at` is the page's host, and `all(socket, n)`
    /// returns the next `n` messages and the end of a socket, joined by spaces.
    private func evaluate(_ recording: SocketRecording, _ expression: String) throws -> String? {
        let origin = try TestOrigin()
        let page = try #require(WebURL("http://a.test/page"))
        let element = SocketReplay.element(Array(recording.members.text(.compact).utf8), of: page)
        origin.on(
            "/",
            .page(
                """
                <!DOCTYPE html><title>t</title>\(String(decoding: element, as: UTF8.self))<script>
                const at = location.host;
                const all = (socket, count) => new Promise((done) => {
                  const words = [];
                  const add = (word) => { words.push(word); if (words.length === count) done(words.join(" ")); };
                  socket.addEventListener("open", () => add("open"));
                  socket.onmessage = ({ data }) =>
                    add(typeof data === "string" ? data : [...new Uint8Array(data)].join());
                  socket.onclose = ({ code }) => add("close" + code);
                });
                </script>
                """))
        let visit = try Chromium().open(origin.url("/"))
        return try visit.evaluate("Promise.resolve(\(expression))")?.string
    }

    private func socket(
        _ url: String = "ws://a.test/s", _ fill: (inout SocketRecording, Int) -> Void
    ) throws -> SocketRecording {
        var recording = SocketRecording()
        let place = recording.open(.webSocket, url, subprotocol: "chat") ?? -1
        fill(&recording, place)
        return recording
    }

    @Test func `messages arrive in order, each after the message of the page that it followed`() throws {
        let recording = try socket { recording, place in
            recording.receive(.text("first <\u{e9}\u{1F600}"), on: place)
            recording.send(.text("hello"), on: place)
            recording.receive(.text("second"), on: place)
            recording.receive(.bytes("AAH/"), on: place)
            recording.end(place)
        }
        let result = try evaluate(
            recording,
            """
            (async () => {
              const socket = new WebSocket("ws://" + at + "/s", "chat");
              socket.binaryType = "arraybuffer";
              socket.addEventListener("message", ({ data }) => { if (/^first/.test(data)) socket.send("hello"); });
              const words = await all(socket, 5);
              return [words, socket.readyState, socket.protocol, socket instanceof WebSocket, WebSocket.OPEN].join(" ");
            })()
            """)
        #expect(result == "open first <\u{e9}\u{1F600} second 0,1,255 close1005 3 chat true 1")
    }

    @Test func `a server's answer refers to the page's own identifier`() throws {
        let recording = try socket { recording, place in
            recording.send(.text(#"{"id":"aaaaaaaa-1","n":1}"#), on: place)
            recording.receive(.text(#"{"to":"aaaaaaaa-1"}"#), on: place)
            recording.receive(.bytes("B2FhYWFhYWFhLTE="), on: place)
        }
        let result = try evaluate(
            recording,
            """
            (async () => {
              const socket = new WebSocket("ws://" + at + "/s");
              socket.binaryType = "arraybuffer";
              socket.onopen = () => socket.send('{"id":"bbbbbbbb-2","n":2}');
              return await all(socket, 3);
            })()
            """)
        #expect(result == #"open {"to":"bbbbbbbb-2"} 7,98,98,98,98,98,98,98,98,45,50"#)
    }

    @Test(arguments: [
        ("ws://a.test/s", "/s", true), ("ws://a.test/s?id=1", "/s?id=2", true),
        ("ws://a.test/x/1/ab/websocket", "/x/2/cd/websocket", true), ("ws://a.test/s", "/other", false),
        ("ws://b.test/s", "/s", false),
    ])
    func `a socket gets the recording of its URL, or of the most similar one`(
        recorded: String, opened: String, isReplayed: Bool
    ) throws {
        let recording = try socket(recorded) { recording, place in
            recording.receive(.text("a"), on: place)
        }
        let result = try evaluate(
            recording,
            """
            new Promise((done) => {
              const socket = new WebSocket("ws://" + at + "\(opened)");
              socket.onmessage = () => done("replayed");
              socket.onerror = () => done("refused");
            })
            """)
        #expect(result == (isReplayed ? "replayed" : "refused"))
    }

    @Test func `an event stream gets its events by name, and a second one is not replayed`() throws {
        var recording = SocketRecording()
        let place = recording.open(.eventStream, "http://a.test/events") ?? -1
        recording.receive(.event(name: "message", id: "1", data: "plain"), on: place)
        recording.receive(.event(name: "tick", id: "2", data: "</script>"), on: place)
        let result = try evaluate(
            recording,
            """
            new Promise((done) => {
              const words = [], stream = new EventSource("/events"), second = new EventSource("/events");
              second.onerror = () => second.close();
              stream.onmessage = ({ data }) => words.push(data);
              stream.addEventListener("tick", ({ data, lastEventId }) =>
                done([...words, data, lastEventId, stream.readyState, second instanceof EventSource].join(" ")));
            })
            """)
        #expect(result == "plain </script> 2 1 true")
    }

    @Test func `a recording cannot end its script element`() {
        let json = Array(#"{"text":"</script><!--\#u{2028}é"}"#.utf8)
        let escaped = String(decoding: SocketReplay.inScript(json), as: UTF8.self)
        #expect(escaped == #"{"text":"\u003c/script>\u003c!--\u2028\u00e9"}"#)
    }
}
