import Fetch
import TestOrigin
import Testing
import Web

@Suite struct ProxyTests {
    @Test(arguments: [
        ("http_proxy=http://p:1", "http://a.test/", true),
        ("http_proxy=http://p:1", "https://a.test/", false),
        ("HTTP_PROXY=http://p:1", "http://a.test/", false), ("https_proxy=p:1", "https://a.test/", true),
        ("HTTPS_PROXY=p:1", "https://a.test/", true), ("all_proxy=socks5h://p:1", "http://a.test/", true),
        ("ALL_PROXY=socks5://p", "https://a.test/", true), ("http_proxy=", "http://a.test/", false),
        ("http_proxy=p,no_proxy=a.test", "http://a.test/", false),
        ("http_proxy=p,NO_PROXY=b.test", "http://a.test/", true),
        ("http_proxy=p,no_proxy=*", "http://a.test/", false),
        ("http_proxy=p", "http://127.0.0.1:8080/", false),
        ("http_proxy=nonsense://p", "http://a.test/", false),
    ])
    func `proxy rules follow the environment variables`(variables: String, url: String, goesThrough: Bool)
        throws
    {
        var environment: [String: String] = [:]
        for pair in variables.split(separator: ",") {
            let parts = pair.split(separator: "=", omittingEmptySubsequences: false).map { String($0) }
            environment[parts[0]] = parts[1]
        }
        let rules = ProxyRules { environment[$0] }
        #expect((rules.proxy(for: try #require(WebURL(url))) != nil) == goesThrough)
    }

    @Test(arguments: [
        ("p", true), ("p:3128", true), ("http://p:3128/", true), ("http://u:p%40@[::1]:3128", true),
        ("https://p", true),
        ("socks4://p", true), ("socks4a://p", true), ("socks5://p", true), ("SOCKS5H://1.2.3.4:1080", true),
        ("", false),
        ("ftp://p", false), ("http://", false), ("http://p/path", false), ("http://p:99999", false),
        ("http://p?q", false),
    ])
    func `a proxy URL is parsed`(text: String, isProxy: Bool) {
        #expect((Proxy(text) != nil) == isProxy)
    }

    @Test(
        arguments: [
            (nil, "localhost", true), (nil, "a.localhost", true), (nil, "127.8.9.1", true),
            (nil, "[::1]", true),
            (nil, "a.test", false), (nil, "notlocalhost", false), (nil, "10.0.0.1", false),
            ("*", "a.test", true),
            ("a.test", "a.test", true), ("a.test", "x.a.test", true), ("a.test", "xa.test", false),
            (".a.test", "a.test", true),
            ("b.test, A.test", "a.test", true), ("b.test a.test.", "a.test", true),
            ("a.test", "a.test.", true),
            ("10.0.0.0/8", "10.9.9.9", true), ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.1", "10.0.0.1", true),
            ("fd00::/8", "[fd12::1]", true), ("fd00::/8", "[fe12::1]", false), ("[::2]", "[::2]", true),
            ("2001:db8:0:1::/80", "[2001:db8:0:1::9]", true),
            ("2001:db8:0:1::/80", "[2001:db8:0:1:1::]", false),
            ("0.0.0.0/0", "1.2.3.4", true), ("10.0.0.0/99", "10.0.0.1", false), ("*,a.test", "b.test", false),
        ] as [(String?, String, Bool)])
    func `hosts of no_proxy are connected to directly`(given: String?, host: String, isDirect: Bool) {
        #expect(DirectHosts(given: given).contains(host) == isDirect)
    }

