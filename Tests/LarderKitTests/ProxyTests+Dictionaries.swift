import Digest
import TestOrigin
import Testing
import Web

@testable import LarderKit

/// Tests of compression dictionaries (RFC 9842) in a proxy.
extension ProxyTests {
    private static func script(_ version: Int) -> String {
        (["const version = \(version)"]
            + (0..<400).map { "function f\($0)() { return \($0 &* 7919 % 10_007) }" })
            .joined(separator: "\n")
    }

    private static func offer(_ text: String) -> [(String, String)] {
        let digest = DigestStream.digest(.sha256, of: text.utf8.span).bytes
        return [
            ("Accept-Encoding", "gzip, dcz"), ("Available-Dictionary", ":\(Base64.encode(digest)):"),
        ]
    }

    private func publish(_ version: Int, _ fields: [(String, String)] = []) async throws {
        var answer = OriginAnswer.file(Self.script(version), type: "text/javascript")
            .adding("Cache-Control", "max-age=60")
        for (name, value) in fields { answer = answer.adding(name, value) }
        origin.on("/app.js", answer)
        origin.on("/", .page("<script src=/app.js></script>"))
        _ = try await larder.prefetch([origin.url("/")], options: Self.reloading)
    }

    private static var reloading: PrefetchOptions {
        var options = PrefetchOptions()
        options.policy = .reload
        return options
    }

    @Test func `a client with an earlier version gets the difference, with the fields of the origin`()
        async throws
    {
        try await publish(1)
        try await publish(2)
        try withProxy(.offline) { (client, _) throws in
            for _ in 0..<2 {
                let delta = try client.get(
                    origin.url("/app.js"), host: host, fields: Self.offer(Self.script(1)))
                #expect(delta["Content-Encoding"] == "dcz")
                #expect(delta.body.count < Self.script(2).utf8.count / 20)
                #expect(delta["Cache-Control"] == "max-age=60")
                #expect(delta["Vary"] == "Accept-Encoding, Available-Dictionary")
                #expect(delta["Use-As-Dictionary"]?.hasPrefix("match=\"/app.js\"") == true)
            }
            let whole = try client.get(origin.url("/app.js"), host: host, fields: Self.offer("unknown"))
            #expect(whole.text == Self.script(2))
            let plain = try client.get(origin.url("/app.js"), host: host)
            #expect(plain.text == Self.script(2))
            #expect(plain["Use-As-Dictionary"] == nil)
        }
    }

    @Test func `the rule of an origin is passed on, and its bodies with digests are not changed`()
        async throws
    {
        for (fields, isChanged) in [
            ([("Use-As-Dictionary", "match=\"/*\", id=\"x\"")], true),
            ([("Repr-Digest", "sha-256=:AAAA:")], false),
            ([("Cache-Control", "no-transform")], false),
        ] {
            try await publish(1, fields)
            try await publish(2, fields)
            try withProxy(.offline) { (client, _) throws in
                let answer = try client.get(
                    origin.url("/app.js"), host: host, fields: Self.offer(Self.script(1)))
                #expect((answer["Content-Encoding"] == "dcz") == isChanged)
                #expect(answer["Use-As-Dictionary"] == (isChanged ? "match=\"/*\", id=\"x\"" : nil))
            }
        }
    }

    @Test func `an offer is not forwarded to the origin, whose answer the proxy could not decode`() throws {
        origin.on("/app.js", .file(Self.script(1), type: "text/javascript"))
        try withProxy(.reload) { (client, _) throws in
            let answer = try client.get(origin.url("/app.js"), host: host, fields: Self.offer(Self.script(1)))
            #expect(answer.text == Self.script(1))
            let request = try #require(origin.requests.last)
            #expect(request["Available-Dictionary"] == nil)
            #expect(request["Accept-Encoding"] == "gzip")
        }
    }
}
