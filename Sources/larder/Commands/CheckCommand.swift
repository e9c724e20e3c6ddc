internal import LarderKit

/// `larder check MANIFEST`
enum CheckCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            var options = CheckOptions()
            options.base = arguments.text(.base)
            options.place = arguments.has(.held) ? .held : .live
            // A live check needs no larder, nor a home folder for it.
            let larder = arguments.has(.held) ? try arguments.larder : Larder(at: "")
            let wanted = options
            let report = try await Signals.shared.cancelling {
                try await larder.check(arguments.operands[0], options: wanted)
            }
            terminal.say(arguments.has(.json) ? report.json : text(of: report))
            return report.isClean ? .done : .incomplete
        }
    }

    static func text(of report: CheckReport) -> String {
        var lines: [String] = []
        for item in report.items {
            let detail = item.detail.map { ": \($0)" } ?? ""
            let word = item.isRequired ? item.verdict.rawValue : "\(item.verdict.rawValue) (optional)"
            lines.append("\(word) \(item.url)\(detail)")
        }
        let counts = CheckReport.Verdict.allCases.compactMap { verdict in
            report.count(verdict) > 0 ? "\(report.count(verdict)) \(verdict.rawValue)" : nil
        }
        lines.append("\(report.manifest): " + (counts.isEmpty ? "no bundles" : counts.joined(separator: ", ")))
        return lines.joined(separator: "\n")
    }
}
