internal import LarderKit
internal import Reports
internal import System
internal import Web

/// `larder check [MANIFEST|SITE|URL|FILE...]`: compares bundles with their manifest, checks that a stored site is
/// complete offline, or checks links.
///
/// Prints the reports of `--report` to standard output or to files; a text report is always printed if no
/// other is.
///
/// Exit status 0: no verdict of `--fail-on`. 1: at least one such verdict, or the required level is not
/// reached. 2: a wrong target or option. 3: a report could not be written, or the store could not be read.
/// 130: interrupted.
enum CheckCommand {
    /// The stored sites or the manifest to check.
    private enum Target {
        case sites([String])
        case manifest(String)
    }

    /// A note for a user who gave a URL, which may mean the live page to him.
    private static func offlineNote(_ arguments: Arguments, site: String) -> [String] {
        guard !arguments.has(.offline), let name = arguments.operands.first, name.contains("://") else {
            return []
        }
        let update = CommandLine.shellCommand(["update", site], program: "larder")
        return [
            "\(site) is stored, so its stored copy was checked and nothing was requested; to fetch what has changed: \(update)"
        ]
    }

    /// - Throws: `UsageError` if the operand is a snapshot of a stored site. Only the live snapshot can be checked.
    private static func refuseSnapshot(_ operand: String, among names: [String]) throws(UsageError) {
        let parts = SnapshotName.split(operand)
        guard parts.snapshot != nil, SiteName.index(of: operand, among: names) == nil,
            SiteName.index(of: parts.site, among: names, acceptsOrigin: true) != nil
        else { return }
        throw UsageError(
            "check reads the live snapshot of a site, not \(operand); leave out the number, or make that snapshot live "
                + "first with: " + CommandLine.shellCommand(["rollback", operand]))
    }

    /// The maximum size of a text from standard input.
    private static let maxInputBytes = 64 << 20

