import Testing
import Web

@testable import Mirror
@testable import Origins

@Suite struct OriginNamesTests {
    private static let list = "com\nuk\nco.uk\nio\ngithub.io\n*.kawasaki.jp\njp\n"
    private let names = OriginNames(suffixes: PublicSuffixes(list: Array(list.utf8).span))

    @Test func `no site has the portal's name`() throws {
        let url = try #require(WebURL("http://larder/"))
        #expect(names.name(of: url) != "larder.localhost")
        #expect(names.name(of: try #require(WebURL("http://x.larder/"))) != "x.larder.localhost")
    }

    @Test(arguments: [
        ("https://example.com", "example-com"),
        ("http://example.com", "example-com"),
        ("https://www.bbc.co.uk", "www.bbc-co-uk"),
        ("https://static.news.bbc.co.uk", "static.news.bbc-co-uk"),
        ("https://a-b.co.uk", "a--b-co-uk"),
        ("https://someone.github.io", "someone-github-io"),
        ("https://github.io", "github-io"),
        ("https://x.y.z.kawasaki.jp", "x.y-z-kawasaki-jp"),
        ("http://127.0.0.1:9000", "port-9000.127-0-0-1"),
        ("https://www.example.com:8443", "port-8443.www.example-com"),
        ("https://example.com:80", "port-80.example-com"),
        ("http://[2001:db8::1]", "ipv6-2001-db8--1"),
        ("http://[::1]:8080", "port-8080.ipv6---1"),
        ("http://localhost:3000", "port-3000.localhost"),
        ("https://intranet", "intranet"),
        ("https://bücher.com", "-xn----bcher--kva-com"),
        ("https://www.bücher.com", "www.-xn----bcher--kva-com"),
        ("http://1-2.com", "1--2-com"),
        ("https://-a.com", "--a-com"),
        ("https://a-.com", "a---com"),
        ("https://example.com.", "example-com-"),
    ])
    func `an origin is encoded with one label per registrable domain, and decoded again`(
        origin: String, name: String
    ) throws {
        let url = try #require(WebURL(origin + "/a?b"))
        #expect(names.name(of: url) == name + ".localhost")
        guard case .origins(let origins)? = names.decode(name + ".localhost") else {
            Issue.record("\(name) is not read back")
            return
        }
        #expect(origins.contains { WebURL($0)?.origin == url.origin })
    }

    @Test(arguments: [
        ("https://example.com", "past-7-example-com"), ("https://www.bbc.co.uk", "www.past-7-bbc-co-uk"),
        ("https://www.example.com:8443", "port-8443.www.past-7-example-com"),
        ("http://[2001:db8::1]", "past-7-ipv6-2001-db8--1"),
        ("https://bücher.com", "past-7--xn----bcher--kva-com"),
        ("https://\(String(repeating: "a", count: 50)).co.uk", nil),
    ])
    func `every origin has another name in each snapshot, and is decoded again`(origin: String, name: String?)
        throws
    {
        let url = try #require(WebURL(origin + "/"))
        let found = try #require(names.name(of: url, in: 7))
        #expect(name == nil || found == name.map { $0 + ".localhost" })
        #expect(found.split(separator: ".").allSatisfy { $0.utf8.count <= 63 })
        #expect(OriginNames.snapshot(in: found)?.number == 7)
        #expect(found != names.name(of: url) && found != names.name(of: url, in: 8))
        guard case .origins(let origins)? = names.decode(found) else {
            Issue.record("\(found) is not read back")
            return
        }
        #expect(origins.contains { WebURL($0)?.origin == url.origin })
        // The name of a host never looks like that of a snapshot.
        let posing = try #require(WebURL("https://snapshot.7.example/"))
        #expect(names.name(of: posing).flatMap(OriginNames.snapshot) == nil)
    }

    @Test(arguments: [
        "past-7-.localhost", "past-07-a-com.localhost", "past--a-com.localhost", "past-7.localhost",
    ])
    func `a name that only resembles a snapshot's name is not decoded`(name: String) {
        #expect(OriginNames.snapshot(in: name) == nil)
    }

