internal import Fetch
internal import Glibc
internal import Reports
internal import System
internal import Web

/// Decides which links with a fault are not reported: by the rules of the ignore file, the patterns of the options, and the
/// baseline. Writes a new baseline if one is wanted.
struct LinkFilter {
    private var rules: LinkIgnoreRules
    private var usedRules: Set<Int> = []
    private var expiredRules: Set<Int> = []
    private let ignoreFile: String?
    private let baseline: LinkBaseline?
    private let newBaseline: String?
    private let extendsNewBaseline: Bool
    private var newEntries: Set<LinkBaseline.Entry> = []
    /// The date as `2026-11-28`, by which rules expire.
    private let today: String

    /// The ignore file that is read if no other is named and this one exists.
    static let usualIgnoreFile = ".larderignore"
    private static let maxFileBytes = 16 * 1024 * 1024

    /// - Throws: `LarderError` of kind `.input` for a file that cannot be read, or is invalid.
    init(_ options: LinkCheckOptions, today: String = Self.today()) throws(LarderError) {
        self.today = today
        ignoreFile =
            options.ignoreFile
            ?? (options.readsUsualIgnoreFile && Self.isRegularFile(Self.usualIgnoreFile)
                ? Self.usualIgnoreFile : nil)
        newBaseline = options.newBaseline
        extendsNewBaseline = options.extendsNewBaseline
        baseline = try options.baseline.map { path throws(LarderError) in
            try LinkBaseline(json: try Self.read(path), path: path)
        }
        var rules = options.ignores.map { LinkIgnoreRule(target: $0, reason: "it matches \"\($0)\"") }
        guard let ignoreFile else {
            self.rules = try LinkIgnoreRules(rules)
            return
        }
        let text = String(decoding: try Self.read(ignoreFile), as: UTF8.self)
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard let rule = try LinkIgnoreRule(line, number: index + 1, of: ignoreFile) else { continue }
            rules.append(rule)
        }
        self.rules = try LinkIgnoreRules(rules)
    }

    /// Whether there is a regular file, as opposed to a link, at the path. A link in a repository could name any file of the user,
    /// and messages about its lines would show them.
    private static func isRegularFile(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    private static func read(_ path: String) throws(LarderError) -> [UInt8] {
        var status = stat()
        // Reading a pipe could wait forever.
        if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFIFO {
            throw LarderError(.input, "\(path) is a pipe; name an existing file")
        }
        do throws(SystemError) {
            return try WholeFile.read(path, atMost: maxFileBytes)
        } catch {
            throw LarderError(.input, "\(error); name an existing file")
        }
    }

    /// The date in UTC.
    private static func today() -> String {
        String(HTTPDate(secondsSinceEpoch: Int64(time(nil))).iso8601.prefix("2026-11-28".count))
    }

    /// Whether there are any rules or patterns.
    var hasRules: Bool { !rules.all.isEmpty }

    /// The reason why a rule excludes a link, whatever its verdict; nil if none does.
    mutating func ruleReason(toIgnore target: String, in document: String) -> String? {
        for number in rules.numbers(matching: target, in: document) {
            let rule = rules.all[number]
            guard rule.expiry.map({ today <= $0 }) ?? true else {
                expiredRules.insert(number)
                continue
            }
            usedRules.insert(number)
            return rule.reason
        }
        return nil
    }

    /// The reason why a link is not reported; nil if it is reported.
    mutating func reason(
        toIgnore target: String, _ verdict: LinkCheckReport.Verdict, in document: String
    ) -> String? {
        if let reason = ruleReason(toIgnore: target, in: document) { return reason }
        guard baseline != nil || newBaseline != nil else { return nil }
        let entry = LinkBaseline.Entry(document: document, target: target, verdict: verdict.rawValue)
        if verdict != .notChecked { newEntries.insert(entry) }
        return baseline?.entries.contains(entry) == true ? "it is in the baseline" : nil
    }

    /// Writes the new baseline. Returns notes about rules that have expired or match nothing.
    func finish() throws(LarderError) -> [String] {
        var notes: [String] = []
        for (number, rule) in rules.all.enumerated() {
            guard let ignoreFile, let line = rule.line else { continue }
            if expiredRules.contains(number), let expiry = rule.expiry {
                notes.append(
                    "\(ignoreFile):\(line): the rule ended on \(expiry); its links are reported again")
            } else if !usedRules.contains(number) {
                notes.append("\(ignoreFile):\(line): the rule matches no faulty link in this check")
            }
        }
        let mendedCount = baseline.map { $0.entries.subtracting(self.newEntries).count } ?? 0
        if mendedCount > 0, newBaseline == nil {
            notes.append(
                "\(Wording.count(mendedCount, "link")) of the baseline had no fault in this check; write it again to remove them"
            )
        }
        guard let newBaseline else { return notes }
        var newEntries = newEntries
        if extendsNewBaseline {
            newEntries.formUnion(
                try LinkBaseline(json: try Self.read(newBaseline), path: newBaseline).entries)
        }
        do throws(SystemError) {
            try WholeFile.write(LinkBaseline.text(of: newEntries), to: newBaseline)
        } catch {
            throw LarderError(error)
        }
        notes.append("\(Wording.count(newEntries.count, "link")) written to the baseline \(newBaseline)")
        return notes
    }
}

/// The links that had a fault when a baseline was written. They do not fail later checks.
struct LinkBaseline: Sendable, Equatable {
    /// A faulty link of one document.
    struct Entry: Hashable, Sendable {
        let document: String
        let target: String
        let verdict: String
    }

    let entries: Set<Entry>

    /// Reads a baseline.
    ///
    /// - Throws: `LarderError` of kind `.input` for a file that is not a baseline.
    init(json: [UInt8], path: String) throws(LarderError) {
        guard let value = try? JSONValue.parse(json.span), let links = value["links"]?.array else {
            throw LarderError(.input, "\(path) is not a baseline; write a new one")
        }
        entries = Set(
            links.compactMap { link in
                guard let document = link["document"]?.string, let target = link["target"]?.string,
                    let verdict = link["verdict"]?.string
                else { return nil }
                return Entry(document: document, target: target, verdict: verdict)
            })
    }

    /// The text of a baseline, sorted so that its changes can be reviewed.
    static func text(of entries: Set<Entry>) -> String {
        let sorted = entries.sorted {
            ($0.document, $0.target, $0.verdict) < ($1.document, $1.target, $1.verdict)
        }
        let links = sorted.map { entry -> JSONMembers in
            ["document": entry.document, "target": entry.target, "verdict": entry.verdict]
        }
        return (["links": links] as JSONMembers).text() + "\n"
    }
}
