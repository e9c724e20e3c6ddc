/// Where the portal has what. Every address is a path, so that it holds under whichever name the portal is reached.
struct PortalLinks {
    let home = "/"

    static let search = "/-/search"
    static let scripts = "/-/scripts"
    static let sites = "/-/sites/"
    static let page = "/-/page"

    func site(_ id: Int64) -> String { "\(Self.sites)\(id)" }

    func folder(_ prefix: String, of site: Int64, after: String? = nil) -> String {
        Self.address("\(self.site(site))/pages", [("under", prefix), ("after", after)])
    }

    func missing(of site: Int64, kind: String? = nil, after: Int64? = nil) -> String {
        Self.address("\(self.site(site))/missing", [("kind", kind), ("after", after.map { "\($0)" })])
    }

    func changes(of site: Int64, from: Int64? = nil, to: Int64? = nil, kind: String? = nil, page: Int? = nil) -> String
    {
        Self.address(
            "\(self.site(site))/changes",
            [
                ("from", from.map { "\($0)" }), ("to", to.map { "\($0)" }), ("kind", kind),
                ("page", page.map { "\($0)" }),
            ])
    }

    func search(_ words: String, in site: Int64?, after: String? = nil) -> String {
        let path = site.map { "\(self.site($0))/search" } ?? Self.search
        return Self.address(path, [("q", words), ("after", after)])
    }

    func scripts(after: String? = nil) -> String { Self.address(Self.scripts, [("after", after)]) }

    func details(_ href: String, links: String? = nil, after: Int64? = nil) -> String {
        Self.address(Self.page, [("url", href), ("links", links), ("after", after.map { "\($0)" })])
    }

    private static func address(_ path: String, _ fields: [(name: String, value: String?)]) -> String {
        var bytes = Array(path.utf8)
        var separator = UInt8(ascii: "?")
        for field in fields {
            guard let value = field.value else { continue }
            bytes.append(separator)
            bytes.append(contentsOf: field.name.utf8)
            bytes.append(UInt8(ascii: "="))
            append(value, to: &bytes)
            separator = UInt8(ascii: "&")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Slashes and colons may stand in a query, where people can then read them.
    private static func append(_ value: String, to bytes: inout [UInt8]) {
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in value.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"), UInt8(ascii: "/"), UInt8(ascii: ":"):
                bytes.append(byte)
            default:
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
    }
}
