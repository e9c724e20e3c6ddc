internal import LarderKit
internal import System
internal import Web

/// The parsed arguments of one command, with the settings from the environment and the configuration files.
///
/// The value of an option comes from the first of these that sets it: command line, environment variable,
/// `.larder.json`, the user's configuration file, default. A list replaces a list of lower precedence.
/// Values are checked when they are read: the accessors throw a `UsageError` that names the place where the
/// wrong value is set.
///
/// To read a new option, call one of the accessors with it, such as `try arguments.number(.depth, in:
/// 0...65_000)`. An option that is not in the command's entry is never set.
struct Arguments: Sendable {
    /// The words that are not options, in order. Their number is in the range of the command's entry.
    let operands: [String]
    private let command: String
    /// All options of the command, for the defaults of numbers.
    private let options: [Option]
    /// The values in effect and their sources, by the name of the option. Flags have one empty text.
    /// Earlier names and short names are replaced by the name.
    private let values: [String: Settings.Value]
    /// The options on the command line, in the order given.
    private let commandLineOptions: [(option: Option, text: String?)]
    /// The environment and the configuration files that `values` came from.
    let settings: Settings

    /// Whether the option is set by the command line, the environment or a file. False for a flag with
    /// `=false`.
    func has(_ option: Option) -> Bool { values[option.name]?.texts != nil }

    /// The value of the option; the last one if it is given several times.
    func text(_ option: Option) -> String? { values[option.name]?.texts?.last }

    /// All values of the option, in the order given.
    func texts(_ option: Option) -> [String] { values[option.name]?.texts ?? [] }

    /// The place that sets the value of the option; `.defaultValue` if none does.
    func source(of option: Option) -> Settings.Source { values[option.name]?.source ?? .defaultValue }

    /// The value on the command line; nil for a flag, and for an option that is set elsewhere or not at
    /// all. Suggested commands repeat these values only, because variables and files apply to them anyway.
    func commandLineValue(of option: Option) -> String? {
        commandLineOptions.last { $0.option.name == option.name }?.text
    }

