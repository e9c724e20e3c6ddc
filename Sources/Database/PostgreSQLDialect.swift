/// A translator of statements from SQLite's dialect, in which the store writes them, to PostgreSQL's. It replaces words
/// and knows only the SQL that Larder writes. Larger differences, such as functions that PostgreSQL lacks, are in
/// `PostgreSQLSchema` or handled by the callers.
///
/// - `?` and `?1` become `$1`.
/// - `LIKE`, which ignores case in SQLite, becomes `ILIKE`.
/// - `CROSS JOIN` becomes `JOIN`, except before `LATERAL`.
/// - `INSERT OR IGNORE` becomes `INSERT` with `ON CONFLICT DO NOTHING`.
/// - `IS NOT` with a value becomes `IS DISTINCT FROM`.
///
/// A URL may be too long for a B-tree index, so the index contains only its first characters
/// (`urlPrefix(of:)`). Statements that compare or sort URLs therefore also compare or sort these
/// prefixes.
package struct PostgreSQLDialect {
    private var words: [Substring]
    private var parameterCount = 0

    /// Returns a statement in PostgreSQL's dialect.
    package static func translate(_ sql: String) -> String {
        var dialect = PostgreSQLDialect(sql)
        dialect.replaceWords()
        dialect.compareURLPrefixes()
        var text = dialect.words.joined()
        if dialect.ignoresConflicts { text += " ON CONFLICT DO NOTHING" }
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
    package static func urlPrefix(of url: String) -> String { "left(\(url), 500)" }

    private var ignoresConflicts = false

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
    private func next(after index: Int) -> Int? {
        words.indices.dropFirst(index + 1).first { words[$0].first != " " && words[$0].first != "\n" }
    }

    /// Returns the index of the last of the expected words, if they follow the word at `index`; else nil.
    private func indexOfWords(_ expected: String..., after index: Int) -> Int? {
        var index = index
        for word in expected {
            guard let next = next(after: index), words[next] == word else { return nil }
            index = next
        }
        return index
    }

    /// Replaces the words that differ in PostgreSQL, except for comparisons of URLs.
    private mutating func replaceWords() {
        var index = 0
        while index < words.count {
            defer { index += 1 }
            switch words[index] {
            case "?":
                if index + 1 < words.count, let number = Int(words[index + 1]) {
                    words[index] = "$\(number)"
                    words[index + 1] = ""
                } else {
                    parameterCount += 1
                    words[index] = "$\(parameterCount)"
                }
            case "LIKE": words[index] = "ILIKE"
            // In SQLite, CROSS JOIN fixes the order of the join. PostgreSQL needs an ordinary join with a
            // condition.
            case "CROSS":
                guard let join = indexOfWords("JOIN", after: index),
                    indexOfWords("LATERAL", after: join) == nil
                else { continue }
                words[index] = ""
            case "OR":
                guard let into = indexOfWords("IGNORE", "INTO", after: index) else { continue }
                for word in index..<into { words[word] = " " }
                ignoresConflicts = true
            case "IS":
                guard let not = indexOfWords("NOT", after: index),
                    indexOfWords("NULL", after: not) == nil
                else { continue }
                words[not] = "DISTINCT FROM"
            default: break
            }
        }
    }

    /// Adds prefixes to each `<`, `>`, BETWEEN and ORDER BY of a column `href`, so that PostgreSQL can use the index of
    /// the prefixes. Different URLs may have equal prefixes, so `<` of URLs becomes `<=` of their prefixes.
    private mutating func compareURLPrefixes() {
        for index in words.indices where words[index] == "href" || words[index].hasSuffix(".href") {
            let column = words[index]
            let prefix = Self.urlPrefix(of: String(column))
            guard let sign = next(after: index) else {
                if isInOrderBy(index) { words[index] = "\(prefix), \(column)" }
                continue
            }
            switch words[sign] {
            case ">", ">=", "<", "<=":
                guard let value = next(after: sign), words[value].hasPrefix("$") else { continue }
                let other = Self.urlPrefix(of: String(words[value]))
                let wide = words[sign].hasPrefix(">") ? ">=" : "<="
                words[index] = "\(prefix) \(wide) \(other) AND \(column)"
            case "BETWEEN":
                guard let low = next(after: sign), let and = indexOfWords("AND", after: low),
                    let high = next(after: and)
                else { continue }
                let (first, last) = (String(words[low]), String(words[high]))
                words[index] = """
                    \(prefix) BETWEEN \(Self.urlPrefix(of: first)) \
                    AND \(Self.urlPrefix(of: last)) AND \(column)
                    """
            default:
                guard isInOrderBy(index) else { continue }
                words[index] =
                    words[sign] == "DESC" ? "\(prefix) DESC, \(column)" : "\(prefix), \(column)"
            }
        }
    }

    /// Whether the word directly follows ORDER BY.
    private func isInOrderBy(_ index: Int) -> Bool {
        let before = words[..<index].filter { $0.first != " " && $0.first != "\n" && !$0.isEmpty }
        return before.suffix(2) == ["ORDER", "BY"]
    }
}
