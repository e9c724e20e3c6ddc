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
            ("[::1]", nil), ("a.xn--55qx5d.cn", "a.xn--55qx5d.cn"), (".", nil),
        ] as [(String, String?)])
    func registrableDomain(host: String, domain: String?) {
        #expect(PublicSuffixes(list: Self.list.utf8.span).registrableDomain(of: host) == domain)
    }
}
