internal import Web

/// A check by the Test Anything Protocol, version 14: a test point for each item at each place.
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
        // What is marked so may fail.
        let mark = item.isRequired ? "" : " # TODO optional"
        return ["not ok \(number) - \(name)\(mark)"] + diagnostics(item, finding)
    }

    /// A YAML block, whose strings are written as JSON writes them.
    private func diagnostics(_ item: CheckReport.Item, _ finding: CheckReport.Finding) -> [String] {
        var members = [("verdict", finding.verdict.rawValue), ("url", finding.url)]
        if let detail = finding.explanation { members.append(("message", detail)) }
        var lines = members.map { "  \($0): \(Self.quoted($1))" }
        if !item.chain.isEmpty { lines.append("  chain: [\(item.chain.map(Self.quoted).joined(separator: ", "))]") }
        return ["  ---"] + lines + ["  ..."]
    }

    private static func quoted(_ text: String) -> String {
        var writer = JSONWriter()
        writer.string(text)
        return writer.text
    }

    /// A number sign would begin a directive, and a line feed another line.
    private static func description(_ text: String) -> String {
        text.escaping { $0 == "\n" || $0 == "\r" ? " " : nil }.visible
            .escaping { $0 == "\\" || $0 == "#" ? "\\\($0)" : nil }
    }
}
