import Fetch
import TestOrigin
import Testing
import Web

@Suite struct NetworkGuardTests {
    @Test(
        arguments: [
            ("8.8.8.8", [.publicNetwork, .privateNetwork, .thisMachine]),
            ("10.1.2.3", [.privateNetwork, .thisMachine]),
            ("fd00::1", [.privateNetwork, .thisMachine]), ("127.0.0.1", [.thisMachine]),
            ("169.254.169.254", [.thisMachine]), ("0.0.0.0", [.thisMachine]), ("224.0.0.1", [.thisMachine]),
        ] as [(String, [NetworkZone])])
    func `a page may request only from its own zone or a more public one`(
        text: String, from: [NetworkZone]
    ) throws {
        let address = try #require(IPAddress(text))
        for zone in [NetworkZone.publicNetwork, .privateNetwork, .thisMachine] {
            #expect((NetworkGuard(zone).refusal(of: address) == nil) == from.contains(zone))
        }
    }

    private let origin: TestOrigin
    private let fetching: TestFetcher

    init() throws {
        let origin = try TestOrigin()
        origin.on("/", .page("secret"))
        self.origin = origin
        fetching = try TestFetcher { options in
            options.hostAddresses = [
                try #require(HostAddress("public.test:\(origin.port):127.0.0.1")),
                try #require(HostAddress("six.test:\(origin.port):::ffff:127.0.0.1")),
            ]
        }
    }

    private func result(_ host: String, _ zone: NetworkZone, in loop: FetchLoop? = nil) throws -> FetchResult
    {
        try fetching.result(
            of: try TestFetcher.request("http://\(host):\(origin.port)/") { $0.nearestZone = zone }, in: loop)
    }

    @Test(arguments: [
        "public.test", "six.test", "127.0.0.1", "localhost", "2130706433", "127.1", "0.0.0.0",
        "[::ffff:7f00:1]",
    ])
    func `the network guard refuses by the resolved address, not by the host name`(host: String) throws {
        for zone in [NetworkZone.publicNetwork, .privateNetwork] {
            let failure = try result(host, zone).failure()
            #expect(failure.kind == .refused)
            #expect(!failure.canRetry)
            #expect(failure.detail.contains("address, which a"))
        }
        #expect(origin.connectionCount == 0)
        #expect(try result(host, .thisMachine).response().text() == "secret")
    }

    @Test func `a refusal names the address`() throws {
        let failure = try result("public.test", .publicNetwork).failure()
        #expect(failure.description == "127.0.0.1 is a loopback address, which a public page may not request")
    }

    @Test func `the network guard also applies to a reused connection`() throws {
        let loop = try fetching.loop()
        #expect(try result("public.test", .thisMachine, in: loop).response().text() == "secret")
        #expect(try result("public.test", .publicNetwork, in: loop).failure().kind == .refused)
        #expect(origin.requests.count == 1)
        #expect(try result("public.test", .thisMachine, in: loop).response().text() == "secret")
    }

    @Test func `with a proxy the network guard checks addresses in the URL`() throws {
        let proxy = try TestOrigin()
        proxy.otherwise { .page($0.target) }
        var fetching = fetching
        fetching.options.proxies = ProxyRules(http: Proxy(proxy.base))
        let literal = try fetching.result(
            of: try TestFetcher.request("http://10.0.0.1/") { $0.nearestZone = .publicNetwork })
        #expect(try literal.failure().kind == .refused)
        let named = try fetching.result(
            of: try TestFetcher.request("http://public.test/") { $0.nearestZone = .publicNetwork })
        #expect(try named.response().text() == "http://public.test/")
        #expect(named.exchange?.zone == .publicNetwork)
        #expect(proxy.requests.count == 1)
    }
}

