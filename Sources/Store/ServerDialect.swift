/// SQL as the store writes it for SQLite, in the words that a PostgreSQL knows. What differs in more than
/// words stands in `ServerSchema`, or is asked of the connection where it is done.
///
/// An address may be longer than what a B-tree takes, so that its index has the beginnings only
/// (`ServerSchema.beginning`): where addresses are compared or put into order, their beginnings are too.
struct ServerDialect {
    private var words: [Substring]
    private var parameterCount = 0

    static func translated(_ sql: String) -> String {
        var dialect = ServerDialect(sql)
        dialect.replaceWords()
        dialect.compareBeginnings()
        var text = dialect.words.joined()
        if dialect.isIgnoring { text += " ON CONFLICT DO NOTHING" }
        return text
    }

    /// A query that statements read in place of the table with that name.
    typealias Replacement = (table: String, query: String)

    /// The translated statement with a common table expression for each query, which hides the table of the same
    /// name. A statement that changes something stays as it is.
    static func replacing(_ replacements: [Replacement], in sql: String) -> String {
        let parts = replacements.filter { sql.contains($0.table) }
            .map { "\($0.table) AS NOT MATERIALIZED (\($0.query))" }
        guard !parts.isEmpty else { return sql }
        let list = parts.joined(separator: ", ")
        let statement = sql.drop { $0 == " " || $0 == "\n" }
        for start in ["WITH RECURSIVE ", "WITH "] where statement.hasPrefix(start) {
            return "\(start)\(list), \(statement.dropFirst(start.count))"
        }
        return statement.hasPrefix("SELECT") ? "WITH \(list) \(statement)" : sql
    }

    private var isIgnoring = false

    private init(_ sql: String) {
        words = Self.words(sql)
    }

    /// Names and numbers with the dots in them, strings, spaces, and everything else by the character. A
    /// remark goes.
    private static func words(_ sql: String) -> [Substring] {
        var words: [Substring] = []
        var rest = sql[...]
        func isName(_ byte: UInt8) -> Bool {
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || byte == 0x5F || byte == 0x2E
        }
        while let first = rest.utf8.first {
            let length: Int
            if first == UInt8(ascii: "'") {
                let end = rest.utf8.dropFirst().firstIndex(of: first) ?? rest.endIndex
                length = rest.utf8.distance(from: rest.startIndex, to: end) + 1
            } else if isName(first) {
                length = rest.utf8.prefix(while: isName).count
            } else if first == 0x20 || first == 0x0A {
                length = rest.utf8.prefix { $0 == 0x20 || $0 == 0x0A }.count
            } else if rest.hasPrefix("--") {
                rest = rest.drop { $0 != "\n" }
                continue
            } else if rest.hasPrefix("<=") || rest.hasPrefix(">=") || rest.hasPrefix("<>") {
                length = 2
            } else {
                length = 1
            }
            let end = rest.utf8.index(rest.startIndex, offsetBy: length, limitedBy: rest.endIndex)
            words.append(rest[..<(end ?? rest.endIndex)])
            rest = rest[(end ?? rest.endIndex)...]
        }
        return words
    }

    /// The place of the next word that is no space.
    private func next(after place: Int) -> Int? {
        words.indices.dropFirst(place + 1).first { words[$0].first != " " && words[$0].first != "\n" }
    }

    private func follows(_ place: Int, _ expected: String...) -> Int? {
        var place = place
        for word in expected {
            guard let next = next(after: place), words[next] == word else { return nil }
            place = next
        }
        return place
    }

    private mutating func replaceWords() {
        var place = 0
        while place < words.count {
            defer { place += 1 }
            switch words[place] {
            case "?":
                if place + 1 < words.count, let number = Int(words[place + 1]) {
                    words[place] = "$\(number)"
                    words[place + 1] = ""
                } else {
                    parameterCount += 1
                    words[place] = "$\(parameterCount)"
                }
            case "LIKE": words[place] = "ILIKE"
            // SQLite is held to the order of what is joined by that.
            case "CROSS":
                guard let join = follows(place, "JOIN"), follows(join, "LATERAL") == nil else { continue }
                words[place] = ""
            case "OR":
                guard let ignore = follows(place, "IGNORE", "INTO") else { continue }
                for word in place..<ignore { words[word] = " " }
                isIgnoring = true
            case "IS":
                guard let not = follows(place, "NOT"), follows(not, "NULL") == nil else { continue }
                words[not] = "DISTINCT FROM"
            default: break
            }
        }
    }

    private mutating func compareBeginnings() {
        for place in words.indices where words[place] == "href" || words[place].hasSuffix(".href") {
            let column = words[place]
            let beginning = ServerSchema.beginning(of: String(column))
            guard let sign = next(after: place) else {
                if isInOrder(place) { words[place] = "\(beginning), \(column)" }
                continue
            }
            switch words[sign] {
            case ">", ">=", "<", "<=":
                guard let value = next(after: sign), words[value].hasPrefix("$") else { continue }
                let other = ServerSchema.beginning(of: String(words[value]))
                let wide = words[sign].hasPrefix(">") ? ">=" : "<="
                words[place] = "\(beginning) \(wide) \(other) AND \(column)"
            case "BETWEEN":
                guard let low = next(after: sign), let and = follows(low, "AND"),
                    let high = next(after: and)
                else { continue }
                let (first, last) = (String(words[low]), String(words[high]))
                words[place] = """
                    \(beginning) BETWEEN \(ServerSchema.beginning(of: first)) \
                    AND \(ServerSchema.beginning(of: last)) AND \(column)
                    """
            default:
                guard isInOrder(place) else { continue }
                words[place] =
                    words[sign] == "DESC" ? "\(beginning) DESC, \(column)" : "\(beginning), \(column)"
            }
        }
    }

    /// Whether the word is the first of what rows are ordered by.
    private func isInOrder(_ place: Int) -> Bool {
        let before = words[..<place].filter { $0.first != " " && $0.first != "\n" && !$0.isEmpty }
        return before.suffix(2) == ["ORDER", "BY"]
    }
}
