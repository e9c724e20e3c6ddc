internal import LarderKit
internal import System

/// The reports that were asked for, and where each goes.
struct CheckOutputs {
    private struct Output {
        let format: ReportFormat
        /// Nil for standard output.
        let file: String?
    }

    private let outputs: [Output]

    init(_ arguments: Arguments) throws(UsageError) {
        var outputs: [Output] = []
        for text in arguments.texts(.report) {
            let equals = text.utf8.firstIndex(of: UInt8(ascii: "="))
            let name = String(equals.map { text[..<$0] } ?? text[...])
            let file = equals.map { String(text[text.utf8.index(after: $0)...]) }
            guard let format = ReportFormat(rawValue: name) else {
                let names = ReportFormat.allCases.map(\.rawValue)
                let close = Suggestion.closest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
                throw UsageError("--report wants one of \(names.joined(separator: ", ")), not \"\(name)\"\(close)")
            }
            guard file != "" else {
                throw UsageError("--report \(name)= wants a file: --report \(name)=report.\(name)")
            }
            outputs.append(Output(format: format, file: file))
        }
        if arguments.has(.json) { outputs.append(Output(format: .json, file: nil)) }
        let printed = outputs.filter { $0.file == nil }
        guard printed.count <= 1 else {
            throw UsageError("only one report can be printed: give the others a file, such as --report junit=junit.xml")
        }
        // Whoever reads a log wants to see what happened.
        if printed.isEmpty { outputs.append(Output(format: .text, file: nil)) }
        self.outputs = outputs
    }

    func write(_ report: CheckReport, _ terminal: Terminal) throws(SystemError) -> ExitStatus {
        for output in outputs {
            let text = report.text(as: output.format)
            if let file = output.file { try WholeFile.write(text + "\n", to: file) } else { terminal.say(text) }
        }
        return report.isClean ? .done : .incomplete
    }
}
