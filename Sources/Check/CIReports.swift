internal import Digest
internal import Reports
internal import Web

/// The result of a check in the form that CI servers, code scanners and logs share. `CheckReport` and `LinkCheckReport` are
/// converted to it; each format is written once.
struct CIReport {
    /// A verdict that is worse than verified.
    struct Rule {
        let id: String
        let meaning: String
        /// Whether the verdict fails the check.
        let isFailing: Bool
        /// The SARIF level of a finding that does not fail the check: `warning` or `note`.
        let lowerLevel: String
    }

    /// The place of a finding in a file that the user can edit.
    struct Location {
        let path: String
        let line: Int?
        var column: Int?
    }

    /// One thing that was checked.
    struct Finding {
        /// The name of the case, such as the name of a bundle.
        var name: String
        /// The URL or file that was checked.
        var url: String
        /// The id of its rule; nil if it is verified.
        var rule: String?
        var fails = false
        var isRequired = true
        /// The verdict with its explanation: `missing: the server answered 404`.
        var sentence: String
        var explanation: String?
        /// The URLs from the start page to the page that needs the item.
        var chain: [String] = []
        var location: Location?
        /// The proof of a verified bundle.
        var proof: BundleProof?
        /// Identifies the same finding in later runs.
        var fingerprint: String
    }

    /// The findings at one place, such as the live server or a folder.
    struct Suite {
        let name: String
        let findings: [Finding]
    }

    let name: String
    /// The number of items for each verdict, in one line.
    let summary: String
    let suites: [Suite]
    let rules: [Rule]
    /// The name of the fingerprints in SARIF.
    let fingerprintName: String
    /// The proofs of the verified bundles, in a line.
    var proofSummary: String?
    /// The key that signed the manifest.
    var signer: String?

    fileprivate func level(of finding: Finding) -> String {
        finding.fails ? "error" : rules.first { $0.id == finding.rule }?.lowerLevel ?? "warning"
    }
}

extension CheckReport {
    /// The report for CI servers.
    var ciReport: CIReport {
        let suites = places.indices.map { column in
            CIReport.Suite(name: places[column], findings: items.map { ciFinding(of: $0, at: column) })
        }
        let rules = Verdict.allCases.filter { $0 != .verified }.map { verdict in
            CIReport.Rule(
                id: verdict.rawValue, meaning: verdict.meaning, isFailing: failsOn.contains(verdict),
                lowerLevel: verdict.lowerLevel)
        }
        return CIReport(
            name: name, summary: summary, suites: suites, rules: rules, fingerprintName: "larderCheck/v1",
            proofSummary: proofSummary, signer: signer)
    }

