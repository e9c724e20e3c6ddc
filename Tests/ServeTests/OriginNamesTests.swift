import Testing
import Web

@testable import Serve

@Suite struct OriginNamesTests {
    @Test(arguments: [
        ("https://example.com", "example.com.localhost"),
        ("http://example.com", "example.com.localhost"),
        ("http://127.0.0.1:9000", "127.0.0.1--9000.localhost"),
        ("https://example.com:8443", "example.com--8443.localhost"),
        ("http://[2001:db8::1]", "2001-db8--1.ipv6.localhost"),
        ("http://[::1]:8080", "--1.ipv6--8080.localhost"),
        ("http://localhost:3000", "localhost--3000.localhost"),
        ("https://bücher.example", "xn--bcher-kva.example.localhost"),
        ("http://a.xn--90", "a.xn--90.localhost"),
        ("http://odd--80", "odd--80--80.localhost"),
        ("https://odd--80", "odd--80--443.localhost"),
        ("http://[::5000]", "--5000.ipv6.localhost"),
    ])
    func `an origin has a name, and the name leads back`(origin: String, name: String) throws {
        let url = try #require(WebURL(origin + "/a?b"))
        #expect(OriginNames.name(of: url) == name)
        let origins = OriginNames.origins(of: name).compactMap { WebURL($0)?.origin }
        #expect(origins.contains(url.origin))
    }

    @Test(arguments: ["localhost", "example.com", ".localhost", "", "localhost.example.com", "xlocalhost"])
    func `what is not below localhost is none of ours`(name: String) {
        #expect(OriginNames.origins(of: name).isEmpty)
    }

    @Test func `other schemes have no name`() throws {
        #expect(OriginNames.name(of: try #require(WebURL("data:,x"))) == nil)
        #expect(OriginNames.name(of: try #require(WebURL("ftp://a/"))) == nil)
    }
}