    /// The value as a case of an enumeration; nil if the option is not given.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ option: Option, of type: Choice.Type = Choice.self
    ) throws(UsageError) -> Choice? {
        guard let text = text(option) else { return nil }
        if let choice = Choice(rawValue: text) { return choice }
        let names = Choice.allCases.map(\.rawValue)
        let hint = Spelling.closest(to: text, among: names).map { "; did you mean \($0)?" } ?? ""
        throw invalidValue(option, "must be one of \(names.joined(separator: ", ")), not \"\(text)\"\(hint)")
    }

    /// The value as an integer in the range; the default of the option if it is not given.
    func number(_ option: Option, in range: ClosedRange<Int>) throws(UsageError) -> Int {
        let text = text(option) ?? options.first { $0.name == option.name }?.defaultValue ?? ""
        guard let number = Int(text), range.contains(number) else {
            throw invalidValue(
                option, "must be a number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"")
        }
        return number
    }

    /// The value as an integer in the range; nil if the option is not given.
    func numberIfGiven(_ option: Option, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        has(option) ? try number(option, in: range) : nil
    }

    /// The port that `larder serve` would use with the same settings, for commands that print its URLs. It is the
    /// default if the settings let the system choose one.
    func portOfServe() throws(UsageError) -> UInt16 {
        guard let serve = CommandEntry.command(named: "serve") else { return 8080 }
        let port = try Arguments([], for: serve, settings: settings).number(.port, in: 0...65_535)
        return port == 0 ? 8080 : UInt16(port)
    }

    /// The error for a wrong value of an option; it names the place where the value is set: the option, the
    /// variable, or the file with its line.
    ///
    /// - Parameter mistake: a verb phrase such as `must be a number`, since it follows the name of the
    ///   option.
    func invalidValue(_ option: Option, _ mistake: String) -> UsageError {
        switch source(of: option) {
        case .commandLine, .defaultValue: UsageError("\(option.name) \(mistake)")
        case .variable(let name): UsageError("$\(name) \(mistake)")
        case .file(let path, let line): UsageError("\(path):\(line): \"\(option.key)\" \(mistake)")
        }
    }

    /// The command line of this command, quoted for a shell, for messages such as "to continue: …". Secrets
    /// are replaced.
    var commandLine: String { commandLine(changing: [:]) }

    /// The command line of this command with other values for some options, by their names with dashes.
    func commandLine(changing changes: [String: String]) -> String {
        commandLine(of: command, changing: changes)
    }

    /// The command line of another command with the same operands, and with the given options that it also
    /// has. Values that may be secret are replaced by the placeholder of the option.
    func commandLine(of command: String, changing changes: [String: String] = [:]) -> String {
        let known = CommandEntry.command(named: command)?.options.map(\.name) ?? []
        let sharedOptions = commandLineOptions.filter {
            known.contains($0.option.name) && changes[$0.option.name] == nil
        }
        let options = sharedOptions.flatMap { option, text -> [String] in
            guard let text else { return [option.name] }
            return [option.name] + (option.printableValues([text]) ?? [option.placeholder ?? ""])
        }
        let changed = changes.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }
        return CommandLine.shellCommand([command] + operands + options + changed)
    }

    /// Parses the words after the name of the command, and adds the settings for options that the words do
    /// not have.
    ///
    /// Options may be anywhere on the command line. `--` ends them, and so does the first operand of a
    /// command that runs another program. `--name=value` and `--name value` are the same; `--name=false`
    /// switches off a flag that a file sets. With `--help` or `-h`, the number of operands is not checked.
    ///
    /// - Throws: `UsageError` for an unknown option, a missing value, an option that is given twice, and a
    ///   wrong number of operands. Values are not checked here.
    init(
        _ words: some Sequence<String>, for entry: CommandEntry, settings: Settings = Settings()
    ) throws(UsageError) {
        var operands: [String] = []
        var values: [String: Settings.Value] = [:]
        var commandLineOptions: [(option: Option, text: String?)] = []
        var words = words.makeIterator()
        var optionsEnded = false
        while let word = words.next() {
            guard !optionsEnded, word.utf8.first == UInt8(ascii: "-"), word != "-" else {
                operands.append(word)
                if entry.runsOtherProgram { optionsEnded = true }
                continue
            }
            guard word != "--" else {
                optionsEnded = true
                continue
            }
            let (name, attached) = Self.splitOption(word)
            let known = entry.options + [.help, .briefHelp]
            // In a search, -word is an operand that excludes a word.
            if entry.acceptsDashedOperands, !word.hasPrefix("--"),
                !known.contains(where: { $0.short == name || $0.name == name })
            {
                operands.append(word)
                continue
            }
            let option = try Self.findOption(name, of: entry)
            guard let placeholder = option.placeholder else {
                // Nil texts mark a flag that is switched off, so that a file cannot switch it on again.
                guard attached == nil || attached == "false" else {
                    throw UsageError("\(name) takes no value; write only \(name)")
                }
                values[option.name] = Settings.Value(
                    texts: attached == nil ? [""] : nil, source: .commandLine)
                commandLineOptions.append((option, attached))
                continue
            }
            guard let value = attached ?? words.next(), !value.isEmpty else {
                throw UsageError("\(name) needs a value: \(name) \(placeholder)")
            }
            let earlier = values[option.name]?.texts ?? []
            guard option.isRepeatable || earlier.isEmpty else {
                throw UsageError("\(name) is given twice; use it once")
            }
            values[option.name] = Settings.Value(texts: earlier + [value], source: .commandLine)
            commandLineOptions.append((option, value))
        }
        for option in entry.options where values[option.name] == nil {
            values[option.name] = settings.value(of: option, for: entry.section)
        }
        self.operands = operands
        self.values = values
        self.commandLineOptions = commandLineOptions
        self.settings = settings
        command = entry.section
        options = entry.options
        guard !has(.help), !has(.briefHelp) else { return }
        try checkCount(of: operands, for: entry)
    }

    /// Checks the number of operands. The message quotes the first example of the command.
    private func checkCount(of operands: [String], for entry: CommandEntry) throws(UsageError) {
        if operands.count < entry.operandCount.lowerBound {
            throw UsageError(
                "larder \(entry.name) needs \(entry.operands), for example: \(entry.examples.first ?? "larder help")"
            )
        }
        if operands.count > entry.operandCount.upperBound {
            let surplus = operands[entry.operandCount.upperBound]
            throw UsageError(
                "unexpected argument \"\(surplus)\"; see: larder \(entry.name) --help"
            )
        }
    }

    /// Returns the option of the command with this name, short name or earlier name.
    ///
    /// - Throws: `UsageError` with a similar option, if there is one.
    private static func findOption(_ name: String, of entry: CommandEntry) throws(UsageError) -> Option {
        let known = entry.options + [.help, .briefHelp]
        if let option = known.first(where: {
            $0.name == name || $0.short == name || $0.aliases.contains(name)
        }) {
            return option
        }
        let names = known.map(\.name)
        // Names are compared without their dashes. Only long names are compared.
        let keys = known.filter { $0.name.hasPrefix("--") }.map(\.key)
        let similar =
            name.hasPrefix("--") ? Spelling.closest(to: String(name.dropFirst(2)), among: keys) : nil
        let suggestion =
            Option.synonyms[name].flatMap { names.contains($0) ? $0 : nil } ?? similar.map { "--" + $0 }
        let problem = "larder \(entry.name) has no option \(name)"
        if let suggestion { throw UsageError("\(problem); did you mean \(suggestion)?") }
        let owners = CommandEntry.all.filter { $0.options.contains { $0.name == name } }
        throw UsageError(
            owners.count == 1
                ? "\(problem), but larder \(owners[0].name) has it; see: larder \(owners[0].name) --help"
                : "\(problem); see: larder \(entry.name) --help")
    }

    /// Splits `--name=value`. A word without an equals sign has no value.
    private static func splitOption(_ word: String) -> (name: String, value: String?) {
        guard let equals = word.utf8.firstIndex(of: UInt8(ascii: "=")) else { return (word, nil) }
        return (String(word[..<equals]), String(word[word.utf8.index(after: equals)...]))
    }
}

