internal import LarderKit

/// `larder list [SITE]`
enum ListCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            var options = ListOptions()
            options.site = arguments.operands.first
            options.status = try arguments.numberIfGiven(.status, in: 100...999)
            options.type = try arguments.type
            let writer = ListWriter(terminal, isJSON: arguments.has(.json))
            let report = try await arguments.larder.list(options) { writer.add($0) }
            writer.finish()
            terminal.note("\(Quantities.count(report.urls, "URL")), \(Quantities.bytes(report.byteCount))")
            return .done
        }
    }
}

extension Arguments {
    fileprivate var type: TypeFilter? {
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
