import Store
import TestOrigin
import Testing
import Web

@testable import Mirror

/// Documents and scripts of an archive must not run in an origin of which responses were fetched, because they could
/// read those.
@Suite struct ImportedOriginsTests {
    private static let json = "application/json"

    /// Two stores with the page of a bank, a private response from another host of the bank, and the archive of an
    /// attacker. In one store the archive was imported first, in the other last.
    private func makeStores() throws -> [StockedStore] {
        let bank: [StockedStore.Entry] = [
            .init(href: "http://bank.test/", text: "<script src=http://ads.test/ad.js></script>"),
            .init(href: "http://api.bank-parts.test/me.json", text: "{}", type: Self.json, flags: .isPrivate),
        ]
        let archive: [StockedStore.Entry] = [
            .init(href: "http://attacker.test/", text: "evil page", flags: .isImported),
            .init(
                href: "http://attacker.test/own.js", text: "own()", type: "text/javascript",
                flags: .isImported),
            .init(href: "http://bank.test/planted.html", text: "planted", flags: .isImported),
            .init(href: "http://www.bank.test/", text: "planted", flags: .isImported),
            .init(href: "http://api.bank-parts.test/p.html", text: "planted", flags: .isImported),
            .init(
                href: "http://bank.test/worker.js", text: "planted", type: "text/javascript",
                flags: .isImported),
            .init(
                href: "http://ads.test/ad.js", text: "planted", type: "text/javascript", flags: .isImported),
        ]
        let later = try StockedStore(archive)
        try later.publish(bank, site: "http://bank.test/")
        let earlier = try StockedStore([.init(href: "https://example.test/", text: "first")])
        try earlier.publish(bank, site: "http://bank.test/")
        try earlier.publish(archive, site: "http://attacker.test/")
        return [later, earlier]
    }

    private static func fields(
        _ destination: String, from page: String? = nil, port: UInt16
    ) -> [(String, String)] {
        let isDocument = ["document", "iframe"].contains(destination)
        var fields = [
            ("User-Agent", "Mozilla/5.0"), ("Sec-Fetch-Dest", destination),
            ("Sec-Fetch-Mode", isDocument ? "navigate" : "no-cors"),
            ("Sec-Fetch-Site", page == nil ? "none" : "cross-site"),
            ("Accept", isDocument ? "text/html" : "*/*"),
        ]
        if let page { fields.append(("Referer", "http://\(page).localhost:\(port)/")) }
        return fields
    }

    @Test
    func `imported documents, workers and scripts do not run in an origin that was fetched`()
        throws
    {
        for store in try makeStores() {
            let server = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000)
            defer { server.stop() }
            let client = try RawClient(port: Int(server.port))
            func isServed(
                _ host: String, _ target: String, _ destination: String, from page: String? = nil
            ) throws -> Bool {
                let answer = try client.get(
                    target, host: "\(host).localhost:\(server.port)",
                    fields: Self.fields(destination, from: page, port: server.port))
                return answer.status == 200
            }
            // The site of the archive itself is served.
            #expect(try isServed("attacker-test", "/", "document"))
            #expect(try isServed("attacker-test", "/own.js", "script", from: "attacker-test"))
            #expect(try isServed("ads-test", "/ad.js", "script", from: "attacker-test"))
            // In other origins, archived responses are refused. The second request checks that a cached response is refused too.
            for _ in 0..<2 {
                #expect(try !isServed("bank-test", "/planted.html", "document"))
                #expect(try !isServed("bank-test", "/planted.html", "iframe", from: "attacker-test"))
                #expect(try !isServed("www-bank-test", "/", "document"))
                #expect(try !isServed("api-bank--parts-test", "/p.html", "iframe", from: "attacker-test"))
                #expect(try !isServed("bank-test", "/worker.js", "worker", from: "bank-test"))
                #expect(try !isServed("ads-test", "/ad.js", "script", from: "bank-test"))
            }
            #expect(try isServed("bank-test", "/", "document"))
        }
    }

    @Test func `an imported page is served in a site for which the user named the import`() throws {
        let store = try StockedStore([.init(href: "https://example.test/", text: "first")])
        try store.publish([
            .init(
                href: "https://example.test/old.html", text: "old", flags: [.isImported, .isOfNamedSite])
        ])
        let server = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 0)
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        let answer = try client.get(
            "/old.html", host: "example-test.localhost:\(server.port)",
            fields: Self.fields("document", port: server.port))
        #expect(answer.status == 200)
    }
}
