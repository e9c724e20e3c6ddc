import Testing
import Web

@Suite("WebURL under mutation")
struct WebURLMutationTests {
    private static let references = [
        "https://user:pass@example.com:8080/a/b/../c?d=e&f#g", "../os.html#x", "foo/bar.css?x=1", "/a/b",
        "#frag", "?q",
        "//cdn.example.com/x", "http://[2001:db8::1.2.3.4]/", "http://0x7f.0.0.1/", "file:///C|/a/../b",
        "file://host/x",
        "mailto:a@b c?d #e", "foo:/.//bar", "foo://[::1]:99/%2e/..", "http://bücher.example/ü?ü#ü",
        "data:text/html,<a b>",
        "blob:https://a/b", "javascript:void(0)", "https://xn--bcher-kva.example./%zz%2E",
        "ws://h:80/\\..\\a", "./a:b",
    ]
    private static let bases = [
        nil, "https://docs.example.org/3/library/sys.html?q#f", "http://h/", "file:///C:/a/b", "file://h/a",
        "foo:/a/b",
        "foo://h", "data:,x", "wss://h/a?b",
    ].map { $0.flatMap { WebURL($0) } }
    private static let specialBytes =
        Array(":/\\?#@[]%.|&2eE \t\n\0xC|a0~^'`\u{E9}\u{3002}".utf8) + [0xFF, 0xC3]

    @Test("no mutation crashes, and a serialized URL parses to itself", arguments: UInt64(0)..<8)
    func roundTrip(seed: UInt64) {
        var random = SplitMix(state: seed)
        for _ in 0..<2_000 {
            let bytes = Self.mutation(&random)
            let base = Self.bases[random.below(Self.bases.count)]
            guard let url = WebURL(utf8: bytes.span, base: base) else { continue }
            let again = WebURL(url.href)
            #expect(again == url, "from \(bytes)")
            #expect(again.map(Self.parts) == Self.parts(url), "from \(bytes)")
            #expect(url.href.utf8.allSatisfy { $0 < 0x80 })
            #expect(url.withoutFragment.href == url.href.prefix { $0 != "#" })
            let bare = url.withoutCredentials
            #expect(WebURL(bare.href).map(Self.parts) == Self.parts(bare))
        }
    }

    /// Inserts a tab, which the standard removes. It does not change the result, but prevents the fast path.
    @Test("the fast path resolves references as the standard does", arguments: UInt64(0)..<8)
    func fastPath(seed: UInt64) {
        var random = SplitMix(state: seed)
        for _ in 0..<1_000 {
            let bytes = Self.mutation(&random).filter { $0 > 0x20 }
            // A tab within a UTF-8 sequence would make it malformed.
            guard bytes.count >= 2, bytes[0] < 0x80 else { continue }
            var withTab = bytes
            withTab.insert(0x09, at: 1)
            for base in Self.bases {
                let fast = WebURL(utf8: bytes.span, base: base)
                let general = WebURL(utf8: withTab.span, base: base)
                #expect(fast == general, "from \(bytes)")
                #expect(fast.map(Self.parts) == general.map(Self.parts), "from \(bytes)")
            }
        }
    }

    private static func mutation(_ random: inout SplitMix) -> [UInt8] {
        var bytes = Array(references[random.below(references.count)].utf8)
        for _ in 0..<random.below(4) {
            let place = random.below(bytes.count + 1)
            switch random.below(4) {
            case 0: bytes.insert(specialBytes[random.below(specialBytes.count)], at: place)
            case 1 where place < bytes.count: bytes.remove(at: place)
            case 2 where place < bytes.count: bytes[place] = specialBytes[random.below(specialBytes.count)]
            default:
                bytes.insert(contentsOf: references[random.below(references.count)].utf8.prefix(6), at: place)
            }
        }
        return bytes
    }

    private static func parts(_ url: WebURL) -> [String?] {
        [
            url.scheme, url.username, url.password, url.host, url.port.map(String.init), url.path, url.query,
            url.fragment, url.origin,
        ]
    }
}

/// A small random number generator with the same sequence on every machine.
private struct SplitMix {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
    }
}
