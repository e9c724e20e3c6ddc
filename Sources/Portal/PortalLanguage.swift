internal import Reports

/// The language of the portal's texts. `Sentence` has the texts; this type formats times and numbers with units.
package enum PortalLanguage: String, Sendable, CaseIterable {
    case english = "en"
    case chinese = "zh"
    case german = "de"

    /// The language that a browser prefers among those of the portal, by its field `Accept-Language` (RFC 9110, section
    /// 12.5.4). English if the browser accepts none of them.
    package init(accepting text: String?) {
        var best: (language: PortalLanguage, quality: Double)?
        // The field comes from outside: only its beginning is read.
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

    /// The name of the language in the language itself.
    var ownName: String {
        switch self {
        case .english: "English"
        case .chinese: "中文"
        case .german: "Deutsch"
        }
    }

    /// The cookie with the language that the user chose in the portal.
    static let cookieName = "larder-language"

    /// The value of `Set-Cookie` that stores the language for 400 days, the maximum of browsers. Browsers send the cookie also
    /// when a mirrored page links to the portal.
    var cookie: String { "\(Self.cookieName)=\(rawValue); Path=/; Max-Age=34560000; HttpOnly; SameSite=Lax" }

    /// The value of the `lang` attribute. For Chinese it names the script, by which browsers choose the font.
    package var tag: String {
        switch self {
        case .english: "en"
        case .chinese: "zh-Hans"
        case .german: "de"
        }
    }
}

extension PortalLanguage {
    /// A relative time, such as "2 days ago". Chinese uses the largest unit of which at least two have passed.
    package func age(_ seconds: Int64) -> String {
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
        case .german:
            guard seconds >= 60 else { return seconds < 0 ? "in der Zukunft" : "gerade eben" }
            let units: [(one: String, many: String, length: Int64)] = [
                ("Minute", "Minuten", 60), ("Stunde", "Stunden", 3600), ("Tag", "Tagen", 86_400),
                ("Woche", "Wochen", 7 * 86_400), ("Monat", "Monaten", 30 * 86_400),
                ("Jahr", "Jahren", 365 * 86_400),
            ]
            let unit = units.last { seconds >= 2 * $0.length } ?? units[0]
            let count = seconds / unit.length
            return "vor \(count) \(count == 1 ? unit.one : unit.many)"
        }
    }

    /// A date with its time of day: `20 Nov 2026, 15:10 UTC`.
    func moment(_ seconds: Int64) -> String {
        switch self {
        case .english: return Wording.moment(seconds)
        case .chinese:
            // The date has the form 2026-11-20T15:10:00Z.
            let parts = Wording.date(seconds).split { "-T:".contains($0) }
            guard parts.count == 6, let month = Int(parts[1]), let day = Int(parts[2]) else { return "" }
            return "\(parts[0])年\(month)月\(day)日 \(parts[3]):\(parts[4])（UTC）"
        case .german:
            let parts = Wording.date(seconds).split { "-T:".contains($0) }
            guard parts.count == 6, let month = Int(parts[1]), let day = Int(parts[2]) else { return "" }
            return "\(day).\(month).\(parts[0]), \(parts[3]):\(parts[4]) UTC"
        }
    }

    /// A date as this language writes it, from the form `2026-11-20`. Other texts stay as they are.
    func day(_ date: String) -> String {
        let parts = date.split(separator: "-")
        guard parts.count == 3, let month = Int(parts[1]), let day = Int(parts[2]) else { return date }
        return switch self {
        case .english: date
        case .chinese: "\(parts[0])年\(month)月\(day)日"
        case .german: "\(day).\(month).\(parts[0])"
        }
    }

    /// An interval, in the largest unit that divides it: `90 minutes`.
    package func interval(_ seconds: Int64) -> String {
        let units: [(noun: String, chinese: String, german: String, length: Int64)] = [
            ("week", "周", "Woche", 7 * 86_400), ("day", "天", "Tag", 86_400), ("hour", "小时", "Stunde", 3600),
            ("minute", "分钟", "Minute", 60), ("second", "秒", "Sekunde", 1),
        ]
        let unit = units.first { seconds % $0.length == 0 } ?? units[4]
        let count = Int(seconds / unit.length)
        return switch self {
        case .english: Wording.count(count, unit.noun)
        case .chinese: "\(count) \(unit.chinese)"
        case .german: "\(count) \(unit.german)\(count == 1 ? "" : unit.german == "Tag" ? "e" : "n")"
        }
    }

    /// The name of a verdict on a URL or link, from the name in JSON. A name that is not known stays as it is.
    func verdict(_ name: String) -> String {
        switch self {
        case .english: return name
        case .chinese:
            let names = [
                "mismatch": "不一致", "missing": "缺失", "unverifiable": "无法校验", "skew": "版本不一致",
                "broken": "源站上已失效", "not-fetched": "未获取", "dead": "已失效", "fragment-missing": "没有此片段",
                "timed-out": "超时", "failed": "出现错误", "blocked": "服务器拒绝程序访问", "redirected": "已永久移动",
                "mixed-content": "通过 http 加载",
            ]
            return names[name] ?? name
        case .german:
            let names = [
                "mismatch": "weicht ab", "missing": "fehlt", "unverifiable": "nicht prüfbar",
                "skew": "Versionsabweichung", "broken": "auf der Original-Website defekt",
                "not-fetched": "nicht geladen", "dead": "defekt", "fragment-missing": "Abschnitt fehlt",
                "timed-out": "Zeitüberschreitung", "failed": "Fehler", "blocked": "Server weist Programme ab",
                "redirected": "dauerhaft verschoben", "mixed-content": "über http geladen",
            ]
            return names[name] ?? name
        }
    }

    /// A duration as `Wording.time` formats it, with the units of this language: `5 min 20 s`.
    package func duration(_ text: String) -> String {
        switch self {
        case .english: return text
        case .german: return text.split(separator: " ").map { figure(String($0)) }.joined(separator: " ")
        case .chinese:
            let units = ["ms": "毫秒", "s": "秒", "min": "分", "h": "小时"]
            return text.split(separator: " ").map { units[String($0)] ?? String($0) }.joined(separator: " ")
        }
    }

    /// A number or size as `Wording` formats it, with the separators of this language: `1,234` and `1.5 kB` become `1.234`
    /// and `1,5 kB` in German. Other texts stay as they are.
    package func figure(_ text: String) -> String {
        guard self == .german else { return text }
        let words = text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        let units = ["B", "kB", "MB", "GB", "TB", "kB/s", "MB/s", "GB/s", "B/s"]
        guard let number = words.first, number.first.map({ (0x30...0x39).contains($0) }) == true,
            number.allSatisfy({
                (0x30...0x39).contains($0) || $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ".")
            }),
            // More than one point is a date.
            number.filter({ $0 == UInt8(ascii: ".") }).count < 2,
            words.count == 1 || words.count == 2 && units.contains(String(Substring(words[1])))
        else { return text }
        let swapped = text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: ","): UInt8(ascii: ".")
            case UInt8(ascii: "."): UInt8(ascii: ",")
            default: byte
            }
        }
        return String(decoding: swapped, as: UTF8.self)
    }

    /// `1,234`, with the separators of this language.
    package func number(_ number: Int) -> String { figure(Wording.number(number)) }

    /// A size: `1.5 kB`, with the separators of this language.
    package func bytes(_ count: some BinaryInteger) -> String { figure(Wording.bytes(count)) }
}
