internal import LarderKit

/// What there is of an URL that is not held, for people.
enum AbsenceText {
    static func text(of url: String, _ absence: Absence, _ arguments: Arguments) -> String {
        var lines = ["\(url) is not held"]
        if let standIn = absence.standIn {
            lines.append("\(reason(standIn)): \(arguments.command("show", [standIn.url]))")
        } else if absence.nearby.isEmpty {
            lines.append("nor is anything else of its host; to see what is: \(arguments.command("list"))")
        } else {
            lines.append("held nearby:")
            lines += absence.nearby.map { "  \($0)" }
        }
        return lines.joined(separator: "\n")
    }

    /// Why another URL may stand in.
    static func reason(_ standIn: Absence.StandIn) -> String {
        "one that differs \(standIn.differences.map(text).joined(separator: " and ")) answers for it"
    }

    private static func text(of difference: Absence.Difference) -> String {
        switch difference {
        case .scheme: "in http and https"
        case .slash: "in the slash at the end"
        case .busters: "in cache-busting parameters"
        case .query: "in the query"
        case .search: "in the query, which it reads by itself,"
        }
    }
}