/// A mistake on the command line or in a configuration file, and how to correct it.
struct UsageError: Error, Equatable {
    let message: String

    init(_ message: String) {
        // Messages quote text from files and the command line, which may contain control characters.
        self.message = message.visible
    }
}

extension Arguments {
    /// The options of a prefetch, update or worker, from all options that start with these. Options that
    /// are not given keep the defaults of the library.
    ///
    /// - Throws: `UsageError` for wrong values, and for options that contradict each other.
    func prefetchOptions() throws(UsageError) -> PrefetchOptions {
        var options = PrefetchOptions()
        options.plan = try sitePlan()
        if has(.onlyPage) {
            for option in [Option.depth, .sitemap] where commandLineValue(of: option) != nil {
                throw UsageError(
                    "\(option.name) follows links, and \(Option.onlyPage.name) follows none; leave out one")
            }
            options.followsLinks = false
        }
        options.limits.byteCount = try byteCount(.maxBytes)
        options.limits.time = try time(.maxTime)
        if let patience = try time(.hostPatience) { options.patience = patience }
        options.policy = try choice(.fetchPolicy) ?? .revalidate
        options.allowsShrinking = has(.allowShrink)
        options.indexes = !has(.noIndex)
        options.trustedKeys = texts(.trust)
        options.allowsRollback = has(.allowRollback)
        options.requiresStrongDigests = has(.strong)
        options.network = try networkOptions()
        options.mediaCommand = try mediaCommand()
        options.browser = text(.browser)
        options.renderTabs = try numberIfGiven(.renderTabs, in: 1...64)
        return options
    }

    /// The settings for rendering pages; nil if no option for rendering is given.
    private func renderSettings() throws(UsageError) -> RenderSettings? {
        let renderOptions: [Option] = [
            .render, .renderScroll, .renderTime, .act, .consent, .freeze, .renderDeep, .renderDark,
            .renderScript,
            .renderPictures, .viewport, .steady,
        ]
        guard renderOptions.contains(where: has) else { return nil }
        var settings = RenderSettings()
        settings.mode = try choice(.render) ?? .auto
        // `--render never` on the command line overrides options for rendering in configuration files and variables, which
        // are meant for other runs. In all other cases, the two contradict each other.
        let renderDetails = renderOptions.filter { ![.render, .steady].contains($0) && has($0) }
        if settings.mode == .never,
            let option = renderDetails.first(where: {
                source(of: $0) == .commandLine || commandLineValue(of: .render) == nil
            })
        {
            throw invalidValue(option, "must not be used with --render never; leave out one of them")
        }
        settings.scroll = try numberIfGiven(.renderScroll, in: 0...10_000) ?? settings.scroll
        settings.limit = try time(.renderTime) ?? settings.limit
        settings.acting = try choice(.act) ?? settings.acting
        settings.consent = try choice(.consent) ?? settings.consent
        settings.freezing = try choice(.freeze) ?? settings.freezing
        settings.isDeep = has(.renderDeep)
        settings.seesDark = has(.renderDark)
        settings.takesPictures = has(.renderPictures)
        if has(.steady) { settings.steadySince = SystemClock.secondsSinceEpoch() }
        if let list = text(.viewport) {
            settings.viewports = list.split(separator: ",", omittingEmptySubsequences: false).map {
                String($0)
            }
        }
        for value in texts(.renderScript) { settings.scripts.append(try renderScript(value)) }
        return settings
    }