    @Test func `an HTTP proxy gets the absolute URL`() throws {
        let proxy = try TestOrigin()
        proxy.otherwise { .page("\($0.target) \($0["Proxy-Authorization"] ?? "")") }
        let fetching = try TestFetcher { options in
            options.proxies.http = Proxy("http://u:p@127.0.0.1:\(proxy.port)")
        }
        let loop = try fetching.loop()
        let result = try fetching.result("http://far.test/x", in: loop)
        #expect(try result.response().text() == "http://far.test/x Basic dTpw")
        #expect(result.exchange?.usesProxy == true)
        #expect(result.exchange?.peer == IPAddress("127.0.0.1"))
        // The next request on the same handle uses no proxy.
        let direct = try fetching.result(proxy.url("/direct"), in: loop)
        #expect(try direct.response().text() == "/direct ")
        #expect(direct.exchange?.usesProxy == false)
    }

    @Test func `a SOCKS proxy gets the host name to look up`() throws {
        let origin = try TestOrigin()
        origin.on("/", .page("here"))
        let proxy = try SocksProxy(to: origin.port)
        let fetching = try TestFetcher { $0.proxies.http = Proxy("socks5h://127.0.0.1:\(proxy.port)") }
        #expect(try fetching.response("http://far.test/").text() == "here")
        #expect(proxy.destinations == ["far.test:80"])
    }

    @Test func `an unreachable proxy is not reported as an unknown host`() throws {
        let closed = try TestOrigin()
        let port = closed.port
        closed.stop()
        let fetching = try TestFetcher { $0.proxies.http = Proxy("http://u:SECRET@127.0.0.1:\(port)") }
        let failure = try fetching.failure("http://far.test/")
        #expect(failure.kind == .unreachable)
        #expect(!failure.description.contains("SECRET"))
    }

    @Test func `the proxy of the environment is not used without a proxy rule`() throws {
        let origin = try TestOrigin()
        origin.on("/", .page("here"))
        let fetching = try TestFetcher { options in
            options.hostAddresses = [try #require(HostAddress("near.test:\(origin.port):127.0.0.1"))]
        }
        #expect(try fetching.response("http://near.test:\(origin.port)/").text() == "here")
    }
}

@Suite struct HostAddressTests {
    @Test(arguments: [
        ("a.test:80:1.2.3.4", "a.test", 80, ["1.2.3.4"]), ("A.test:443:::1", "a.test", 443, ["::1"]),
        ("a.test:443:[::1],1.2.3.4", "a.test", 443, ["::1", "1.2.3.4"]),
        ("*:80:127.0.0.1", "*", 80, ["127.0.0.1"]),
    ])
    func `a host address is parsed`(text: String, host: String, port: Int, addresses: [String]) throws {
        let read = try #require(HostAddress(text))
        #expect(read.host == host)
        #expect(read.port == port)
        #expect(read.addresses.map(\.description) == addresses)
    }

    @Test(arguments: [
        "", "a", "a:80", ":80:1.2.3.4", "a:0:1.2.3.4", "a:65536:1.2.3.4", "a:x:1.2.3.4", "a:80:b", "a:80:",
        "a:80:1.2.3.4,",
    ])
    func `an invalid host address is refused`(text: String) {
        #expect(HostAddress(text) == nil)
    }

    @Test(arguments: [["a.test", "b.test"], ["*"]])
    func `a host address applies to all requests of the loop`(names: [String]) throws {
        let origin = try TestOrigin()
        origin.otherwise { .page($0["Host"] ?? "") }
        let fetching = try TestFetcher { options in
            options.hostAddresses = try names.map {
                try #require(HostAddress("\($0):\(origin.port):127.0.0.1"))
            }
        }
        let loop = try fetching.loop()
        for host in ["a.test", "b.test", "a.test"] {
            #expect(
                try fetching.response("http://\(host):\(origin.port)/", in: loop).text()
                    == "\(host):\(origin.port)")
        }
    }

    @Test(arguments: [(AddressFamily.ipv4, true), (.ipv6, false), (.any, true)])
    func `connections use only the chosen address family`(family: AddressFamily, works: Bool) throws {
        let origin = try TestOrigin()
        origin.on("/", .page("here"))
        let result = try TestFetcher { $0.family = family }.result(origin.url("/"))
        switch result.outcome {
        case .response: #expect(works)
        case .failure(let failure): #expect(!works && failure.kind != .machine)
        }
    }
}
