internal import Web

extension CheckReport {
    /// The findings that are not verified, as SARIF 2.1.0 (OASIS): a rule for each verdict, a result for each
    /// finding.
    var sarif: String {
        let run: JSONMembers = [
            "tool": ["driver": driver] as JSONMembers, "columnKind": "utf16CodeUnits", "results": results,
        ]
        let log: JSONMembers = [
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run],
        ]
        return log.text()
    }

    private static let rules = Verdict.allCases.filter { $0 != .verified }

    private var driver: JSONMembers {
        let rules = Self.rules.map { rule -> JSONMembers in
            let level = failsOn.contains(rule) ? "error" : rule.lowerLevel
            return [
                "id": rule.rawValue, "shortDescription": ["text": rule.meaning] as JSONMembers,
                "defaultConfiguration": ["level": level] as JSONMembers,
            ]
        }
        return ["name": Product.token, "version": Product.version, "rules": rules]
    }

    private var results: [JSONMembers] {
        items.flatMap { item in
            zip(places, item.findings).filter { $1.verdict != .verified }.map { result(of: item, $1, at: $0) }
        }
    }

    /// One result of SARIF (section 3.27).
    private func result(of item: Item, _ finding: Finding, at place: String) -> JSONMembers {
        var message = "\(finding.url): \(finding.sentence)"
        if !item.chain.isEmpty { message += "\nvia " + item.chain.joined(separator: " > ") }
        let fingerprint = "\(finding.verdict.rawValue) \(item.name) \(place)"
        return [
            "ruleId": finding.verdict.rawValue, "ruleIndex": Self.rules.firstIndex(of: finding.verdict) ?? 0,
            "level": fails(finding, of: item) ? "error" : finding.verdict.lowerLevel,
            "message": ["text": message] as JSONMembers,
            "locations": [["physicalLocation": location(of: item, finding)] as JSONMembers],
            // Identifies the same result in later runs (section 3.27.17).
            "partialFingerprints": ["larderCheck/v1": fingerprint] as JSONMembers,
        ]
    }

    /// The location in the manifest if that is a file, else the resource itself.
    private func location(of item: Item, _ finding: Finding) -> JSONMembers {
        let uri = item.line == nil ? finding.url : Self.uriReference(name)
        return [
            "artifactLocation": ["uri": uri] as JSONMembers,
            "region": IfAny(item.line.map { ["startLine": $0] as JSONMembers }),
        ]
    }

    /// Returns the path as a URI reference (RFC 3986).
    private static func uriReference(_ path: String) -> String {
        if WebURL(path)?.isHTTP == true { return path }
        var bytes: [UInt8] = []
        for byte in path.utf8 {
            switch byte {
            case 0x2d...0x39, 0x41...0x5a, 0x5f, 0x61...0x7a, 0x7e: bytes.append(byte)
            default:
                let digits = Array("0123456789ABCDEF".utf8)
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension CheckReport.Verdict {
    fileprivate var meaning: String {
        switch self {
        case .verified: "It is as expected"
        case .broken: "It does not exist on the live site"
        case .notFetched: "It was skipped because of a limit, robots.txt or a suspected trap"
        case .unverifiable: "It can be neither confirmed nor refuted"
        case .skew: "It belongs to another release than expected"
        case .missing: "It is missing"
        case .mismatch: "It does not match what is expected"
        }
    }

    /// The SARIF or GitHub level of a finding that does not fail the check.
    fileprivate var lowerLevel: String {
        switch self {
        case .verified, .broken, .notFetched: "note"
        case .unverifiable, .skew, .missing, .mismatch: "warning"
        }
    }
}

/// A check as JUnit XML, which CI servers collect: a suite for each place, a case for each item. It uses only
/// attributes in Jenkins' schema (junit-10.xsd), so the item's line in the manifest is in the text of the
/// failure.
struct JUnitReport {
    private let report: CheckReport

    init(_ report: CheckReport) {
        self.report = report
    }

    var text: String {
        let places = report.places.indices
        let failures = places.reduce(0) { $0 + failureCount(at: $1) }
        let counts = Self.counts(report.items.count * places.count, failures)
        let suites = places.flatMap(suite)
        let lines =
            ["<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "<testsuites name=\"larder check\"\(counts)>"]
            + suites
            + ["</testsuites>"]
        return lines.joined(separator: "\n")
    }

    private func suite(at place: Int) -> [String] {
        let counts =
            Self.counts(report.items.count, failureCount(at: place))
            + " skipped=\"\(skippedCount(at: place))\""
        let name = XMLText.attribute("name", report.places[place])
        let cases = report.items.flatMap { testCase(of: $0, at: place) }
        return ["  <testsuite\(name)\(counts)>"] + cases + ["  </testsuite>"]
    }

    private func testCase(of item: CheckReport.Item, at place: Int) -> [String] {
        let finding = item.findings[place]
        var start =
            "    <testcase" + XMLText.attribute("name", item.name)
            + XMLText.attribute("classname", report.name)
        start += " time=\"0\""
        if report.fails(finding, of: item) {
            let message = XMLText.attribute("message", finding.sentence)
            let type = XMLText.attribute("type", finding.verdict.rawValue)
            let text = XMLText.escaped(lines(of: item, finding).joined(separator: "\n"))
            return [start + ">", "      <failure\(message)\(type)>\(text)</failure>", "    </testcase>"]
        }
        guard finding.verdict != .verified else { return [start + "/>"] }
        let message = XMLText.attribute("message", finding.sentence)
        return [start + ">", "      <skipped\(message)/>", "    </testcase>"]
    }

    private func lines(of item: CheckReport.Item, _ finding: CheckReport.Finding) -> [String] {
        [finding.url, finding.sentence]
            + (item.line.map { ["\(report.name):\($0)"] } ?? [])
            + (item.chain.isEmpty ? [] : ["via " + item.chain.joined(separator: " > ")])
    }

    private static func counts(_ tests: Int, _ failures: Int) -> String {
        " tests=\"\(tests)\" failures=\"\(failures)\" errors=\"0\" time=\"0\""
    }

    private func failureCount(at place: Int) -> Int {
        report.items.count { report.fails($0.findings[place], of: $0) }
    }

    private func skippedCount(at place: Int) -> Int {
        report.items.count { item in
            let finding = item.findings[place]
            return finding.verdict != .verified && !report.fails(finding, of: item)
        }
    }
}

/// A check in the Test Anything Protocol, version 14: a test point for each item in each place.
struct TAPReport {
    private let report: CheckReport

    init(_ report: CheckReport) {
        self.report = report
    }

    var text: String {
        var lines = ["TAP version 14", "1..\(report.items.count * report.places.count)"]
        var number = 0
        for (column, place) in report.places.enumerated() {
            for item in report.items {
                number += 1
                lines += point(number, item, item.findings[column], at: place)
            }
        }
        return lines.joined(separator: "\n")
    }

    private func point(
        _ number: Int, _ item: CheckReport.Item, _ finding: CheckReport.Finding, at place: String
    ) -> [String] {
        let name = Self.description(report.places.count > 1 ? "\(item.name) at \(place)" : item.name)
        if finding.verdict == .verified { return ["ok \(number) - \(name)"] }
        guard report.failsOn.contains(finding.verdict) else {
            return ["ok \(number) - \(name) # SKIP \(Self.description(finding.sentence))"]
        }
        // In TAP, a test point with TODO may fail.
        let mark = item.isRequired ? "" : " # TODO optional"
        return ["not ok \(number) - \(name)\(mark)"] + diagnostics(item, finding)
    }

    /// Returns a YAML block. Its strings are written as JSON strings.
    private func diagnostics(_ item: CheckReport.Item, _ finding: CheckReport.Finding) -> [String] {
        var members = [("verdict", finding.verdict.rawValue), ("url", finding.url)]
        if let detail = finding.explanation { members.append(("message", detail)) }
        var lines = members.map { "  \($0): \(Self.jsonString($1))" }
        if !item.chain.isEmpty {
            lines.append("  chain: [\(item.chain.map(Self.jsonString).joined(separator: ", "))]")
        }
        return ["  ---"] + lines + ["  ..."]
    }

    /// A text as a JSON string, which is also a valid YAML string.
    private static func jsonString(_ text: String) -> String {
        var writer = JSONWriter()
        writer.string(text)
        return writer.text
    }

    /// Escapes number signs, which would start a directive, and line feeds.
    private static func description(_ text: String) -> String {
        text.escaping { $0 == "\n" || $0 == "\r" ? " " : nil }.visible
            .escaping { $0 == "\\" || $0 == "#" ? "\\\($0)" : nil }
    }
}

/// A check as annotations in a log of GitHub Actions: failures are errors at the manifest's line, other
/// findings are warnings or notices.
struct GitHubReport {
    private let report: CheckReport

    init(_ report: CheckReport) {
        self.report = report
    }

    var text: String {
        var lines: [String] = []
        for item in report.items {
            for (place, finding) in zip(report.places, item.findings) where finding.verdict != .verified {
                lines.append(annotation(of: item, finding, at: place))
            }
        }
        lines.append("::notice title=larder check::" + Self.data("\(report.name): \(report.summary)"))
        return lines.joined(separator: "\n")
    }

    private func annotation(of item: CheckReport.Item, _ finding: CheckReport.Finding, at place: String)
        -> String
    {
        var properties: [String] = []
        if let line = item.line { properties += ["file=\(Self.property(report.name))", "line=\(line)"] }
        properties.append("title=\(Self.property("larder check: \(finding.verdict.rawValue)"))")
        var message = "\(finding.url): \(finding.sentence)"
        if report.places.count > 1 { message += " (\(place))" }
        if !item.chain.isEmpty { message += "\nvia " + item.chain.joined(separator: " > ") }
        return "::\(level(of: finding, of: item)) \(properties.joined(separator: ","))::\(Self.data(message))"
    }

    private func level(of finding: CheckReport.Finding, of item: CheckReport.Item) -> String {
        if report.fails(finding, of: item) { return "error" }
        return finding.verdict == .broken || finding.verdict == .notFetched ? "notice" : "warning"
    }

    /// Escapes text for a workflow command. The runner reads a command up to the end of its line and reverses
    /// this.
    private static func data(_ text: String) -> String {
        text.escaping { scalar in
            switch scalar {
            case "%": "%25"
            case "\r": "%0D"
            case "\n": "%0A"
            // Terminal control characters are made visible.
            default: String(scalar).visible == String(scalar) ? nil : String(scalar).visible
            }
        }
    }

    private static func property(_ text: String) -> String {
        data(text).escaping { $0 == ":" ? "%3A" : $0 == "," ? "%2C" : nil }
    }
}

/// Escapes text for XML 1.0.
enum XMLText {
    /// Returns an attribute with a space before it.
    static func attribute(_ name: String, _ value: String) -> String { " \(name)=\"\(escaped(value))\"" }

    /// Escapes text for content and for attributes in double quotes. Characters that XML forbids become
    /// U+FFFD (XML 1.0, section 2.2). Line breaks become character references, because parsers turn them into
    /// spaces in attributes.
    static func escaped(_ text: String) -> String {
        text.escaping { scalar in
            switch scalar {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            case "\"": "&quot;"
            case "\t", "\n", "\r": "&#\(scalar.value);"
            case "\u{0}"..."\u{1f}", "\u{fffe}", "\u{ffff}": "\u{fffd}"
            default: nil
            }
        }
    }
}