    /// A script from `FILE` or `PATTERN=FILE`. A value that is the path of an existing file has no pattern.
    private func renderScript(_ value: String) throws(UsageError) -> RenderSettings.Script {
        let parts = value.split(separator: "=", maxSplits: 1)
        let isWhole = parts.count < 2 || WholeFile.exists(value)
        let path = isWhole ? value : String(parts[1])
        do throws(SystemError) {
            let text = String(decoding: try WholeFile.read(path, atMost: 1 << 20), as: UTF8.self)
            return RenderSettings.Script(pages: isWhole ? nil : String(parts[0]), text: text)
        } catch {
            throw invalidValue(.renderScript, "must name a readable script: \(error)")
        }
    }

    /// The part of the options that is stored with the site, so that an update can use it again.
    private func sitePlan() throws(UsageError) -> SitePlan {
        var plan = SitePlan()
        plan.scope = ScopeOptions(
            extent: try choice(.scope) ?? .host, include: texts(.include), exclude: texts(.exclude),
            depth: try numberIfGiven(.depth, in: 0...65_000))
        plan.sitemaps = texts(.sitemap)
        plan.scope.allowedActions = texts(.allowActions)
        plan.scope.includesHistory = has(.includeHistory)
        plan.scope.includesForms = has(.includeForms)
        plan.scope.includesViews = has(.includeViews)
        plan.rules = texts(.rule)
        plan.guesses = !has(.noGuesses)
        plan.connectionsPerHost = try numberIfGiven(.perHost, in: 1...256)
        plan.robots = try choice(.robots)
        plan.nofollow = try choice(.nofollow)
        plan.noindex = try choice(.noindex)
        plan.media = try mediaChoice()
        plan.render = try renderSettings()
        plan.maxPages = try numberIfGiven(.maxPages, in: 1...Int(Int32.max))
        plan.keep = try keepRules()
        return plan
    }

    private func mediaCommand() throws(UsageError) -> MediaCommand? {
        let patterns = texts(.mediaFor)
        guard let command = text(.mediaCommand) else {
            guard patterns.isEmpty else { throw invalidValue(.mediaFor, "must be used with --media-command") }
            return nil
        }
        guard !patterns.isEmpty else {
            throw invalidValue(
                .mediaCommand, "must be used with --media-for PATTERN, which says for which URLs it runs")
        }
        do throws(MediaCommand.Mistake) {
            return try MediaCommand(command, for: patterns)
        } catch {
            throw invalidValue(.mediaCommand, error.description)
        }
    }

    private func mediaChoice() throws(UsageError) -> MediaChoice? {
        guard let text = text(.media) else { return nil }
        if let choice = MediaChoice(rawValue: text) { return choice }
        throw invalidValue(
            .media, "must be best, a height such as 720p, audio or none, not \"\(text)\"")
    }

    /// Whether robots.txt is obeyed, for commands without a site plan.
    var obeysRobots: Bool {
        get throws(UsageError) {
            // The plan decides, because it also has the default.
            var plan = SitePlan()
            plan.robots = try choice(.robots)
            return plan.obeysRobots
        }
    }

    /// The rules for snapshots that are kept. A site without rules keeps all.
    func keepRules() throws(UsageError) -> KeepRules {
        var rules = KeepRules()
        rules.last = try numberIfGiven(.keepLast, in: 1...1_000_000)
        rules.daily = try numberIfGiven(.keepDaily, in: 1...1_000_000)
        rules.weekly = try numberIfGiven(.keepWeekly, in: 1...1_000_000)
        if let text = text(.keepWithin) {
            guard let seconds = KeepRules.seconds(of: text) else {
                throw invalidValue(
                    .keepWithin, "must be a number with h, d, w or y, such as 30d, not \"\(text)\"")
            }
            rules.seconds = seconds
        }
        return rules
    }

