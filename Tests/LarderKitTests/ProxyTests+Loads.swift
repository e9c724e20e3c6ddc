import System
import TestOrigin
import Testing

@testable import LarderKit

/// Tests of concurrent requests for one URL, of unsafe requests at the same time, and of Via and Max-Forwards.
extension ProxyTests {
    private func port(_ service: MirrorService) throws -> Int { Int(try #require(service.proxyPort)) }

    @Test func `a response is served to the next client before it is stored`() throws {
        origin.on("/a") { request in
            .file("\(request.target)", type: "text/plain").adding("Cache-Control", "max-age=60")
        }
        try withProxy { (client, service) throws in
            for number in 0..<200 {
                let url = origin.url("/a?\(number)")
                #expect(try client.get(url, host: host).text == "/a?\(number)")
                #expect(try client.get(url, host: host).text == "/a?\(number)")
            }
            #expect(origin.requests.count == 200)
            #expect(service.traffic?.stored == 200)
        }
        origin.stop()
        try withProxy(.offline) { (client, service) throws in
            for number in 0..<200 {
                #expect(try client.get(origin.url("/a?\(number)"), host: host).text == "/a?\(number)")
            }
            #expect(service.traffic?.notStored == 0)
        }
    }

    @Test func `concurrent requests for one URL are loaded once`() throws {
        origin.on("/a", .file("jam", type: "text/plain").adding("Cache-Control", "max-age=60"))
        origin.hold("/a")
        try withProxy { (first, service) throws in
            let clients = try [first] + (0..<9).map { _ in try RawClient(port: port(service)) }
            for client in clients {
                try client.send("GET \(origin.url("/a")) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            }
            // The requests before this one have been read when it is answered, because one thread reads them in order.
            #expect(
                try RawClient(port: port(service)).get("/larder-ca.pem", host: "127.0.0.1:\(port(service))")
                    .status
                    == 200)
            #expect(origin.waitForRequests(1, to: "/a"))
            origin.release("/a")
            for client in clients { #expect(try client.response().text == "jam") }
            #expect(origin.requests(to: "/a").count == 1)
        }
    }

    @Test func `responses that may not be stored are loaded for each client`() throws {
        origin.on("/a") { _ in .file("jam", type: "text/plain").adding("Cache-Control", "no-store") }
        origin.hold("/a")
        try withProxy { (first, service) throws in
            let clients = try [first] + (0..<2).map { _ in try RawClient(port: port(service)) }
            for client in clients {
                try client.send("GET \(origin.url("/a")) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            }
            #expect(origin.waitForRequests(1, to: "/a"))
            origin.release("/a")
            for client in clients { #expect(try client.response().text == "jam") }
            #expect(origin.requests(to: "/a").count == 3)
        }
    }

    /// RFC 9111 4.4: a response that was requested before an unsafe request, and arrives after it, may be outdated.
    @Test(arguments: ["PUT", "DELETE", "PATCH", "POST"])
    func `an unsafe request invalidates stored responses and running loads`(method: String) throws {
        origin.on("/a") { request in
            request.method == "GET"
                ? .file("old", type: "text/plain").adding("Cache-Control", "max-age=60")
                : .file("done", type: "text/plain")
        }
        try withProxy { (client, service) throws in
            let other = try RawClient(port: port(service))
            let change =
                "\(method) \(origin.url("/a")) HTTP/1.1\r\nHost: \(host)\r\nContent-Length: 1\r\n\r\nx"
            func asked() -> Int { origin.requests.count { $0.method == "GET" } }
            #expect(try client.get(origin.url("/a"), host: host).text == "old")
            #expect(try client.get(origin.url("/a"), host: host).text == "old")
            #expect(asked() == 1)
            try client.send(change)
            #expect(try client.response().text == "done")
            // The response that was invalidated is stored but not served: the proxy requests the URL again. This request
            // is running when the next change is made.
            let isChanged = Monitor(false)
            origin.on("/a") { request in
                guard request.method == "GET" else { return .file("done", type: "text/plain") }
                _ = isChanged.wait(atMost: .seconds(60)) { $0 ? true : nil }
                return .file("old", type: "text/plain").adding("Cache-Control", "max-age=60")
            }
            try other.send("GET \(origin.url("/a")) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            #expect(origin.waitForRequests(3))
            try client.send(change)
            #expect(try client.response().text == "done")
            isChanged.change { $0 = true }
            #expect(try other.response().text == "old")
            origin.on("/a", .file("new", type: "text/plain").adding("Cache-Control", "max-age=60"))
            #expect(try client.get(origin.url("/a"), host: host).text == "new")
            #expect(try client.get(origin.url("/a"), host: host).text == "new")
            #expect(asked() == 3)
        }
    }

    @Test func `an unsafe request that fails invalidates nothing`() throws {
        origin.on("/a") { request in
            request.method == "GET"
                ? .file("old", type: "text/plain").adding("Cache-Control", "max-age=60") : .failure(409)
        }
        try withProxy { (client, _) throws in
            #expect(try client.get(origin.url("/a"), host: host).text == "old")
            try client.send("PUT \(origin.url("/a")) HTTP/1.1\r\nHost: \(host)\r\nContent-Length: 1\r\n\r\nx")
            #expect(try client.response().status == 409)
            #expect(try client.get(origin.url("/a"), host: host).text == "old")
            #expect(origin.requests.count { $0.method == "GET" } == 1)
        }
    }

    // MARK: - Hops

    @Test func `the proxy adds Via, and a request that loops is rejected`() throws {
        origin.on("/a", .page("a").adding("Via", "1.1 upstream"))
        try withProxy(.reload) { (client, _) throws in
            let answer = try client.get(origin.url("/a"), host: host, fields: [("Via", "1.0 fred")])
            let said = try #require(origin.requests.last)
            let name = try #require(said.fields.last { $0.0 == "Via" }?.1)
            #expect(name.hasPrefix("1.1 larder-"))
            #expect(said.fields.filter { $0.0 == "Via" }.map(\.1) == ["1.0 fred", name])
            #expect(answer.fields.filter { $0.0 == "Via" }.map(\.1) == ["1.1 upstream", name])
            #expect(
                try client.get(origin.url("/a"), host: host, fields: [("Via", "1.0 fred, \(name)")]).status
                    == 508)
            #expect(origin.requests.count == 1)
        }
    }

    @Test func `Max-Forwards limits how far a request goes`() throws {
        origin.on("/a") { request in .file(request["Max-Forwards"] ?? "none", type: "text/plain") }
        try withProxy { (client, _) throws in
            for (method, left, said) in [("OPTIONS", "3", "2"), ("TRACE", "1", "0"), ("GET", "0", "0")] {
                let answer = try client.get(
                    origin.url("/a"), method: method, host: host, fields: [("Max-Forwards", left)])
                #expect(answer.text == said)
            }
            let options = try client.get(
                origin.url("/a"), method: "OPTIONS", host: host, fields: [("Max-Forwards", "0")])
            #expect(options.status == 204)
            #expect(options["Allow"]?.contains("PATCH") == true)
            let fields = [("Max-Forwards", "0"), ("Cookie", "a=b"), ("X-Own", "jam"), ("DNT", "1")]
            let trace = try client.get(origin.url("/a"), method: "TRACE", host: host, fields: fields)
            #expect(trace["Content-Type"] == "message/http")
            #expect(trace.text.hasPrefix("TRACE \(origin.url("/a")) HTTP/1.1\r\n"))
            #expect(trace.text.contains("DNT: 1"))
            #expect(!trace.text.contains("a=b") && !trace.text.contains("jam"))
            #expect(origin.requests.count == 3)
        }
    }
}