    /// Options that only make sense for the bundles of a manifest.
    private static let manifestOptions: [Option] = [
        .stored, .live, .folder, .base, .format, .release, .evidence, .trust,
        .allowRollback, .strong,
    ]

    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let outputs = try CheckOutputs(arguments)
            let display = try ProgressDisplay(arguments, terminal)
            let (checksTarget, checksLinks) = kinds(arguments)
            try requireUse(of: arguments, checksTarget: checksTarget, checksLinks: checksLinks)
            var entries: [CheckReports.Entry] = []
            if checksTarget {
                switch try await target(arguments) {
                case .manifest(let name):
                    entries.append(.check(try await bundles(of: name, arguments, display)))
                case .sites(let names):
                    for name in names {
                        var report = try await offline(name, arguments, display)
                        report.notes += offlineNote(arguments, site: name)
                        entries.append(.check(report))
                    }
                }
            }
            if checksLinks {
                for (index, target) in try await linkTargets(arguments).enumerated() {
                    let failsOn = try arguments.failingLinkVerdicts(isWithTarget: checksTarget)
                    entries.append(
                        .links(try await links(of: target, failsOn, isFirst: index == 0, arguments, display)))
                }
            }
            let status = try outputs.write(CheckReports(entries), terminal)
            // Writing a baseline accepts the links that are faulty now.
            return checksLinks && !checksTarget && arguments.has(.newBaseline) ? .done : status
        }
    }

    /// Whether to check a manifest or sites, and whether to check links. `--links` on the command line checks only links. In
    /// a configuration file, it adds them to what `larder check` without arguments checks.
    private static func kinds(_ arguments: Arguments) -> (target: Bool, links: Bool) {
        guard arguments.has(.checkLinks) else { return (true, false) }
        if arguments.source(of: .checkLinks) == .commandLine { return (false, true) }
        let isConfigured = arguments.operands.isEmpty && !arguments.has(.offline)
        return (!isConfigured || arguments.has(.target), isConfigured)
    }

    /// - Throws: `UsageError` for operands and options on the command line that would have no effect.
    private static func requireUse(
        of arguments: Arguments, checksTarget: Bool, checksLinks: Bool
    ) throws(UsageError) {
        if !checksLinks {
            guard arguments.operands.count <= 1 else {
                throw UsageError(
                    "check takes one manifest or site; to check the links of files: larder check --links FILE..."
                )
            }
            let linksOnly: [Option] = [
                .noExternal, .publicOnly, .maxAge, .linkCache, .acceptStatuses, .ignoreLinks, .ignoreFile,
                .excludePath,
                .baseline, .newBaseline, .maxPages,
            ]
            if let given = linksOnly.first(where: {
                arguments.has($0) && arguments.source(of: $0) == .commandLine
            }) {
                throw UsageError("\(given.name) is for links; add --links")
            }
        }
        if !checksTarget {
            let bundlesOnly: [Option] = [
                .offline, .stored, .live, .format, .release, .evidence, .trust, .allowRollback, .strict,
                .strong,
                .quick, .requireLevel,
                .renderOffline,
            ]
            if let given = bundlesOnly.first(where: {
                arguments.has($0) && arguments.source(of: $0) == .commandLine
            }) {
                throw UsageError(
                    "\(given.name) does not apply to links; leave out one of \(given.name) and --links")
            }
        }
    }

    /// The folders, files, sites or URLs whose links are checked: the operands, of which `-` is standard input; without any, the folders of `--dir`, else all
    /// stored sites.
    private static func linkTargets(_ arguments: Arguments) async throws -> [LinkTarget] {
        let folders = arguments.texts(.folder)
        guard !arguments.operands.isEmpty else {
            if !folders.isEmpty { return folders.map { .folder($0) } }
            let names = (try? await arguments.larder.snapshots().sites.map(\.name)) ?? []
            guard !names.isEmpty else {
                throw UsageError(
                    "--links needs a folder, files, a site or a URL, for example: larder check --links --dir dist"
                )
            }
            return names.map { .site($0) }
        }
        let names = (try? await arguments.larder.snapshots().sites.map(\.name)) ?? []
        var targets: [LinkTarget] = []
        var files: [String] = []
        var hasText = false
        for operand in arguments.operands {
            if operand == "-" {
                hasText = true
            } else if WholeFile.exists(operand) {
                files.append(operand)
            } else if Folder.exists(operand) {
                targets.append(.folder(operand))
            } else if let place = SiteName.index(of: operand, among: names, acceptsOrigin: true) {
                targets.append(.site(names[place]))
            } else if operand.contains("://") {
                try refuseSnapshot(operand, among: names)
                targets.append(.url(operand))
            } else {
                try refuseSnapshot(operand, among: names)
                throw UsageError(
                    "\(operand) is neither a file, a folder nor a stored site; give a URL with http:// or https://"
                )
            }
        }
        // A folder of the configuration is that of the build, and not the root of named files.
        let root = arguments.source(of: .folder) == .commandLine ? folders.first : nil
        if !files.isEmpty { targets.append(.files(files, root: root)) }
        if hasText { targets.append(.text(try standardInput(), name: "standard input", root: root)) }
        return targets
    }

    /// - Throws: `SystemError` if standard input cannot be read, or is too large.
    private static func standardInput() throws -> [UInt8] {
        try WholeFile.read("/dev/stdin", atMost: maxInputBytes)
    }

    private static func links(
        of target: LinkTarget, _ failsOn: Set<LinkCheckReport.Verdict>, isFirst: Bool, _ arguments: Arguments,
        _ display: ProgressDisplay
    ) async throws -> LinkCheckReport {
        var options = LinkCheckOptions()
        options.checksExternal = !arguments.has(.noExternal)
        let maxAge = arguments.text(.maxAge)
        options.maxAge =
            maxAge == "0" || maxAge == "0s" ? .zero : try arguments.time(.maxAge) ?? options.maxAge
        options.failsOn = failsOn
        options.isPublicOnly = arguments.has(.publicOnly)
        options.cacheFile = arguments.text(.linkCache)
        options.excludedPaths = arguments.texts(.excludePath)
        if let text = arguments.text(.acceptStatuses) {
            guard let statuses = AcceptedStatuses(text) else {
                throw UsageError("--accept must be a list of statuses such as 403,500..=599, not \"\(text)\"")
            }
            options.acceptedStatuses = statuses
        }
        options.base = arguments.text(.base)
        options.ignores = arguments.texts(.ignoreLinks)
        options.ignoreFile = arguments.text(.ignoreFile)
        options.baseline = arguments.text(.baseline)
        options.newBaseline = arguments.text(.newBaseline)
        options.extendsNewBaseline = !isFirst
        options.maxPages = try arguments.numberIfGiven(.maxPages, in: 1...Int(Int32.max))
        options.obeysRobots = try arguments.obeysRobots
        options.browser = arguments.text(.browser)
        options.network = try arguments.networkOptions()
        options.progress = display.progress("Checking links")
        let larder = try arguments.larder
        let wanted = options
        return try await display.run(orContinueWith: arguments.commandLine) {
            try await larder.checkLinks(target, options: wanted)
        }
    }

    /// Decides between a manifest and stored sites, in this order:
    ///
    /// 1. `--offline`: the named site, the site of `--target`, or all sites.
    /// 2. No name: all stored sites.
    /// 3. A name with an option of manifests, the path of a file, or the URL of a stored site's manifest: a manifest.
    /// 4. The name of a stored site: that site.
    /// 5. A URL, or any name if nothing is stored: a manifest.
    ///
    /// - Throws: `UsageError` if a name is none of these, or if options contradict each other.
    private static func target(_ arguments: Arguments) async throws -> Target {
        let given = manifestOptions.first { arguments.has($0) && arguments.source(of: $0) == .commandLine }
        let isOffline = arguments.has(.offline)
        if isOffline, let given {
            throw UsageError(
                "\(given.name) is for manifests, --offline for a stored site; leave one of them out")
        }
        if isOffline {
            if let name = arguments.operands.first {
                try refuseSnapshot(
                    name, among: (try? await arguments.larder.snapshots().sites.map(\.name)) ?? [])
                return .sites([name])
            }
            let names = try await storedSites(arguments)
            // The configured target may be a manifest, which is not a site.
            let place = arguments.text(.target).flatMap {
                SiteName.index(of: $0, among: names, acceptsOrigin: true)
            }
            return .sites(place.map { [names[$0]] } ?? names)
        }
        guard let name = arguments.operands.first ?? arguments.text(.target) else {
            if let given {
                let value = arguments.commandLineValue(of: given).map {
                    given.printableValues([$0])?.first ?? given.placeholder ?? ""
                }
                let example = CommandLine.shellCommand(
                    ["check", "site.json", given.name] + (value.map { [$0] } ?? []), program: "larder")
                throw UsageError("\(given.name) needs a manifest, for example: \(example)")
            }
            return .sites(try await storedSites(arguments))
        }
        if WholeFile.exists(name) { return .manifest(name) }
        // A folder without a store has no sites.
        let sites = (try? await arguments.larder.snapshots().sites) ?? []
        let names = sites.map(\.name)
        if let given {
            guard !name.contains("://"), SiteName.index(of: name, among: names) != nil else {
                return .manifest(name)
            }
            throw UsageError(
                "\(given.name) is for manifests, and \(name) is a stored site; leave \(given.name) out, or name the manifest"
            )
        }
        if let place = SiteName.index(of: name, among: names, acceptsOrigin: true) {
            // A site of bundles has the name of its manifest, whose URL means the server, stored or not. A page has both.
            let isManifest = sites[place].manifest == name && !name.hasSuffix("/") && name.contains("://")
            return isManifest ? .manifest(name) : .sites([names[place]])
        }
        try refuseSnapshot(name, among: names)
        if Folder.exists(name) {
            let build = CommandLine.shellCommand(["check", "MANIFEST", "--dir", name])
            let links = CommandLine.shellCommand(["check", "--links", "--dir", name])
            throw UsageError(
                "\(name) is a folder; to compare its files with a manifest: \(build); to check its links: \(links)"
            )
        }
        guard name.contains("://") || names.isEmpty else {
            throw UsageError(
                "\(name) is neither a file nor a stored site; the stored sites are: \(names.joined(separator: ", "))"
            )
        }
        return .manifest(name)
    }

    /// The names of all stored sites.
    ///
    /// - Throws: `UsageError` if there are none.
    private static func storedSites(_ arguments: Arguments) async throws -> [String] {
        let names = try await arguments.larder.snapshots().sites.map(\.name)
        guard !names.isEmpty else {
            throw UsageError("no site is stored; name a manifest, for example: larder check manifest.json")
        }
        return names
    }

    /// Checks a stored site. Pages are opened in a browser if one is found, unless `--quick` or `--require
    /// read` excludes that.
    private static func offline(
        _ site: String, _ arguments: Arguments, _ display: ProgressDisplay
    ) async throws -> CheckReport {
        var options = OfflineCheckOptions()
        options.isQuick = arguments.has(.quick)
        options.failsOn = try arguments.failsOn
        let level: Rehearsal.Level? = try arguments.choice(.requireLevel)
        options.requires = level ?? .read
        let mustOpen = arguments.has(.renderOffline) || level == .rehearsed
        if !mustOpen, arguments.has(.quick) || level == .read {
            options.reasonForNoBrowserCheck =
                "no page was opened, because of \(arguments.has(.quick) ? "--quick" : "--require read")"
        } else {
            var browserCheck = OfflineCheckOptions.BrowserCheck()
            browserCheck.browser = arguments.text(.browser)
            browserCheck.requiresBrowser = mustOpen
            let pages = try arguments.number(.renderPages, in: 0...Int(Int32.max))
            browserCheck.pages = pages == 0 ? nil : pages
            options.browserCheck = browserCheck
        }
        options.progress = display.progress("Verifying stored pages")
        let larder = try arguments.larder
        let wanted = options
        return try await display.run(orContinueWith: arguments.commandLine) {
            try await larder.checkOffline(site, options: wanted)
        }
    }

    /// Checks the bundles of a manifest on the live site, in folders or in the store.
    private static func bundles(
        of manifest: String, _ arguments: Arguments, _ display: ProgressDisplay
    ) async throws -> CheckReport {
        guard !arguments.has(.quick) || arguments.has(.stored) else {
            throw UsageError("--quick applies to stored bodies; use it with --stored or with a stored site")
        }
        guard !arguments.has(.renderOffline) else {
            throw UsageError("--render needs a stored site, and \(manifest) is not one; leave it out")
        }
        let ignored: [Option] = [
            .stored, .live, .folder, .base, .format, .release, .evidence, .allowRollback,
        ]
        if Larder.isUpdateFile(manifest),
            let given = ignored.first(where: {
                arguments.has($0) && arguments.source(of: $0) == .commandLine
            })
        {
            throw UsageError(
                "\(manifest) is an update file, which is checked without \(given.name); to apply it: "
                    + CommandLine.shellCommand(["preload", manifest], program: "larder"))
        }
        var options = CheckOptions()
        options.bases = arguments.texts(.base)
        options.format = arguments.text(.format)
        options.releases = arguments.texts(.release)
        options.isQuick = arguments.has(.quick)
        options.evidence = try arguments.evidence
        options.failsOn = try arguments.failsOn
        options.trustedKeys = arguments.texts(.trust)
        options.allowsRollback = arguments.has(.allowRollback)
        options.requiresStrongDigests = arguments.has(.strong)
        var places: [CheckOptions.Place] = arguments.texts(.folder).map { .folder($0) }
        if arguments.has(.stored) { places.append(.stored) }
        if arguments.has(.live) { places.append(.live) }
        options.places = places
        options.progress = display.progress("Checking bundles")
        // Only stored bundles need a store. If there is one, it may have the keys that sign the manifest.
        let storedKeys = options.trustedKeys.isEmpty ? try? arguments.larder : nil
        let larder = arguments.has(.stored) ? try arguments.larder : storedKeys ?? Larder(at: "")
        let wanted = options
        do {
            return try await display.run(orContinueWith: arguments.commandLine) {
                try await larder.check(manifest, options: wanted)
            }
        } catch let error as LarderError where error.remedy == .base && !arguments.has(.folder) {
            let folder = "or the build's folder with \(Option.folder.name) DIR"
            let message = "\(error.description) with \(Remedy.base.options), \(folder)"
            throw UsageError(message)
        }
    }
}

