import Fetch
import TestOrigin
import Testing
import Web

@Suite struct HostAddressTests {
    @Test(arguments: [
        ("a.test:80:1.2.3.4", "a.test", 80, ["1.2.3.4"]), ("A.test:443:::1", "a.test", 443, ["::1"]),
        ("a.test:443:[::1],1.2.3.4", "a.test", 443, ["::1", "1.2.3.4"]), ("*:80:127.0.0.1", "*", 80, ["127.0.0.1"]),
    ])
    func `an address is read`(text: String, host: String, port: Int, addresses: [String]) throws {
        let read = try #require(HostAddress(text))
        #expect(read.host == host)
        #expect(read.port == port)
        #expect(read.addresses.map(\.description) == addresses)
    }

    @Test(arguments: [
        "", "a", "a:80", ":80:1.2.3.4", "a:0:1.2.3.4", "a:65536:1.2.3.4", "a:x:1.2.3.4", "a:80:b", "a:80:",
        "a:80:1.2.3.4,",
    ])
    func `what is none is refused`(text: String) {
        #expect(HostAddress(text) == nil)
    }

    @Test(arguments: [["a.test", "b.test"], ["*"]])
    func `a host is where it is said to be, for the whole run`(names: [String]) throws {
        let origin = try TestOrigin()
        origin.otherwise { .page($0["Host"] ?? "") }
        let fetching = try Fetching { options in
            options.hostAddresses = try names.map { try #require(HostAddress("\($0):\(origin.port):127.0.0.1")) }
        }
        let loop = try fetching.loop()
        for host in ["a.test", "b.test", "a.test"] {
            #expect(
                try fetching.response("http://\(host):\(origin.port)/", in: loop).text() == "\(host):\(origin.port)")
        }
    }

    @Test(arguments: [(AddressFamily.ipv4, true), (.ipv6, false), (.any, true)])
    func `a family can be left out`(family: AddressFamily, works: Bool) throws {
        let origin = try TestOrigin()
        origin.on("/", .page("here"))
        let result = try Fetching { $0.family = family }.result(origin.url("/"))
        switch result.outcome {
        case .response: #expect(works)
        case .failure(let failure): #expect(!works && failure.kind != .machine)
        }
    }
}