    /// The options that concern connections: proxy, addresses, certificates, logins and cookies. They apply
    /// to one run, and are not stored with the site.
    ///
    /// - Throws: `UsageError` for wrong values, and for options that exclude each other.
    func networkOptions() throws(UsageError) -> NetworkOptions {
        var network = NetworkOptions()
        network.userAgent = text(.userAgent)
        network.headers = texts(.header)
        network.login = try login()
        network.netrc = text(.netrc)
        network.cookies = texts(.cookies)
        network.saveCookies = text(.saveCookies)
        network.proxy = text(.proxy)
        network.authorities = text(.authorities)
        network.certificate = text(.certificate)
        network.certificateKey = text(.certificateKey)
        network.resolve = texts(.resolve)
        network.isInsecure = has(.insecure)
        guard !has(.ipv4) || !has(.ipv6) else {
            throw UsageError("--ipv4 and --ipv6 exclude each other; use one of them")
        }
        network.family = has(.ipv4) ? .ipv4 : has(.ipv6) ? .ipv6 : nil
        network.rate = try byteCount(.rate)
        network.timeout = try time(.timeout)
        network.maxBodyBytes = try byteCount(.maxBody)
        network.mayReachPrivate = has(.allowPrivate)
        return network
    }

    /// The login of `--user` or `--bearer`; nil if neither is given. Basic authentication is the default.
    private func login() throws(UsageError) -> NetworkOptions.Login? {
        if let token = text(.bearer) {
            guard !has(.user) else {
                throw UsageError("--user and --bearer exclude each other; use one of them")
            }
            return .bearer(token: token)
        }
        guard let text = text(.user) else { return nil }
        let digest = "digest:"
        let isDigest = text.hasPrefix(digest)
        let pair = text.dropFirst(isDigest ? digest.count : 0)
        // The message does not quote the value, which may contain a password.
        guard let colon = pair.firstIndex(of: ":") else {
            throw UsageError("--user must be NAME:PASSWORD or digest:NAME:PASSWORD")
        }
        let (user, password) = (String(pair[..<colon]), String(pair[pair.index(after: colon)...]))
        return isDigest ? .digest(user: user, password: password) : .basic(user: user, password: password)
    }

    /// The value as a positive number of bytes; nil if the option is not given. Zero is rejected, since it
    /// would stop every transfer.
    private func byteCount(_ option: Option) throws(UsageError) -> Int? {
        guard let size = try size(option) else { return nil }
        guard size.byteCount > 0 else {
            throw invalidValue(option, "must be larger than 0, such as 500M or 2G")
        }
        return Int(size.byteCount)
    }

    /// The variable of reproducible builds (reproducible-builds.org/specs/source-date-epoch).
    static let sourceDateVariable = "SOURCE_DATE_EPOCH"

    /// The time to write into generated files, in seconds since 1970: that of `SOURCE_DATE_EPOCH`, else the current
    /// one.
    func sourceDate() throws(UsageError) -> Int64 {
        guard let text = settings.environment[Self.sourceDateVariable], !text.isEmpty else {
            return SystemClock.secondsSinceEpoch()
        }
        // Up to the year 9999.
        guard let seconds = Int64(text), (0...253_402_300_799).contains(seconds) else {
            throw UsageError(
                "$\(Self.sourceDateVariable) must be a number of seconds since 1970, not \"\(text)\"")
        }
        return seconds
    }

    /// The value as a time: `90`, `90s`, `10m`, `2h` or `1d`; nil if the option is not given.
    func time(_ option: Option) throws(UsageError) -> Duration? {
        guard let text = text(option) else { return nil }
        guard let time = Self.time(text) else {
            throw invalidValue(option, "must be a time such as 90s, 10m or 2h, not \"\(text)\"")
        }
        return time
    }

    /// Parses a time of at least a second; nil if the text is not one.
    static func time(_ text: String) -> Duration? {
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        let unit = text.last.flatMap { units[$0] }
        guard let number = Int(unit == nil ? text : String(text.dropLast())),
            // At most a year of seconds, so that no sum of times overflows.
            (1...31_536_000).contains(number)
        else { return nil }
        return .seconds(number * (unit ?? 1))
    }
}
