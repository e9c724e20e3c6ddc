internal import LarderKit

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
        let close = Suggestion.closest(to: text, among: names).map { "; did you mean \($0)?" } ?? ""
        throw wrong(option, "wants one of \(names.joined(separator: ", ")), not \"\(text)\"\(close)")
    }

    /// A whole number in the range; what the table says when the option is not given.
    func number(_ option: Option, in range: ClosedRange<Int>) throws(UsageError) -> Int {
        let text = text(option) ?? options.first { $0.name == option.name }?.standard ?? ""
        guard let number = Int(text), range.contains(number) else {
            throw wrong(option, "wants a number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"")
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

    /// Another command with the same operands, and those of the options that it has. What may be secret is left for the reader
    /// to fill in.
    func again(as command: String, with changes: [String: String] = [:]) -> String {
        let known = CommandEntry.named(command)?.options.map(\.name) ?? []
        let kept = given.filter { known.contains($0.option.name) && changes[$0.option.name] == nil }
        let options = kept.flatMap { option, text -> [String] in
            guard let text else { return [option.name] }
            let isSecret = option.isSecret || text.utf8.contains(UInt8(ascii: "@"))
            return [option.name, isSecret ? option.value ?? "" : text]
        }
        let changed = changes.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }
        return CommandLine.shown([command] + operands + options + changed)
    }

    /// Options may stand anywhere; `--` ends them; `--name=value` and `--name value` are the same, and `--name=false` is
    /// for a flag that a file sets.
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
            let option = try Self.option(name, of: entry)
            guard let kind = option.value else {
                guard attached == nil || attached == "false" else {
                    throw UsageError("\(name) takes no value: write \(name) alone")
                }
                values[option.name] = Settings.Value(texts: attached == nil ? [""] : nil, source: .commandLine)
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
                "larder \(entry.name) wants \(entry.operands), such as: \(entry.examples.first ?? "larder help")")
        }
        if operands.count > entry.operandCount.upperBound {
            let surplus = operands[entry.operandCount.upperBound]
            throw UsageError(
                "larder \(entry.name) does not know what to do with \"\(surplus)\"; see: larder help \(entry.name)")
        }
    }

    private static func option(_ name: String, of entry: CommandEntry) throws(UsageError) -> Option {
        let known = entry.options + [.help]
        if let option = known.first(where: { $0.name == name || $0.short == name }) { return option }
        let close = Suggestion.closest(to: name, among: known.map(\.name))
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
        self.message = message
    }
}
