import Testing
import Web

@Suite("PublicSuffixes")
struct PublicSuffixesTests {
    private static let list = """
        // A small list of rules.
        com
        uk
        co.uk  what follows is no rule
        *.ck
        !www.ck
        github.io
        公司.cn
        *.city.uk
        """

    @Test(
        "a host has its registrable domain, or none",
        arguments: [
            ("example.com", "example.com"), ("a.b.example.com", "example.com"), ("com", nil), ("", nil),
            ("example.co.uk", "example.co.uk"), ("a.example.co.uk", "example.co.uk"), ("co.uk", nil),
            ("example.uk", "example.uk"), ("a.b.ck", "a.b.ck"), ("b.ck", nil), ("www.ck", "www.ck"),
            ("a.www.ck", "www.ck"), ("user.github.io", "user.github.io"), ("x.unlisted", "x.unlisted"),
            ("unlisted", nil), ("example.com.", "example.com"), (".com", nil), ("a..com", nil),
            ("127.0.0.1", nil),
            ("[::1]", nil), ("a.com..", nil), ("192.0.2.1.", nil),
            // A name with a wildcard below it is itself a suffix.
            ("city.uk", nil), ("a.city.uk", nil), ("b.a.city.uk", "b.a.city.uk"),
            ("a.xn--55qx5d.cn", "a.xn--55qx5d.cn"), (".", nil),
        ] as [(String, String?)])
    func registrableDomain(host: String, domain: String?) {
        #expect(PublicSuffixes(list: Self.list.utf8.span).registrableDomain(of: host) == domain)
    }

    @Test("without rules, every top-level domain is a suffix", arguments: ["", "// A comment.\n"])
    func emptyList(list: String) {
        let suffixes = PublicSuffixes(list: Array(list.utf8).span)
        #expect(suffixes.isEmpty)
        #expect(suffixes.registrableDomain(of: "www.example.co.uk") == "co.uk")
        #expect(suffixes.registrableDomain(of: "uk") == nil)
    }

    @Test("the list of the system has rules") func systemList() {
        #expect(!PublicSuffixes.system.isEmpty)
        #expect(PublicSuffixes.system.registrableDomain(of: "www.example.co.uk") == "example.co.uk")
    }
}