@Suite struct AddressKindTests {
    @Test(
        arguments: [
            ("0.0.0.0", .unspecified), ("0.1.2.3", .unspecified), ("1.1.1.1", .publicAddress),
            ("9.255.255.255", .publicAddress),
            ("10.0.0.0", .privateAddress), ("10.255.255.255", .privateAddress), ("11.0.0.0", .publicAddress),
            ("100.63.255.255", .publicAddress), ("100.64.0.0", .privateAddress),
            ("100.127.255.255", .privateAddress),
            ("100.128.0.0", .publicAddress), ("127.0.0.1", .loopback), ("127.255.255.255", .loopback),
            ("128.0.0.0", .publicAddress), ("169.253.255.255", .publicAddress),
            ("169.254.169.254", .linkLocal),
            ("169.255.0.0", .publicAddress), ("172.15.255.255", .publicAddress),
            ("172.16.0.0", .privateAddress),
            ("172.31.255.255", .privateAddress), ("172.32.0.0", .publicAddress), ("192.0.0.170", .reserved),
            ("192.0.1.0", .publicAddress), ("192.0.2.1", .reserved), ("192.168.0.0", .privateAddress),
            ("192.169.0.0", .publicAddress), ("198.17.255.255", .publicAddress), ("198.18.0.0", .reserved),
            ("198.19.255.255", .reserved), ("198.20.0.0", .publicAddress), ("198.51.100.1", .reserved),
            ("203.0.113.1", .reserved), ("223.255.255.255", .publicAddress), ("224.0.0.1", .multicast),
            ("239.255.255.255", .multicast), ("240.0.0.0", .reserved), ("255.255.255.255", .reserved),
            ("::", .unspecified), ("::1", .loopback), ("::2", .unspecified),
            ("2606:4700::1111", .publicAddress),
            ("2001:db8::1", .reserved), ("3fff::1", .reserved), ("3fff:1000::1", .publicAddress),
            ("100::1", .reserved),
            ("fc00::1", .privateAddress), ("fdff::1", .privateAddress), ("fe00::1", .reserved),
            ("fe80::1", .linkLocal),
            ("febf::1", .linkLocal), ("fec0::1", .privateAddress), ("ff02::1", .multicast),
            ("4000::1", .reserved),
            ("5f00::1", .reserved), ("64:ff9b:1::7f00:1", .privateAddress),
        ] as [(String, AddressKind)])
    func `an address has the kind of its registered block`(text: String, kind: AddressKind) throws {
        #expect(try #require(IPAddress(text)).kind == kind)
    }

    /// Mapped, compatible, translated, 6to4 and Teredo, each around the same address.
    @Test(
        arguments: [
            ("::ffff:%@", "10.0.0.1", .privateAddress), ("::%@", "127.0.0.1", .loopback),
            ("::ffff:0:%@", "169.254.169.254", .linkLocal), ("64:ff9b::%@", "192.168.1.1", .privateAddress),
            ("64:ff9b::%@", "8.8.8.8", .publicAddress), ("::ffff:%@", "8.8.8.8", .publicAddress),
            ("2002:7f00:1::1", "", .loopback), ("2002:a00:1::", "", .privateAddress),
            ("2002:808:808::1", "", .publicAddress),
            ("2001:0:808:808::80ff:fffe", "", .loopback), ("2001:0:808:808::f7f7:f7f7", "", .publicAddress),
        ] as [(String, String, AddressKind)])
    func `an IPv6 address has the kind of the IPv4 address in it`(
        form: String, inner: String, kind: AddressKind
    ) throws {
        let text = form.hasSuffix("%@") ? form.dropLast(2) + inner : form
        #expect(try #require(IPAddress(text)).kind == kind)
    }

    @Test(arguments: [
        ("[::1]", "::1"), ("fe80::1%eth0", "fe80::1"), ("2001:0DB8::00A", "2001:db8::a"),
        ("8.8.8.8", "8.8.8.8"),
    ])
    func `an address is parsed and formatted`(text: String, written: String) {
        #expect(IPAddress(text)?.description == written)
    }

    @Test(arguments: [
        "", "localhost", "1.2.3", "1.2.3.4.5", "256.1.1.1", "0x7f.1", ":::1", "[1.2.3.4", "::1]",
    ])
    func `a text that is not an address is not parsed`(text: String) {
        #expect(IPAddress(text) == nil)
    }
}
