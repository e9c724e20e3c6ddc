import TestOrigin
import Testing
import Web

@Suite(
    "WebURL against the web platform's tests", .enabled(if: ConformanceData.isThere, URLConformance.absence))
struct URLConformanceTests {
    @Test("every table was read to its end")
    func tables() {
        #expect(Parsing.all.count == 891)
        #expect(Domain.all(in: "toascii.json").count == 87)
        #expect(Domain.all(in: "IdnaTestV2.json").count == 2671)
        // The 78th case tests `null`, which is not a name.
        #expect(SuffixCase.all.count == 77)
        #expect(Resolution.all.count == 22)
        #expect(Query.all.count >= 14)
    }

    struct Parsing: Sendable, CustomTestStringConvertible {
        let input: String
        let base: String?
        /// Nil if parsing fails.
        let parts: [String: String]?

        static let all = URLConformance.objects(in: "urltestdata.json").map { object in
            var parts: [String: String] = [:]
            for member in object.members ?? [] { parts[member.key] = member.value.string }
            return Parsing(
                input: object["input"]?.string ?? "",
                base: object["base"]?.string,
                parts: object["failure"] == nil ? parts : nil)
        }

        var testDescription: String { "\(input) against \(base ?? "nothing")" }
    }

    @Test(
        "urltestdata.json: each input has the expected serialization and components, or fails",
        arguments: Parsing.all)
    func parsing(_ test: Parsing) throws {
        let base = test.base.flatMap { WebURL($0) }
        let url = base == nil && test.base != nil ? nil : WebURL(test.input, base: base)
        guard let parts = test.parts else {
            #expect(url == nil)
            return
        }
        let parsed = try #require(url)
        #expect(parsed.href == parts["href"])
        #expect(parsed.scheme + ":" == parts["protocol"])
        #expect(parsed.username == parts["username"])
        #expect(parsed.password == parts["password"])
        #expect(parsed.host == parts["hostname"])
        #expect((parsed.port.map(String.init) ?? "") == parts["port"])
        #expect(parsed.path == parts["pathname"])
        #expect(parts["search"] == (parsed.query.map { $0.isEmpty ? "" : "?" + $0 } ?? ""))
        #expect(parts["hash"] == (parsed.fragment.map { $0.isEmpty ? "" : "#" + $0 } ?? ""))
        if let origin = parts["origin"] { #expect(parsed.origin == origin) }
    }

    struct Domain: Sendable, CustomTestStringConvertible {
        let input: String
        let output: String?

        static func all(in name: String) -> [Domain] {
            URLConformance.objects(in: name).map {
                Domain(input: $0["input"]?.string ?? "", output: $0["output"]?.string)
            }
        }

        var testDescription: String { input }

        /// Compares the host of a URL with the expected one. An empty input is skipped: a URL cannot have an empty host.
        func check() {
            guard !input.isEmpty else { return }
            #expect(WebURL("https://\(input)/x")?.host == (output == "" ? nil : output))
        }
    }

    @Test("toascii.json: each domain has its ASCII form, or none", arguments: Domain.all(in: "toascii.json"))
    func toASCII(_ domain: Domain) {
        domain.check()
    }

    @Test(
        "IdnaTestV2.json: each domain has the expected ASCII form, or fails",
        arguments: Domain.all(in: "IdnaTestV2.json"))
    func idnaTestV2(_ domain: Domain) {
        if let reason = Self.exceptions[domain.output ?? ""] {
            withKnownIssue(reason, isIntermittent: true) { domain.check() }
        } else {
            domain.check()
        }
    }

    /// Rows that fail with an older ICU, by the expected result, with the reason.
    private static let exceptions: [String: Comment] = [
        "xn--20-9802c.xn--0w5a.xn--1-eg4e.":
            "U+32931 is assigned since Unicode 17, which ICU supports since version 78",
        "xn--9-i0j5967eg3qz.ss": "U+32B9A is assigned since Unicode 17, which ICU supports since version 78",
    ]

    @Test("psl-test.txt: each name has its registrable domain, or none", arguments: SuffixCase.all)
    func registrableDomain(_ testCase: SuffixCase) {
        let host = WebURL("http://\(testCase.host)/")?.host ?? testCase.host
        #expect(
            PublicSuffixes.system.registrableDomain(of: host)
                == testCase.domain.flatMap { WebURL("http://\($0)/")?.host })
    }

    /// `checkPublicSuffix('a.example.com', 'example.com');`
    struct SuffixCase: Sendable, CustomTestStringConvertible {
        let host: String
        let domain: String?

        static let all: [SuffixCase] = URLConformance.lines(of: "psl-test.txt").compactMap { line in
            guard line.hasPrefix("checkPublicSuffix(") else { return nil }
            let fields = line.split(separator: "'", omittingEmptySubsequences: false)
            guard fields.count >= 3 else { return nil }
            return SuffixCase(host: String(fields[1]), domain: fields.count >= 5 ? String(fields[3]) : nil)
        }

        var testDescription: String { host }
    }

    @Test("url-resolve.csv: each reference resolves to its URL", arguments: Resolution.all)
    func resolving(_ testCase: Resolution) {
        #expect(WebURL(testCase.input, base: WebURL(testCase.base))?.href == testCase.result)
    }

    struct Resolution: Sendable, CustomTestStringConvertible {
        let input: String
        let base: String
        let result: String

        static let all: [Resolution] = URLConformance.lines(of: "url-resolve.csv").compactMap { line in
            let fields = line.split(separator: ", ").map { $0.drop { $0 == "\"" } }
            guard fields.count == 3, !line.hasPrefix("# ") else { return nil }
            let bare = fields.map { String($0.hasSuffix("\"") ? $0.dropLast() : $0) }
            return Resolution(input: bare[0], base: bare[1], result: bare[2])
        }

        var testDescription: String { "\(input) against \(base)" }
    }

    @Test("percent-encoding.json: a query is encoded in the document's character set", arguments: Query.all)
    func queryEncoding(_ testCase: Query) throws {
        let encoding = try #require(TextEncoding(label: testCase.label))
        let url = WebURL(
            utf8: "http://example.com/?\(testCase.input)#\(testCase.input)".utf8.span, queryEncoding: encoding
        )
        #expect(url?.query == testCase.output)
    }

    struct Query: Sendable, CustomTestStringConvertible {
        let input: String
        let label: String
        let output: String

        static let all = URLConformance.objects(in: "percent-encoding.json").flatMap { object in
            (object["output"]?.members ?? []).map {
                Query(input: object["input"]?.string ?? "", label: $0.key, output: $0.value.string ?? "")
            }
        }

        var testDescription: String { "\(input) in \(label)" }
    }
}

/// The test tables about URLs of other projects.
enum URLConformance {
    static let absence: Comment = "the conformance data is not there (LARDER_CONFORMANCE)"

    /// The objects of a table. The strings between them are comments.
    static func objects(in name: String) -> [JSONValue] {
        let bytes = ConformanceData.bytes("url/" + name)
        guard ConformanceData.isThere, let table = try? JSONValue.parse(bytes.span) else { return [] }
        return (table.array ?? []).filter { $0.members != nil }
    }

    static func lines(of name: String) -> [Substring] {
        String(decoding: ConformanceData.bytes("url/" + name), as: UTF8.self).split(separator: "\n")
    }
}
