import Serve
import Store
import TestOrigin
import Testing
import Web

@testable import Serve

/// What a responder may do beside answering at once.
@Suite struct HTTPResponderTests {
    private final class Patient: Responder {
        private var slots: [ReplySlot] = []

        private var atOnce: Reply { Reply(answer: .text(200, "at once")) }

        func respond(to request: Request, orLater later: Later) -> Reply? {
            switch String(decoding: request.target, as: UTF8.self) {
            case "/later":
                let slot = later.slot()
                // Not one of Swift's own, which the tests keep busy.
                let thread = try? NamedThread.start("later") {
                    slot.give(Reply(answer: .text(200, "later", fields: [("ETag", "\"v\"")])))
                }
                thread?.detach()
                return nil
            case "/kept":
                slots.append(later.slot())
                return nil
            case "/release":
                for slot in slots { slot.give(Reply(answer: .text(200, "kept"))) }
                slots = []
                return atOnce
            case "/forgotten":
                _ = later.slot()
                return nil
            default:
                return atOnce
            }
        }

        func preflight(_ request: Request) -> Reply? {
            guard let asked = request.fields["Access-Control-Request-Method"], asked == "PUT" else { return nil }
            return Reply(answer: Answer(status: 204, fields: [("Access-Control-Allow-Methods", "PUT")], body: []))
        }
    }

    private let script: HTTPScript

    init() throws {
        script = try HTTPScript(responder: Patient())
    }

    @Test func `a reply from another thread is given in its place, by the same rules`() throws {
        let client = try script.client()
        try client.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\nGET /now HTTP/1.1\r\nHost: a\r\n\r\n")
        try client.send("GET /later HTTP/1.1\r\nHost: a\r\nIf-None-Match: \"v\"\r\n\r\n")
        try client.send("GET /later HTTP/1.1\r\nHost: a\r\nRange: bytes=1-2\r\n\r\n")
        #expect(try client.response().text == "later")
        #expect(try client.response().text == "at once")
        #expect(try client.response().status == 304)
        #expect(try client.response().text == "at")
        #expect(try client.get("/forgotten").status == 500)
        #expect(try client.get("/now").status == 200)
    }

    @Test func `other clients do not wait, and who has gone is not missed`() throws {
        let (first, second) = (try script.client(), try script.client())
        try first.send("GET /kept HTTP/1.1\r\nHost: a\r\n\r\n")
        do {
            let gone = try script.client()
            try gone.send("GET /kept HTTP/1.1\r\nHost: a\r\n\r\n")
            gone.resetOnClose()
        }
        #expect(try second.get("/now").status == 200)
        #expect(try second.get("/release").status == 200)
        #expect(try first.response().text == "kept")
    }

    @Test(arguments: [("PUT", 204), ("POST", 200)])
    func `a browser that asks first is answered by the hook, or as any other`(method: String, status: Int) throws {
        let fields = [("Origin", "http://a"), ("Access-Control-Request-Method", method)]
        let client = try script.client()
        #expect(try client.get("/", method: "OPTIONS", fields: fields).status == status)
        #expect(try client.get("/", method: "OPTIONS").status == 200)
    }
}
