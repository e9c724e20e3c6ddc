import Store
import TestOrigin
import Testing
import Web

@testable import HTTPServer
@testable import Mirror
@testable import Origins
@testable import Portal

@Suite struct MetricsTests {
    /// A strict parser of Prometheus' text format: the help and type of a family precede its samples, the samples of a
    /// family are together, and no sample occurs twice.
    private struct Exposition {
        var kinds: [String: String] = [:]
        var samples: [String: Double] = [:]

        init(_ text: String) throws {
            try #require(text.hasSuffix("\n"))
            var family = ""
            for line in text.split(separator: "\n") {
                if line.hasPrefix("# ") {
                    let words = line.split(separator: " ", maxSplits: 3).map(String.init)
                    try #require(words.count == 4, "\(line)")
                    if words[1] == "HELP" {
                        try #require(kinds[words[2]] == nil, "\(line)")
                        family = words[2]
                    } else {
                        try #require(words[1] == "TYPE" && words[2] == family, "\(line)")
                        try #require(["counter", "gauge"].contains(words[3]), "\(line)")
                        kinds[family] = words[3]
                    }
                    continue
                }
                let (name, labels, value) = try Self.sample(line)
                try #require(name == family && kinds[family] != nil, "\(line)")
                #expect(
                    (kinds[family] == "counter")
                        == (name.hasSuffix("_total") || name.hasSuffix("_generation")))
                let key = name + (labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}")
                try #require(samples[key] == nil, "\(line)")
                let number: Double = try #require(Double(value), "\(line)")
                samples[key] = number
            }
        }

        private static func sample(_ line: Substring) throws -> (String, [String], String) {
            let name = line.prefix { $0 != "{" && $0 != " " }
            try #require(!name.isEmpty && name.allSatisfy { $0.isLowercase || $0 == "_" }, "\(line)")
            var rest = line.dropFirst(name.count)
            var labels: [String] = []
            if rest.first == "{" {
                repeat {
                    rest = rest.dropFirst()
                    let label = rest.prefix { $0 != "=" }
                    rest = rest.dropFirst(label.count)
                    try #require(rest.hasPrefix("=\""), "\(line)")
                    rest = rest.dropFirst(2)
                    var value = ""
                    while let character = rest.popFirst(), character != "\"" {
                        guard character == "\\" else {
                            value.append(character)
                            continue
                        }
                        let next = rest.popFirst()
                        let escaped = try #require(next)
                        try #require("\\\"n".contains(escaped), "\(line)")
                        value.append(escaped == "n" ? "\n" : escaped)
                    }
                    labels.append("\(label)=\(value)")
                } while rest.first == ","
                let end = rest.popFirst()
                try #require(end == "}", "\(line)")
            }
            let space = rest.popFirst()
            try #require(space == " " && !rest.contains(" "), "\(line)")
            return (String(name), labels, String(rest))
        }
    }

    @Test func `labels and help of metrics are escaped, and numbers written exactly`() throws {
        var text = MetricsText()
        text.add("a_total", .counter, "back\\slash\nline", [([("site", "a\"b\\c\nd")], 3)])
        text.add("b", .gauge, "half", 0.5)
        text.add("none", .gauge, "nothing", [])
        let read = try Exposition(text.text)
        #expect(read.samples == ["larder_a_total{site=a\"b\\c\nd}": 3, "larder_b": 0.5])
    }

    @Test func `metrics count answers, misses and stored responses`() throws {
        let store = try StockedStore([
            .init(href: "https://example.test/", text: "home"),
            .init(href: "https://example.test/gone", text: nil, status: 410),
        ])
        let server = try MirrorServer(store.folder, port: 0, threadCount: 2, memoryLimit: 1_000_000)
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        let host = "example-test.localhost:\(server.port)"
        for _ in 0..<3 { #expect(try client.get("/", host: host).status == 200) }
        #expect(try client.get("/never", host: host).status == 504)
        let answer = try client.get("/-/metrics", host: "localhost:\(server.port)")
        #expect(answer.status == 200)
        #expect(answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
        #expect(answer["Cache-Control"] == "no-store")
        let samples = try Exposition(answer.text).samples
        let answered = ["memory", "larder", "missed"].reduce(0) {
            $0 + (samples["larder_requests_total{source=\($1)}"] ?? 0)
        }
        #expect(answered == 4)
        #expect(samples["larder_requests_total{source=memory}"] == 2)
        #expect(samples["larder_responses_total{class=2xx}"] == 3)
        #expect(samples["larder_responses_total{class=5xx}"] == 1)
        #expect(samples["larder_misses_total"] == 1)
        #expect(samples["larder_response_body_bytes_total"] ?? 0 > 12)
        #expect(samples["larder_store_readable"] == 1)
        #expect(samples["larder_sites"] == 1)
        let snapshot = "site=https://example.test/,snapshot=1,state=live"
        #expect(samples["larder_snapshot_responses{\(snapshot),kind=page}"] == 1)
        #expect(samples["larder_snapshot_responses{\(snapshot),kind=gone}"] == 1)
        #expect(samples["larder_snapshot_finished_seconds{\(snapshot)}"] == 2)
    }

    @Test func `metrics need the same access as the portal's pages`() throws {
        let store = try StockedStore([.init(href: "https://example.test/", text: "home")])
        let server = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 0)
        defer { server.stop() }
        // Host names of the mirror have no metrics.
        let client = try RawClient(port: Int(server.port))
        let mirrored = try client.get("/-/metrics", host: "example-test.localhost:\(server.port)")
        #expect(mirrored.status == 504 && !mirrored.text.contains("larder_info"))
        let fromPage = try client.get(
            "/-/metrics", host: "localhost:\(server.port)",
            fields: [
                ("Origin", "http://example-test.localhost:\(server.port)"), ("Sec-Fetch-Site", "cross-site"),
            ])
        #expect(fromPage.status == 403 && !fromPage.text.contains("larder_info"))
        let jobRunner = JobRunner { _, _ in (.done, []) }
        defer { jobRunner.close() }
        // Other machines must log in first.
        let services = PortalServices(accessGuard: PortalGuard(.init(isExposed: true)), jobRunner: jobRunner)
        let portal = Portal(layout: OriginLayout(port: 8080), services: services)
        let answer = try portal.answer("/-/metrics", reader: StoreReader(store.folder))
        #expect(answer.status == 403)
        #expect(!String(decoding: answer.bytes, as: UTF8.self).contains("larder_sites"))
    }
}
