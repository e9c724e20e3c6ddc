internal import LarderKit
internal import System

/// `larder manifest URL|DIR|SITE`
enum ManifestCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let source = arguments.operands[0]
            let types = try arguments.typeFilter
            let larder = try arguments.larder
            let report = try await Signals.shared.cancelling {
                try await larder.manifest(of: source, types: types, isLive: arguments.has(.fetched))
            }
            if let file = arguments.text(.output) {
                try WholeFile.write(report.text, to: file)
            } else {
                terminal.say(String(report.text.dropLast()))
            }
            for skipped in report.skipped { terminal.fail("\(skipped.name) is not in it: \(skipped.reason)") }
            terminal.note(
                "\(Quantities.count(report.bundles, "bundle")), \(Quantities.bytes(report.byteCount))")
            return report.skipped.isEmpty ? .done : .incomplete
        }
    }
}

extension Arguments {
    /// Nil when the option is not given.
    fileprivate var typeFilter: TypeFilter? {
        get throws(UsageError) {
            guard let text = text(.type) else { return nil }
            guard let filter = TypeFilter(text) else {
                throw UsageError(
                    "--type wants a media type such as text/html or image/*, or one of "
                        + "\(TypeFilter.names.joined(separator: ", ")), not \"\(text)\"")
            }
            return filter
        }
    }
}