    @Test(arguments: [
        // These labels would be decoded as something else.
        "https://a.-com", "https://ipv6.abcd-1", "https://port-80.example.com",
        "https://hash.abcdefghijklmnopqrstuvwxyz", "https://hash-abcdefghijklmnopqrstuvwxyz.com.example.com",
        // These labels are too long.
        "https://\(String(repeating: "a", count: 61)).co.uk",
        "https://\(Array(repeating: String(repeating: "b", count: 50), count: 5).joined(separator: ".")).co.uk",
    ])
    func `an ambiguous or long label is a digest, decodable once the origin was named`(origin: String) throws
    {
        let url = try #require(WebURL(origin + "/"))
        let name = try #require(names.name(of: url))
        #expect(name.utf8.contains("hash-".utf8))
        #expect(name.split(separator: ".").allSatisfy { $0.utf8.count <= 63 })
        #expect(name.utf8.count <= 253)
        guard case .origins(let origins)? = names.decode(name) else {
            Issue.record("\(name) is not known again")
            return
        }
        #expect(origins.contains(url.origin))
        let others = OriginNames(suffixes: PublicSuffixes(list: Array(Self.list.utf8).span))
        #expect(others.decode(name) == .unknownDigest)
        others.learn(origin)
        #expect(others.decode(name) == names.decode(name))
    }

    @Test(arguments: [
        ("example.com.localhost", "https://example.com"),
        ("www.bbc.co.uk.localhost", "https://www.bbc.co.uk"),
        ("127.0.0.1--9000.localhost", "http://127.0.0.1:9000"),
        ("example.com--8443.localhost", "http://example.com:8443"),
        ("2001-db8--1.ipv6.localhost", "https://[2001:db8::1]"),
        ("--1.ipv6--8080.localhost", "http://[::1]:8080"),
        ("bbc.co-uk.localhost", "https://bbc.co.uk"),
        ("xn--bcher-kva.com.localhost", "https://xn--bcher-kva.com"),
    ])
    func `an old or hand-typed name is an alias of the current name`(
        name: String, origin: String
    ) {
        #expect(names.decode(name) == .alias(of: origin))
    }

    @Test(arguments: [
        "localhost", "example.com", ".localhost", "", "localhost.example.com", "xlocalhost", "a b.localhost",
    ])
    func `a name outside localhost is not decoded`(name: String) {
        #expect(names.decode(name) == nil)
    }

    @Test func `other schemes have no name`() throws {
        #expect(names.name(of: try #require(WebURL("data:,x"))) == nil)
        #expect(names.name(of: try #require(WebURL("ftp://a/"))) == nil)
    }

    @Test
    func
        `hosts with one registrable domain are one site, and without the suffix list each host is its own site`()
    {
        #expect(names.isSameSite("www.bbc.co.uk", "static.bbc.co.uk"))
        #expect(!names.isSameSite("bbc.co.uk", "evil.co.uk"))
        #expect(!names.isSameSite("a.github.io", "b.github.io"))
        #expect(!names.isSameSite("127.0.0.1", "127.0.0.2"))
        let blind = OriginNames(suffixes: PublicSuffixes(list: Array("".utf8).span))
        #expect(!blind.isSameSite("www.bbc.co.uk", "static.bbc.co.uk"))
        #expect(blind.name(of: WebURL("https://www.bbc.co.uk/") ?? .blank) == "www-bbc-co-uk.localhost")
    }

    /// Two hosts with the same name would share an origin in the browser.
    @Test func `no two hosts have one name`() throws {
        let labels = [
            "a", "-", "a-", "-a", "a--b", "port-80", "ipv6", "hash", "xn--a", "1", "co", "com", "uk", "b-",
        ]
        var hosts: [String: String] = [:]
        for first in labels {
            for second in labels {
                for third in labels {
                    for host in ["\(first).\(second).\(third)", "\(first).\(second)", first] {
                        guard let url = WebURL("https://\(host)/"), let name = names.name(of: url) else {
                            continue
                        }
                        #expect(hosts[name] ?? url.host == url.host, "\(name)")
                        hosts[name] = url.host
                    }
                }
            }
        }
        #expect(hosts.count > 1000)
    }
}
