internal import LarderKit
internal import Reports
internal import System
internal import Web

/// `larder check MANIFEST`, and `larder check --offline SITE`
enum CheckCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let outputs = try CheckOutputs(arguments)
            let watch = try Watch(arguments, terminal)
            let report =
                arguments.has(.offline)
                ? try await offline(arguments, watch) : try await bundles(arguments, watch)
            return try outputs.write(report, terminal)
        }
    }

    private static func offline(_ arguments: Arguments, _ watch: Watch) async throws -> CheckReport {
        for option in [Option.held, .live, .folder, .base, .format, .release, .evidence, .strong]
        where arguments.has(option) {
            throw UsageError(
                "\(option.name) is about a manifest's bundles: --offline takes a site alone")
        }
        var options = OfflineCheckOptions()
        options.isQuick = arguments.has(.quick)
        options.failsOn = try arguments.failsOn
        if arguments.has(.renderOffline) {
            var showing = OfflineCheckOptions.Showing()
            showing.browser = arguments.text(.browser)
            let pages = try arguments.number(.renderPages, in: 0...Int(Int32.max))
            showing.pages = pages == 0 ? nil : pages
            options.showing = showing
        }
        options.progress = watch.progress("Comparing what is held")
        let larder = try arguments.larder
        let wanted = options
        return try await watch.during(again: arguments.again) {
            try await larder.checkOffline(arguments.operands[0], options: wanted)
        }
    }

    private static func bundles(_ arguments: Arguments, _ watch: Watch) async throws -> CheckReport {
        guard !arguments.has(.quick) || arguments.has(.held) else {
            throw UsageError("--quick goes with --offline or --held: it hashes nothing of what is held")
        }
        guard !arguments.has(.renderOffline) else {
            throw UsageError("--render goes with --offline: give both, or neither")
        }
        var options = CheckOptions()
        options.bases = arguments.texts(.base)
        options.format = arguments.text(.format)
        options.releases = arguments.texts(.release)
        options.isQuick = arguments.has(.quick)
        options.evidence = try arguments.evidence
        options.failsOn = try arguments.failsOn
        options.requiresStrongDigests = arguments.has(.strong)
        var places: [CheckOptions.Place] = arguments.texts(.folder).map { .folder($0) }
        if arguments.has(.held) { places.append(.held) }
        if arguments.has(.live) { places.append(.live) }
        options.places = places
        options.progress = watch.progress("Looking at bundles")
        // What is not asked needs no larder, nor a home folder for it.
        let larder = arguments.has(.held) ? try arguments.larder : Larder(at: "")
        let wanted = options
        return try await watch.during(again: arguments.again) {
            try await larder.check(arguments.operands[0], options: wanted)
        }
    }
}

extension Arguments {
    fileprivate var evidence: [CheckOptions.Evidence] {
        get throws(UsageError) {
            var evidence: [CheckOptions.Evidence] = []
            for text in texts(.evidence) {
                let name = text.hasPrefix("name=") ? text.dropFirst("name=".count) : nil
                if text == "etag" {
                    evidence.append(.entityTags)
                } else if let algorithm = name.flatMap({
                    CheckOptions.Evidence.Algorithm(rawValue: String($0))
                }) {
                    evidence.append(.names(algorithm))
                } else {
                    let names = CheckOptions.Evidence.Algorithm.allCases.map { "name=\($0.rawValue)" }
                    throw UsageError(
                        "--evidence wants etag or one of \(names.joined(separator: ", ")), not \"\(text)\"")
                }
            }
            return evidence
        }
    }

    fileprivate var failsOn: Set<CheckReport.Verdict> {
        get throws(UsageError) {
            guard let text = text(.failOn) else { return CheckOptions().failsOn }
            var verdicts: Set<CheckReport.Verdict> = []
            for name in text.utf8.split(separator: UInt8(ascii: ",")).map({ String(Substring($0)) }) {
                guard let verdict = CheckReport.Verdict(rawValue: name), verdict != .verified else {
                    let names = CheckReport.Verdict.allCases.filter { $0 != .verified }.map(\.rawValue)
                    throw UsageError(
                        "--fail-on wants some of \(names.joined(separator: ",")), not \"\(name)\"")
                }
                verdicts.insert(verdict)
            }
            return verdicts
        }
    }
}

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
                let close = Spelling.closest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
                throw UsageError(
                    "--report wants one of \(names.joined(separator: ", ")), not \"\(name)\"\(close)")
            }
            guard file != "" else {
                throw UsageError("--report \(name)= wants a file: --report \(name)=report.\(name)")
            }
            outputs.append(Output(format: format, file: file))
        }
        if arguments.has(.json) { outputs.append(Output(format: .json, file: nil)) }
        let printed = outputs.filter { $0.file == nil }
        guard printed.count <= 1 else {
            throw UsageError(
                "only one report can be printed: give the others a file, such as --report junit=junit.xml")
        }
        // Whoever reads a log wants to see what happened.
        if printed.isEmpty { outputs.append(Output(format: .text, file: nil)) }
        self.outputs = outputs
    }

    func write(_ report: CheckReport, _ terminal: Terminal) throws(SystemError) -> ExitStatus {
        for output in outputs {
            let text = report.text(as: output.format)
            if let file = output.file {
                try WholeFile.write(text + "\n", to: file)
            } else {
                terminal.say(text)
            }
        }
        return report.isClean ? .done : .incomplete
    }
}

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
                "\(Wording.count(report.bundles, "bundle")), \(Wording.bytes(report.byteCount))")
            return report.skipped.isEmpty ? .done : .incomplete
        }
    }
}
