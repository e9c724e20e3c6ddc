/// A check as annotations in a log of GitHub Actions: what fails is an error at the manifest's line, what is only worth
/// knowing a warning or a notice.
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

    private func annotation(of item: CheckReport.Item, _ finding: CheckReport.Finding, at place: String) -> String {
        var properties: [String] = []
        if let line = item.line { properties += ["file=\(Self.property(report.name))", "line=\(line)"] }
        properties.append("title=\(Self.property("larder check: \(finding.verdict.rawValue)"))")
        var message = "\(finding.url): \(finding.sentence)"
        if report.places.count > 1 { message += " (\(place))" }
        if !item.chain.isEmpty { message += "\nby way of " + item.chain.joined(separator: " > ") }
        return "::\(level(of: finding, of: item)) \(properties.joined(separator: ","))::\(Self.data(message))"
    }

    private func level(of finding: CheckReport.Finding, of item: CheckReport.Item) -> String {
        if report.fails(finding, of: item) { return "error" }
        return finding.verdict == .gone || finding.verdict == .leftOut ? "notice" : "warning"
    }

    /// The runner reads a command up to the end of its line, and undoes these.
    private static func data(_ text: String) -> String {
        text.escaping { scalar in
            switch scalar {
            case "%": "%25"
            case "\r": "%0D"
            case "\n": "%0A"
            default: nil
            }
        }
    }

    private static func property(_ text: String) -> String {
        data(text).escaping { $0 == ":" ? "%3A" : $0 == "," ? "%2C" : nil }
    }
}
