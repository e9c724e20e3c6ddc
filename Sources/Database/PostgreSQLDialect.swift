/// Translates the SQL that the store writes for SQLite to PostgreSQL's dialect. Larger differences are in
/// `ServerSchema` or handled by the callers.
///
/// A URL may be too long for a B-tree index, so the index contains only its first characters
/// (`beginning(of:)`). Statements that compare or sort URLs therefore also compare or sort these
/// beginnings.
package struct PostgreSQLDialect {
    private var words: [Substring]
    private var parameterCount = 0

    package static func translated(_ sql: String) -> String {
        var dialect = PostgreSQLDialect(sql)
        dialect.replaceWords()
        dialect.compareBeginnings()
        var text = dialect.words.joined()
        if dialect.isIgnoring { text += " ON CONFLICT DO NOTHING" }
        return text
    }

    /// A query that statements read in place of the table with this name.
    package typealias Replacement = (table: String, query: String)

    /// Returns the translated statement with a common table expression for each query, which hides the table
    /// of the same name. Statements that change data are returned unchanged.
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

    /// The SQL expression for the beginning of a URL, by which URLs are indexed: an index entry is limited to
    /// 2,700 bytes.
    package static func beginning(of address: String) -> String { "left(\(address), 500)" }

    private var isIgnoring = false

    private init(_ sql: String) {
        words = Self.words(sql)
    }

    /// Splits SQL into words: names and numbers with their dots, strings, white space, and single characters.
    /// Comments are dropped.
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

    /// Returns the index of the next word that is not white space.
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
            // In SQLite, CROSS JOIN fixes the order of the join. PostgreSQL needs an ordinary join with a
            // condition.
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
            let beginning = Self.beginning(of: String(column))
            guard let sign = next(after: place) else {
                if isInOrder(place) { words[place] = "\(beginning), \(column)" }
                continue
            }
            switch words[sign] {
            case ">", ">=", "<", "<=":
                guard let value = next(after: sign), words[value].hasPrefix("$") else { continue }
                let other = Self.beginning(of: String(words[value]))
                let wide = words[sign].hasPrefix(">") ? ">=" : "<="
                words[place] = "\(beginning) \(wide) \(other) AND \(column)"
            case "BETWEEN":
                guard let low = next(after: sign), let and = follows(low, "AND"),
                    let high = next(after: and)
                else { continue }
                let (first, last) = (String(words[low]), String(words[high]))
                words[place] = """
                    \(beginning) BETWEEN \(Self.beginning(of: first)) \
                    AND \(Self.beginning(of: last)) AND \(column)
                    """
            default:
                guard isInOrder(place) else { continue }
                words[place] =
                    words[sign] == "DESC" ? "\(beginning) DESC, \(column)" : "\(beginning), \(column)"
            }
        }
    }

    /// Whether the word directly follows ORDER BY.
    private func isInOrder(_ place: Int) -> Bool {
        let before = words[..<place].filter { $0.first != " " && $0.first != "\n" && !$0.isEmpty }
        return before.suffix(2) == ["ORDER", "BY"]
    }
}
