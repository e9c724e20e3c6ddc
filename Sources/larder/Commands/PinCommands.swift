internal import LarderKit
internal import Reports

/// `larder pin URL|PATTERN|SITE` and `larder unpin URL|PATTERN|SITE`: protect stored content from `gc`, or
/// end that. `pin` without an operand lists the pins.
///
/// Prints the coverage of the pin. Exit status 0: changed, or pinned already. 2: no such pin or site, or a
/// wrong pattern. 3: the store cannot be written.
enum PinCommand {
    static func pin(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        guard let name = arguments.operands.first else { return await PinsCommand.run(arguments, terminal) }
        return await terminal.attempt {
            let change = try await arguments.larder.pin(name, as: try arguments.pinKind)
            terminal.report(arguments.has(.json) ? change.json : text(of: change, name, arguments))
            return .done
        }
    }

    static func unpin(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let change = try await arguments.larder.unpin(arguments.operands[0], as: try arguments.pinKind)
            let pin = change.pin
            terminal.say(
                arguments.has(.json)
                    ? change.json
                    : "The \(pin.kind.word) \(pin.value) is no longer pinned: \(PinsCommand.coverage(of: pin))"
            )
            return .done
        }
    }

    /// The result of pinning, with hints if the user may have meant another kind of pin.
    private static func text(of change: PinChange, _ name: String, _ arguments: Arguments) -> String {
        let pin = change.pin
        var lines = [
            "The \(pin.kind.word) \(pin.value) is pinned\(change.isNew ? "" : " already"): \(PinsCommand.coverage(of: pin))"
        ]
        if change.alsoNamesURL, change.isNew {
            lines.append(
                "To pin only the page with its assets: \(arguments.command("unpin", ["--site", name]))")
            lines.append("  and then: \(arguments.command("pin", ["--url", name]))")
        }
        if pin.kind == .pattern, pin.urls == 0, !pin.value.utf8.contains(UInt8(ascii: "/")) {
            let name = pin.value.drop { $0 == "*" }
            lines.append(
                "A pattern without a slash is compared with hosts; for files, use '/**\(name)'")
        }
        return lines.joined(separator: "\n")
    }
}

/// `larder pins`: lists the pins with their coverage. Exit status 0, also if there are none.
enum PinsCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let report = try await arguments.larder.pins()
            terminal.report(arguments.has(.json) ? report.json : text(of: report))
            return .done
        }
    }

    private static func text(of report: PinsReport) -> String {
        guard !report.pins.isEmpty else { return "nothing is pinned; see: larder help pin" }
        return report.pins.map { pin in
            "\(pin.kind.word.padded(8))\(pin.value): \(coverage(of: pin))"
        }.joined(separator: "\n")
    }

    /// The URLs and bytes that the pin protects.
    static func coverage(of pin: PinReport) -> String {
        pin.urls == 0
            ? "no stored URL matches"
            : "\(Wording.count(pin.urls, "URL")), \(Wording.bytes(pin.byteCount))"
    }
}

extension PinKind {
    /// The kind in a sentence.
    var word: String {
        switch self {
        case .url: "URL"
        case .pattern: "pattern"
        case .site: "site"
        }
    }
}

extension Arguments {
    /// The kind of the operand, if an option sets it.
    fileprivate var pinKind: PinKind? {
        get throws(UsageError) {
            let given = [(Option.site, PinKind.site), (.url, .url), (.pattern, .pattern)].filter { has($0.0) }
            guard given.count <= 1 else {
                throw UsageError(
                    "\(given.map(\.0.name).joined(separator: " and ")) exclude each other; use one of them")
            }
            return given.first?.1
        }
    }
}
