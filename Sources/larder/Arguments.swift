internal import LarderKit
internal import System
internal import Web

/// What the command line says, after the table has been asked, and what holds beside it.
struct Arguments: Sendable {
    let operands: [String]
    private let command: String
    private let options: [Option]
    /// What is in force, and who says so.
    private let values: [String: Settings.Value]
    /// What the command line says, in its order.
    private let given: [(option: Option, text: String?)]
    let settings: Settings

    func has(_ option: Option) -> Bool { values[option.name]?.texts != nil }

    /// Of one that was given several times, the last.
    func text(_ option: Option) -> String? { values[option.name]?.texts?.last }

    /// In the order in which they were given.
    func texts(_ option: Option) -> [String] { values[option.name]?.texts ?? [] }

    /// Who says what the option is.
    func source(of option: Option) -> Settings.Source { values[option.name]?.source ?? .standard }

    /// What was said on the command line; nil when it was said elsewhere, or not at all.
    func given(_ option: Option) -> String? { given.last { $0.option.name == option.name }?.text }

    /// One of the names that an enumeration has; nil when the option is not given.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ option: Option, of type: Choice.Type = Choice.self
    ) throws(UsageError) -> Choice? {
        guard let text = text(option) else { return nil }
        if let choice = Choice(rawValue: text) { return choice }
        let names = Choice.allCases.map(\.rawValue)
        let close = Spelling.closest(to: text, among: names).map { "; did you mean \($0)?" } ?? ""
        throw wrong(option, "wants one of \(names.joined(separator: ", ")), not \"\(text)\"\(close)")
    }

    /// A whole number in the range; what the table says when the option is not given.
    func number(_ option: Option, in range: ClosedRange<Int>) throws(UsageError) -> Int {
        let text = text(option) ?? options.first { $0.name == option.name }?.standard ?? ""
        guard let number = Int(text), range.contains(number) else {
            throw wrong(
                option, "wants a number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"")
        }
        return number
    }

    /// A whole number that has no standard; nil when the option is not given.
    func numberIfGiven(_ option: Option, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        has(option) ? try number(option, in: range) : nil
    }

    /// What is wrong with the value of an option, and who gave it.
    func wrong(_ option: Option, _ mistake: String) -> UsageError {
        switch source(of: option) {
        case .commandLine, .standard: UsageError("\(option.name) \(mistake)")
        case .variable(let name): UsageError("$\(name) \(mistake)")
        case .file(let path, let line): UsageError("\(path):\(line): \"\(option.key)\" \(mistake)")
        }
    }

    /// The same command once more, to be typed or pasted into a shell.
    var again: String { again(with: [:]) }

    /// The same command with some options changed.
    func again(with changes: [String: String]) -> String { again(as: command, with: changes) }

    /// Another command with the same operands, and those of the options that it has. What may be secret is
    /// left for the reader to fill in.
    func again(as command: String, with changes: [String: String] = [:]) -> String {
        let known = CommandEntry.named(command)?.options.map(\.name) ?? []
        let kept = given.filter { known.contains($0.option.name) && changes[$0.option.name] == nil }
        let options = kept.flatMap { option, text -> [String] in
            guard let text else { return [option.name] }
            return [option.name] + (option.shown([text]) ?? [option.value ?? ""])
        }
        let changed = changes.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }
        return CommandLine.shown([command] + operands + options + changed)
    }

    /// Options may stand anywhere; `--` ends them; `--name=value` and `--name value` are the same, and
    /// `--name=false` is for a flag that a file sets.
    init(
        _ words: some Sequence<String>, for entry: CommandEntry, settings: Settings = Settings()
    ) throws(UsageError) {
        var operands: [String] = []
        var values: [String: Settings.Value] = [:]
        var given: [(option: Option, text: String?)] = []
        var words = words.makeIterator()
        var optionsEnded = false
        while let word = words.next() {
            guard !optionsEnded, word.utf8.first == UInt8(ascii: "-"), word != "-" else {
                operands.append(word)
                continue
            }
            guard word != "--" else {
                optionsEnded = true
                continue
            }
            let (name, attached) = Self.parts(of: word)
            if entry.readsWords, !word.hasPrefix("--"),
                !(entry.options + [.help]).contains(where: { $0.short == name })
            {
                operands.append(word)
                continue
            }
            let option = try Self.option(name, of: entry)
            guard let kind = option.value else {
                guard attached == nil || attached == "false" else {
                    throw UsageError("\(name) takes no value: write \(name) alone")
                }
                values[option.name] = Settings.Value(
                    texts: attached == nil ? [""] : nil, source: .commandLine)
                given.append((option, attached))
                continue
            }
            guard let value = attached ?? words.next(), !value.isEmpty else {
                throw UsageError("\(name) wants a value: \(name) \(kind)")
            }
            let earlier = values[option.name]?.texts ?? []
            guard option.repeats || earlier.isEmpty else {
                throw UsageError("\(name) is given twice: which one counts?")
            }
            values[option.name] = Settings.Value(texts: earlier + [value], source: .commandLine)
            given.append((option, value))
        }
        for option in entry.options where values[option.name] == nil {
            values[option.name] = settings.value(of: option, for: entry.name)
        }
        self.operands = operands
        self.values = values
        self.given = given
        self.settings = settings
        command = entry.name
        options = entry.options
        guard !has(.help) else { return }
        try check(operands, entry)
    }

    private func check(_ operands: [String], _ entry: CommandEntry) throws(UsageError) {
        if operands.count < entry.operandCount.lowerBound {
            throw UsageError(
                "larder \(entry.name) wants \(entry.operands), such as: \(entry.examples.first ?? "larder help")"
            )
        }
        if operands.count > entry.operandCount.upperBound {
            let surplus = operands[entry.operandCount.upperBound]
            throw UsageError(
                "larder \(entry.name) does not know what to do with \"\(surplus)\"; see: larder help \(entry.name)"
            )
        }
    }

    private static func option(_ name: String, of entry: CommandEntry) throws(UsageError) -> Option {
        let known = entry.options + [.help]
        if let option = known.first(where: { $0.name == name || $0.short == name }) { return option }
        let close = Spelling.closest(to: name, among: known.map(\.name))
        throw UsageError(
            "larder \(entry.name) has no option \(name)"
                + (close.map { "; did you mean \($0)?" } ?? "; see: larder help \(entry.name)"))
    }

    private static func parts(of word: String) -> (name: String, value: String?) {
        guard let equals = word.utf8.firstIndex(of: UInt8(ascii: "=")) else { return (word, nil) }
        return (String(word[..<equals]), String(word[word.utf8.index(after: equals)...]))
    }
}

