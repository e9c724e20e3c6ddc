internal import LarderKit

/// What the command line says, after the table has been asked.
struct Arguments: Sendable {
    let operands: [String]
    /// What was given, and what holds when nothing is.
    private let values: [String: [String]]
    private let standards: [String: String]

    func has(_ option: Option) -> Bool { values[option.name] != nil }

    /// Of one that was given several times, the last.
    func text(_ option: Option) -> String? { values[option.name]?.last }

    /// In the order in which they were given.
    func texts(_ option: Option) -> [String] { values[option.name] ?? [] }

    /// One of the names that an enumeration has; nil when the option is not given.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ option: Option, of type: Choice.Type = Choice.self
    ) throws(UsageError) -> Choice? {
        guard let text = text(option) else { return nil }
        if let choice = Choice(rawValue: text) { return choice }
        let names = Choice.allCases.map(\.rawValue)
        let close = Suggestion.closest(to: text, among: names).map { "; did you mean \($0)?" } ?? ""
        throw UsageError("\(option.name) wants one of \(names.joined(separator: ", ")), not \"\(text)\"\(close)")
    }

    /// A whole number in the range; what the table says when the option is not given.
    func number(_ option: Option, in range: ClosedRange<Int>) throws(UsageError) -> Int {
        let text = text(option) ?? standards[option.name] ?? ""
        guard let number = Int(text), range.contains(number) else {
            throw UsageError(
                "\(option.name) wants a number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"")
        }
        return number
    }

    /// A whole number that has no standard; nil when the option is not given.
    func numberIfGiven(_ option: Option, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        has(option) ? try number(option, in: range) : nil
    }

    /// Options may stand anywhere; `--` ends them; `--name=value` and `--name value` are the same.
    init(_ words: some Sequence<String>, for entry: CommandEntry) throws(UsageError) {
        var operands: [String] = []
        var values: [String: [String]] = [:]
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
            let known = entry.options + [.help]
            guard let option = known.first(where: { $0.name == name }) else {
                let close = Suggestion.closest(to: name, among: known.map(\.name))
                throw UsageError(
                    "larder \(entry.name) has no option \(name)"
                        + (close.map { "; did you mean \($0)?" } ?? "; see: larder help \(entry.name)"))
            }
            guard option.value != nil else {
                guard attached == nil else { throw UsageError("\(name) takes no value") }
                values[name] = [""]
                continue
            }
            guard let value = attached ?? words.next(), !value.isEmpty else {
                throw UsageError("\(name) wants a value: \(name) \(option.value ?? "VALUE")")
            }
            guard option.repeats || values[name] == nil else {
                throw UsageError("\(name) is given twice: which one counts?")
            }
            values[name, default: []].append(value)
        }
        self.operands = operands
        self.values = values
        standards = entry.options.reduce(into: [:]) { $0[$1.name] = $1.standard }
        guard !has(.help) else { return }
        if operands.count < entry.operandCount.lowerBound {
            throw UsageError(
                "larder \(entry.name) wants \(entry.operands), such as: \(entry.examples.first ?? "larder help")")
        }
        if operands.count > entry.operandCount.upperBound {
            let surplus = operands[entry.operandCount.upperBound]
            throw UsageError("larder \(entry.name) does not know what to do with \"\(surplus)\"")
        }
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
