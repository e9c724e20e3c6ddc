import Fetch
import TestOrigin
import Testing
import Web

@Suite struct AddressWallTests {
    @Test(
        arguments: [
            ("8.8.8.8", [.publicNetwork, .privateNetwork, .thisMachine]),
            ("10.1.2.3", [.privateNetwork, .thisMachine]),
            ("fd00::1", [.privateNetwork, .thisMachine]), ("127.0.0.1", [.thisMachine]),
            ("169.254.169.254", [.thisMachine]), ("0.0.0.0", [.thisMachine]), ("224.0.0.1", [.thisMachine]),
        ] as [(String, [Reach])])
    func `a page leads no nearer than where it came from`(text: String, from: [Reach]) throws {
        let address = try #require(IPAddress(text))
        for reach in [Reach.publicNetwork, .privateNetwork, .thisMachine] {
            #expect((AddressWall(reach).refusal(of: address) == nil) == from.contains(reach))
        }
    }

    private let origin: TestOrigin
    private let fetching: Fetching

    init() throws {
        let origin = try TestOrigin()
        origin.on("/", .page("secret"))
        self.origin = origin
        fetching = try Fetching { options in
            options.hostAddresses = [
                try #require(HostAddress("public.test:\(origin.port):127.0.0.1")),
                try #require(HostAddress("six.test:\(origin.port):::ffff:127.0.0.1")),
            ]
        }
    }

    private func result(_ host: String, _ reach: Reach, in loop: FetchLoop? = nil) throws -> FetchResult {
        try fetching.result(
            of: try Fetching.request("http://\(host):\(origin.port)/") { $0.reach = reach }, in: loop)
    }

    @Test(arguments: [
        "public.test", "six.test", "127.0.0.1", "localhost", "2130706433", "127.1", "0.0.0.0", "[::ffff:7f00:1]",
    ])
    func `the address that a name leads to is what is refused`(host: String) throws {
        for reach in [Reach.publicNetwork, .privateNetwork] {
            let failure = try result(host, reach).failure()
            #expect(failure.kind == .refused)
            #expect(!failure.mayPass)
            #expect(failure.detail.contains("address, where a"))
        }
        #expect(origin.connectionCount == 0)
        #expect(try result(host, .thisMachine).response().text() == "secret")
    }

    @Test func `a refusal names the address`() throws {
        let failure = try result("public.test", .publicNetwork).failure()
        #expect(failure.description == "127.0.0.1 is a loopback address, where a public page may not lead")
    }

    @Test func `a connection that is open already is no way around`() throws {
        let loop = try fetching.loop()
        #expect(try result("public.test", .thisMachine, in: loop).response().text() == "secret")
        #expect(try result("public.test", .publicNetwork, in: loop).failure().kind == .refused)
        #expect(origin.requests.count == 1)
        #expect(try result("public.test", .thisMachine, in: loop).response().text() == "secret")
    }

    @Test func `behind a proxy the wall sees what stands in the address`() throws {
        let proxy = try TestOrigin()
        proxy.otherwise { .page($0.target) }
        var fetching = fetching
        fetching.options.proxies = ProxyRules(http: Proxy(proxy.base))
        let literal = try fetching.result(of: try Fetching.request("http://10.0.0.1/") { $0.reach = .publicNetwork })
        #expect(try literal.failure().kind == .refused)
        let named = try fetching.result(of: try Fetching.request("http://public.test/") { $0.reach = .publicNetwork })
        #expect(try named.response().text() == "http://public.test/")
        #expect(named.exchange?.reach == .publicNetwork)
        #expect(proxy.requests.count == 1)
    }
}
