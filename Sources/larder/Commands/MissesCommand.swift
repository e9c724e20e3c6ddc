internal import LarderKit

/// `larder misses`
enum MissesCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let larder = try arguments.larder
            let report = try await larder.misses()
            terminal.report(arguments.has(.json) ? report.json : text(of: report))
            if arguments.has(.clear) { try await larder.forgetMisses() }
            return .done
        }
    }

    static func text(of report: MissesReport) -> String {
        guard !report.misses.isEmpty else { return "nothing was missed" }
        return report.misses.map { miss in
            let asked = miss.referrer.map { ", asked for by \($0)" } ?? ""
            let method = miss.method == "GET" ? "" : "\(miss.method) "
            let times = miss.count == 1 ? "once" : "\(Quantities.grouped(miss.count)) times"
            return "\(method)\(miss.url): \(miss.isPage ? "a page" : "a requisite"), \(times)\(asked)"
        }.joined(separator: "\n")
    }
}
