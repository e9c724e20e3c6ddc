/// A check in the XML that CI servers collect: a suite for each place, a case for each item. It has no attribute that
/// Jenkins' schema (junit-10.xsd) does not know; where the manifest has an item stands in the text of what failed.
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
            ["<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "<testsuites name=\"larder check\"\(counts)>"] + suites
            + ["</testsuites>"]
        return lines.joined(separator: "\n")
    }

    private func suite(at place: Int) -> [String] {
        let counts =
            Self.counts(report.items.count, failureCount(at: place)) + " skipped=\"\(skippedCount(at: place))\""
        let name = XMLText.attribute("name", report.places[place])
        let cases = report.items.flatMap { testCase(of: $0, at: place) }
        return ["  <testsuite\(name)\(counts)>"] + cases + ["  </testsuite>"]
    }

    private func testCase(of item: CheckReport.Item, at place: Int) -> [String] {
        let finding = item.findings[place]
        var start = "    <testcase" + XMLText.attribute("name", item.name) + XMLText.attribute("classname", report.name)
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
            + (item.chain.isEmpty ? [] : ["by way of " + item.chain.joined(separator: " > ")])
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