extension Arguments {
    /// The values of `--evidence`.
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
                        "--evidence must be etag or one of \(names.joined(separator: ", ")), not \"\(text)\"")
                }
            }
            return evidence
        }
    }

    /// The verdicts of `--fail-on` on bundles and sites, or the default of the library.
    fileprivate var failsOn: Set<CheckReport.Verdict> {
        get throws(UsageError) {
            let named = try verdicts(
                usual: CheckReport.usualFailures,
                otherNames: has(.checkLinks) ? LinkCheckReport.Verdict.allCases.map(\.rawValue) : [])
            return has(.strict) ? named.union([.unverifiable]) : named
        }
    }

    /// The verdicts of `--fail-on` on links, or the default of the library.
    ///
    /// - Parameter isWithTarget: whether a manifest or site is checked, too, whose verdicts the option may name.
    fileprivate func failingLinkVerdicts(isWithTarget: Bool) throws(UsageError) -> Set<
        LinkCheckReport.Verdict
    > {
        try verdicts(
            usual: LinkCheckReport.usualFailures,
            otherNames: isWithTarget ? CheckReport.Verdict.allCases.map(\.rawValue) : [])
    }

    /// The verdicts of `--fail-on` of one kind; the usual ones if it names none of this kind.
    ///
    /// - Parameter otherNames: the names of the other kind, which a call that checks both may mix with these.
    private func verdicts<Verdict: RawRepresentable<String> & CaseIterable & Hashable>(
        usual: Set<Verdict>, otherNames: [String]
    ) throws(UsageError) -> Set<Verdict> {
        guard let text = text(.failOn) else { return usual }
        if text == "none" { return [] }
        var verdicts: Set<Verdict> = []
        for name in text.utf8.split(separator: UInt8(ascii: ",")).map({ String(Substring($0)) }) {
            if let verdict = Verdict(rawValue: name), name != "verified" {
                verdicts.insert(verdict)
            } else if name == "verified" || !otherNames.contains(name) {
                let names = Verdict.allCases.map(\.rawValue).filter { $0 != "verified" }
                throw UsageError(
                    "--fail-on must be a list of verdicts (\(names.joined(separator: ","))), not \"\(name)\"")
            }
        }
        return verdicts.isEmpty ? usual : verdicts
    }
}

