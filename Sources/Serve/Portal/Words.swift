internal import Reports

/// The language of the portal.
package enum PortalLanguage: String, Sendable, CaseIterable {
    case english = "en"
    case chinese = "zh"

    /// The preferred language of a browser; English if it prefers others (RFC 9110, section 12.5.4).
    package init(accepting text: String?) {
        var best: (language: PortalLanguage, quality: Double)?
        for part in (text ?? "").utf8.prefix(400).split(separator: UInt8(ascii: ",")) {
            let words = part.split(separator: UInt8(ascii: ";"))
            guard let first = words.first else { continue }
            let name = String(decoding: first, as: UTF8.self).lowercased().filter { $0 != " " }
            guard
                let language = Self.allCases.first(where: {
                    name == $0.rawValue || name.hasPrefix($0.rawValue + "-")
                })
            else { continue }
            let quality =
                words.dropFirst().lazy
                .map { String(decoding: $0, as: UTF8.self).filter { $0 != " " } }
                .first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            if quality > 0, quality > best?.quality ?? 0 { best = (language, quality) }
        }
        self = best?.language ?? .english
    }

    /// The `lang` attribute.
    var tag: String {
        switch self {
        case .english: "en"
        case .chinese: "zh-Hans"
        }
    }
}

extension PortalLanguage {
    /// A relative time, such as "2 days ago".
    func age(_ seconds: Int64) -> String {
        switch self {
        case .english: return Wording.age(seconds)
        case .chinese:
            guard seconds >= 60 else { return seconds < 0 ? "将来" : "刚刚" }
            let units: [(noun: String, length: Int64)] = [
                ("分钟", 60), ("小时", 3600), ("天", 86_400), ("周", 7 * 86_400), ("个月", 30 * 86_400),
                ("年", 365 * 86_400),
            ]
            let unit = units.last { seconds >= 2 * $0.length } ?? units[0]
            return "\(seconds / unit.length) \(unit.noun)前"
        }
    }
}

/// A sentence with the values for its placeholders.
package struct Phrase: Sendable, Equatable {
    let sentence: Sentence
    package let parts: [String]

    package init(_ sentence: Sentence, _ parts: String...) { self.init(sentence, parts) }

    init(_ sentence: Sentence, _ parts: [String]) { (self.sentence, self.parts) = (sentence, parts) }

    func text(in language: PortalLanguage) -> String { sentence.text(in: language, parts) }
}

extension Sentence {
    /// The text with `%1` to `%9` replaced by the parts. Parts are not searched for placeholders.
    func text(in language: PortalLanguage, _ parts: [String] = []) -> String {
        let pattern = language == .chinese ? chinese : english
        guard !parts.isEmpty else { return pattern }
        var bytes: [UInt8] = []
        var rest = pattern.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%"), let digit = rest.first, (0x31...0x39).contains(digit),
                parts.indices.contains(Int(digit - 0x31))
            else {
                bytes.append(byte)
                continue
            }
            rest = rest.dropFirst()
            bytes += parts[Int(digit - 0x31)].utf8
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    var english: String { both.0 }
    var chinese: String { both.1 }
}