    private func ciFinding(of item: Item, at column: Int) -> CIReport.Finding {
        let finding = item.findings[column]
        return CIReport.Finding(
            name: item.name, url: finding.url,
            rule: finding.verdict == .verified ? nil : finding.verdict.rawValue,
            fails: fails(finding, of: item),
            isRequired: item.isRequired, sentence: finding.sentence, explanation: finding.explanation,
            chain: item.chain, location: item.line.map { CIReport.Location(path: name, line: $0) },
            proof: finding.proof, fingerprint: "\(finding.verdict.rawValue) \(item.name) \(places[column])")
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
        case .mismatch: "It is not as expected"
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

/// Checks as SARIF 2.1.0 (OASIS): a run for each check, with a rule for each verdict and a result for each finding that is
/// not verified.
struct SARIFReport {
    private let reports: [CIReport]

    init(_ reports: [CIReport]) {
        self.reports = reports
    }

    var text: String {
        let log: JSONMembers = [
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
            "runs": reports.map { $0.sarifRun(isOnly: reports.count == 1) },
        ]
        return log.text()
    }
}

extension CIReport {
    /// - Parameter isOnly: whether the log has no other run. GitHub requires runs of one tool to have different ids.
    fileprivate func sarifRun(isOnly: Bool) -> JSONMembers {
        let details: JSONMembers? = isOnly ? nil : ["id": "larder check/\(fingerprintName)/\(name)/"]
        return [
            "tool": ["driver": driver] as JSONMembers, "automationDetails": IfAny(details),
            "columnKind": "utf16CodeUnits", "results": results, "properties": IfAny(proofMembers),
        ]
    }

    /// The proofs of the verified bundles, which have no results: the number for each algorithm, and the key that signed the
    /// manifest. Nil if there is no proof.
    private var proofMembers: JSONMembers? {
        let proofs = suites.flatMap(\.findings).compactMap(\.proof)
        guard !proofs.isEmpty || signer != nil else { return nil }
        let counts = DigestAlgorithm.allCases.map { algorithm in
            (algorithm.rawValue, proofs.count { $0.algorithm == algorithm })
        }.filter { $0.1 > 0 }
        return ["verifiedBy": JSONMembers(counts.map { ($0, $1) }), "signer": IfAny(signer)]
    }

    private var driver: JSONMembers {
        let rules = rules.map { rule -> JSONMembers in
            [
                "id": rule.id, "shortDescription": ["text": rule.meaning] as JSONMembers,
                "defaultConfiguration": ["level": rule.isFailing ? "error" : rule.lowerLevel] as JSONMembers,
            ]
        }
        return ["name": Product.token, "version": Product.version, "rules": rules]
    }

    private var results: [JSONMembers] {
        // Findings of all suites of one item are neighbours.
        let count = suites.map(\.findings.count).max() ?? 0
        return (0..<count).flatMap { row in
            suites.compactMap { suite in
                suite.findings.indices.contains(row) ? result(of: suite.findings[row]) : nil
            }
        }
    }

    /// One result of SARIF (section 3.27); nil for a verified item.
    private func result(of finding: Finding) -> JSONMembers? {
        guard let rule = finding.rule else { return nil }
        var message = "\(finding.url): \(finding.sentence)"
        if !finding.chain.isEmpty { message += "\nvia " + finding.chain.joined(separator: " > ") }
        return [
            "ruleId": rule, "ruleIndex": rules.firstIndex { $0.id == rule } ?? 0, "level": level(of: finding),
            "message": ["text": message] as JSONMembers,
            "locations": [["physicalLocation": physicalLocation(of: finding)] as JSONMembers],
            // Identifies the same result in later runs (section 3.27.17).
            "partialFingerprints": [fingerprintName: finding.fingerprint] as JSONMembers,
        ]
    }

    /// The location in a file, else the resource itself.
    private func physicalLocation(of finding: Finding) -> JSONMembers {
        let uri = finding.location.map { Self.uriReference($0.path) } ?? finding.url
        let region = finding.location.flatMap { place in
            place.line.map { ["startLine": $0, "startColumn": IfAny(place.column)] as JSONMembers }
        }
        return ["artifactLocation": ["uri": uri] as JSONMembers, "region": IfAny(region)]
    }

    /// Returns the path as a URI reference (RFC 3986).
    private static func uriReference(_ path: String) -> String {
        if WebURL(path)?.isHTTP == true { return path }
        return String(percentEncoding: path.utf8) { $0.isASCIIAlphanumeric || "-./_~".utf8.contains($0) }
    }
}

/// Checks as JUnit XML, which CI servers collect: a suite for each place, a case for each item. It uses only
/// attributes in Jenkins' schema (junit-10.xsd), so the item's line in its file is in the text of the
/// failure.
struct JUnitReport {
    private let reports: [CIReport]

    init(_ reports: [CIReport]) {
        self.reports = reports
    }

    var text: String {
        let suites = reports.flatMap(\.suites)
        let failures = suites.reduce(0) { $0 + Self.failureCount(of: $1) }
        let counts = Self.counts(suites.reduce(0) { $0 + $1.findings.count }, failures)
        let lines =
            ["<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "<testsuites name=\"larder check\"\(counts)>"]
            + reports.flatMap { report in report.suites.flatMap { suiteLines($0, in: report) } }
            + ["</testsuites>"]
        return lines.joined(separator: "\n")
    }

    private func suiteLines(_ suite: CIReport.Suite, in report: CIReport) -> [String] {
        let skipped = suite.findings.count { $0.rule != nil && !$0.fails }
        let counts =
            Self.counts(suite.findings.count, Self.failureCount(of: suite)) + " skipped=\"\(skipped)\""
        let name = XMLText.attribute("name", suite.name)
        let cases = suite.findings.flatMap { testCase(of: $0, in: report) }
        return ["  <testsuite\(name)\(counts)>"] + cases + ["  </testsuite>"]
    }

    private func testCase(of finding: CIReport.Finding, in report: CIReport) -> [String] {
        var start =
            "    <testcase" + XMLText.attribute("name", finding.name)
            + XMLText.attribute("classname", report.name)
        start += " time=\"0\""
        guard let rule = finding.rule else {
            guard finding.proof != nil else { return [start + "/>"] }
            return [
                start + ">", "      <system-out>\(XMLText.escaped(finding.sentence))</system-out>",
                "    </testcase>",
            ]
        }
        let message = XMLText.attribute("message", finding.sentence)
        guard finding.fails else { return [start + ">", "      <skipped\(message)/>", "    </testcase>"] }
        let type = XMLText.attribute("type", rule)
        let text = XMLText.escaped(explanation(of: finding).joined(separator: "\n"))
        return [start + ">", "      <failure\(message)\(type)>\(text)</failure>", "    </testcase>"]
    }

    private func explanation(of finding: CIReport.Finding) -> [String] {
        [finding.url, finding.sentence]
            + (finding.location?.text.map { [$0] } ?? [])
            + (finding.chain.isEmpty ? [] : ["via " + finding.chain.joined(separator: " > ")])
    }

    private static func counts(_ tests: Int, _ failures: Int) -> String {
        " tests=\"\(tests)\" failures=\"\(failures)\" errors=\"0\" time=\"0\""
    }

    private static func failureCount(of suite: CIReport.Suite) -> Int { suite.findings.count(where: \.fails) }
}

extension CIReport.Location {
    /// The location as compilers write it: `path:line:column`; nil if the line is not known.
    var text: String? {
        line.map { line in "\(path):\(line)" + (column.map { ":\($0)" } ?? "") }
    }
}

/// Checks in the Test Anything Protocol, version 14: a test point for each item in each place.
struct TAPReport {
    private let reports: [CIReport]

    init(_ reports: [CIReport]) {
        self.reports = reports
    }

    var text: String {
        let count = reports.reduce(0) { $0 + $1.suites.reduce(0) { $0 + $1.findings.count } }
        var lines = ["TAP version 14", "1..\(count)"]
        var number = 0
        for report in reports {
            for suite in report.suites {
                for finding in suite.findings {
                    number += 1
                    lines += point(number, finding, in: suite, of: report)
                }
            }
        }
        return lines.joined(separator: "\n")
    }

    private func point(
        _ number: Int, _ finding: CIReport.Finding, in suite: CIReport.Suite, of report: CIReport
    ) -> [String] {
        let name = Self.description(
            report.suites.count > 1 ? "\(finding.name) at \(suite.name)" : finding.name)
        guard let rule = finding.rule else {
            return ["ok \(number) - \(name)"] + (finding.proof.map(Self.diagnostics) ?? [])
        }
        guard report.failingRules.contains(rule) else {
            return ["ok \(number) - \(name) # SKIP \(Self.description(finding.sentence))"]
        }
        // In TAP, a test point with TODO may fail.
        let mark = finding.isRequired ? "" : " # TODO optional"
        return ["not ok \(number) - \(name)\(mark)"] + diagnostics(finding, rule)
    }

    /// Returns a YAML block about a verified bundle.
    private static func diagnostics(_ proof: BundleProof) -> [String] {
        ["  ---", "  algorithm: \(jsonString(proof.algorithm.rawValue))"]
            + (proof.signer.map { ["  signer: \(jsonString($0))"] } ?? []) + ["  ..."]
    }

    /// Returns a YAML block. Its strings are written as JSON strings.
    private func diagnostics(_ finding: CIReport.Finding, _ rule: String) -> [String] {
        var members = [("verdict", rule), ("url", finding.url)]
        if let detail = finding.explanation { members.append(("message", detail)) }
        if finding.location?.column != nil, let place = finding.location?.text {
            members.append(("at", place))
        }
        var lines = members.map { "  \($0): \(Self.jsonString($1))" }
        if !finding.chain.isEmpty {
            lines.append("  chain: [\(finding.chain.map(Self.jsonString).joined(separator: ", "))]")
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

extension CIReport {
    /// The ids of the verdicts that fail the check.
    fileprivate var failingRules: Set<String> { Set(rules.filter(\.isFailing).map(\.id)) }
}

/// Checks as annotations in a log of GitHub Actions: failures are errors at their line of the file, other
/// findings are warnings or notices.
struct GitHubReport {
    private let reports: [CIReport]

    init(_ reports: [CIReport]) {
        self.reports = reports
    }

    var text: String { reports.flatMap(lines).joined(separator: "\n") }

    private func lines(of report: CIReport) -> [String] {
        var lines: [String] = []
        let count = report.suites.map(\.findings.count).max() ?? 0
        for row in 0..<count {
            for suite in report.suites where suite.findings.indices.contains(row) {
                if let line = annotation(of: suite.findings[row], in: suite, of: report) {
                    lines.append(line)
                }
            }
        }
        let proof = report.proofSummary.map { "; verified by \($0)" } ?? ""
        lines.append("::notice title=larder check::" + Self.data("\(report.name): \(report.summary)\(proof)"))
        return lines
    }

    private func annotation(
        of finding: CIReport.Finding, in suite: CIReport.Suite, of report: CIReport
    ) -> String? {
        guard let rule = finding.rule else { return nil }
        var properties: [String] = []
        if let place = finding.location, let line = place.line {
            properties += ["file=\(Self.property(place.path))", "line=\(line)"]
            if let column = place.column { properties.append("col=\(column)") }
        }
        properties.append("title=\(Self.property("larder check: \(rule)"))")
        var message = "\(finding.url): \(finding.sentence)"
        if report.suites.count > 1 { message += " (\(suite.name))" }
        if !finding.chain.isEmpty { message += "\nvia " + finding.chain.joined(separator: " > ") }
        let level = report.level(of: finding)
        return
            "::\(level == "note" ? "notice" : level) \(properties.joined(separator: ","))::\(Self.data(message))"
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

/// Checks as Markdown, for the summary of a job: the result in one line, and a table of everything that is not verified.
struct MarkdownReport {
    private let reports: [CIReport]

    /// Further rows are only counted. GitHub shows summaries up to 1 MiB.
    private static let maxRows = 500

    init(_ reports: [CIReport]) {
        self.reports = reports
    }

    var text: String { reports.map(Self.text).joined(separator: "\n\n") }

    private static func text(of report: CIReport) -> String {
        let findings = report.suites.flatMap { suite in
            suite.findings.filter { $0.rule != nil }.map { (suite, $0) }
        }
        let rows = findings.filter { $1.fails } + findings.filter { !$1.fails }
        let mark = rows.contains { $1.fails } ? "❌" : "✅"
        var lines = ["### \(mark) larder check: \(escaped(report.name))", "", escaped(report.summary)]
        if let proof = report.proofSummary { lines += ["", escaped("Verified by \(proof)")] }
        guard !rows.isEmpty else { return lines.joined(separator: "\n") }
        lines += ["", "| Verdict | Item | Reason | Where |", "| --- | --- | --- | --- |"]
        for (suite, finding) in rows.prefix(maxRows) {
            let verdict = finding.fails ? "**\(finding.rule ?? "")**" : finding.rule ?? ""
            let place =
                finding.location?.text ?? finding.chain.last ?? (report.suites.count > 1 ? suite.name : "")
            let cells = [finding.url, finding.explanation ?? "", place].map { escaped($0) }
            lines.append("| " + ([verdict] + cells).joined(separator: " | ") + " |")
        }
        if rows.count > maxRows { lines += ["", "and \(rows.count - maxRows) more"] }
        return lines.joined(separator: "\n")
    }

    /// Escapes text for a cell, so that it is neither markup nor a link. Angle brackets would start HTML.
    private static func escaped(_ text: String) -> String {
        text.visible.escaping { scalar in
            switch scalar {
            case "|", "\\", "`", "*", "_", "[", "]", "~": "\\\(scalar)"
            case "<": "&lt;"
            case ">": "&gt;"
            case "&": "&amp;"
            case "@": "&#64;"
            case "\n", "\r": " "
            default: nil
            }
        }
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