/// The formats and files of the requested reports. At most one report is printed, so that standard output
/// stays parseable.
struct CheckOutputs {
    /// A report in one format.
    private struct Output {
        let format: ReportFormat
        /// Nil for standard output.
        let file: String?
    }

    private let outputs: [Output]

    /// Parses the values of `--report`, which are `FORMAT` or `FORMAT=FILE`, and `--json`.
    ///
    /// - Throws: `UsageError` for an unknown format, and for more than one report on standard output.
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
                    "--report must be one of \(names.joined(separator: ", ")), not \"\(name)\"\(close)")
            }
            guard file != "" else {
                throw UsageError(
                    "--report \(name)= needs a file name, such as: --report \(name)=report.\(name)")
            }
            // As elsewhere, a dash means standard output.
            outputs.append(Output(format: format, file: file == "-" ? nil : file))
        }
        if arguments.has(.json) { outputs.append(Output(format: .json, file: nil)) }
        let printed = outputs.filter { $0.file == nil }
        guard printed.count <= 1 else {
            throw UsageError(
                "only one report can be printed; write the others to files, such as --report junit=junit.xml")
        }
        // A log shows the result even if the requested reports go to files.
        if printed.isEmpty { outputs.append(Output(format: .text, file: nil)) }
        self.outputs = outputs
    }

    /// Writes the reports in each format, and returns the exit status.
    func write(_ reports: CheckReports, _ terminal: Terminal) throws(SystemError) -> ExitStatus {
        for output in outputs {
            let text = reports.text(as: output.format, isBrief: output.file == nil)
            if let file = output.file {
                try WholeFile.write(text + "\n", to: file)
            } else if output.format == .json {
                terminal.reportJSON(text)
            } else if terminal.isQuiet, output.format == .text {
                // The log of a CI job then says why the job fails.
                for line in reports.failureLines { terminal.fail(line) }
            } else {
                terminal.say(text)
            }
        }
        return reports.isClean ? .done : .incomplete
    }
}