/// What is wrong with the command line, and what would be right.
struct UsageError: Error, Equatable {
    let message: String

    init(_ message: String) {
        // Files and the command line have their words in it.
        self.message = message.visible
    }
}

extension Arguments {
    /// What the options say of a prefetch, as far as they do.
    func prefetchOptions() throws(UsageError) -> PrefetchOptions {
        var options = PrefetchOptions()
        options.plan = try sitePlan()
        options.limits.byteCount = try byteCount(.maxBytes)
        options.limits.time = try time(.maxTime)
        if let patience = try time(.hostPatience) { options.patience = patience }
        options.policy = try choice(.fetchPolicy) ?? .revalidate
        options.allowsShrinking = has(.allowShrink)
        options.indexes = !has(.noIndex)
        options.network = try networkOptions()
        options.browser = text(.browser)
        options.renderTabs = try numberIfGiven(.renderTabs, in: 1...64)
        return options
    }

    /// Nil when nothing is said of it.
    private func renderSettings() throws(UsageError) -> RenderSettings? {
        let said: [Option] = [
            .render, .renderScroll, .renderTime, .renderDeep, .renderDark, .renderScript, .renderPictures,
            .viewport, .steady,
        ]
        guard said.contains(where: has) else { return nil }
        var settings = RenderSettings()
        settings.mode = try choice(.render) ?? .auto
        // What stands elsewhere than --render may be for other runs.
        let manner = said.filter { ![.render, .steady].contains($0) && has($0) }
        if settings.mode == .never,
            let option = manner.first(where: { source(of: $0) == .commandLine || given(.render) == nil })
        {
            throw wrong(option, "wants pages shown in a browser: leave out --render never, or this")
        }
        settings.scroll = try numberIfGiven(.renderScroll, in: 0...10_000) ?? settings.scroll
        settings.limit = try time(.renderTime) ?? settings.limit
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

    /// A file that is there has no pattern before it.
    private func renderScript(_ value: String) throws(UsageError) -> RenderSettings.Script {
        let parts = value.split(separator: "=", maxSplits: 1)
        let isWhole = parts.count < 2 || WholeFile.isThere(value)
        let path = isWhole ? value : String(parts[1])
        do throws(SystemError) {
            let text = String(decoding: try WholeFile.read(path, atMost: 1 << 20), as: UTF8.self)
            return RenderSettings.Script(pages: isWhole ? nil : String(parts[0]), text: text)
        } catch {
            throw wrong(.renderScript, "wants a file with a script: \(error)")
        }
    }

    private func sitePlan() throws(UsageError) -> SitePlan {
        var plan = SitePlan()
        plan.scope = ScopeOptions(
            extent: try choice(.scope) ?? .host, include: texts(.include), exclude: texts(.exclude),
            depth: try numberIfGiven(.depth, in: 0...65_000))
        plan.sitemaps = texts(.sitemap)
        plan.rules = texts(.rule)
        plan.guesses = !has(.noGuesses)
        plan.connectionsPerHost = try numberIfGiven(.perHost, in: 1...256)
        plan.robots = try choice(.robots)
        plan.nofollow = try choice(.nofollow)
        plan.noindex = try choice(.noindex)
        plan.render = try renderSettings()
        plan.maxPages = try numberIfGiven(.maxPages, in: 1...Int(Int32.max))
        return plan
    }

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
            throw UsageError("--ipv4 and --ipv6 exclude each other: give one of them")
        }
        network.family = has(.ipv4) ? .ipv4 : has(.ipv6) ? .ipv6 : nil
        network.rate = try byteCount(.rate)
        network.timeout = try time(.timeout)
        network.maxBody = try byteCount(.maxBody)
        network.mayReachPrivate = has(.allowPrivate)
        return network
    }

    private func login() throws(UsageError) -> NetworkOptions.Login? {
        if let token = text(.bearer) {
            guard !has(.user) else {
                throw UsageError("--user and --bearer exclude each other: give one of them")
            }
            return .bearer(token: token)
        }
        guard let text = text(.user) else { return nil }
        let digest = "digest:"
        let isDigest = text.hasPrefix(digest)
        let pair = text.dropFirst(isDigest ? digest.count : 0)
        // What was typed is not repeated: it is a secret.
        guard let colon = pair.firstIndex(of: ":") else {
            throw UsageError("--user wants NAME:PASSWORD, or digest:NAME:PASSWORD")
        }
        let (user, password) = (String(pair[..<colon]), String(pair[pair.index(after: colon)...]))
        return isDigest ? .digest(user: user, password: password) : .basic(user: user, password: password)
    }

    private func byteCount(_ option: Option) throws(UsageError) -> Int? {
        guard let size = try size(option) else { return nil }
        guard size.byteCount > 0 else { throw wrong(option, "wants more than nothing, such as 500M or 2G") }
        return Int(size.byteCount)
    }

    /// `90`, `90s`, `10m`, `2h` or `1d`; nil when the option is not given.
    func time(_ option: Option) throws(UsageError) -> Duration? {
        guard let text = text(option) else { return nil }
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        let unit = text.last.flatMap { units[$0] }
        guard let number = Int(unit == nil ? text : String(text.dropLast())),
            (1...31_536_000).contains(number)
        else {
            throw wrong(option, "wants a time such as 90s, 10m or 2h, not \"\(text)\"")
        }
        return .seconds(number * (unit ?? 1))
    }
}
