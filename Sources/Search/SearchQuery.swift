internal import Store
internal import Web

/// An error in a query. Its message says what to change.
package struct SearchQueryError: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
}

/// A query as users type it: words, `"phrases"`, `-not`, `title:`, `url:`, `word*`, `a OR b`, `a NEAR b`.
///
/// Everything else is treated as words. Words are passed to FTS5 only in quotes, so that a query cannot inject operators.
///
/// Example: `swift OR rust "hash table" -java` has the conditions `.any([swift, rust])` and `.any([hash table])` in `wanted`,
/// and the term `java` in `unwanted`. Its FTS5 expression is `(("swift" OR "rust") AND ("hash table")) NOT ("java")`.
package struct SearchQuery: Sendable, Equatable {
    /// The maximum length of a query in bytes. Longer ones are errors.
    package static let maxBytes = 1000
    /// The maximum number of terms. Queries with more are errors.
    private static let maxTerms = 32
    /// The distance for `NEAR` without a number.
    private static let defaultNearDistance = 10

    /// A word, or a phrase of several words.
    struct Term: Sendable, Equatable {
        var text: String
        /// The words of `text`, as `WordSplitter` cuts them.
        var words: [String]
        /// The column of the index that must contain the term; nil for any.
        var column: String?
        var isPrefix = false
        var isQuoted = false

        /// Whether other inflected forms match, too.
        var hasForms: Bool { !isQuoted && words.count == 1 }

        /// Whether the term is a stop word, such as "the".
        var isCommon: Bool {
            !isQuoted && column == nil && words.count == 1 && CommonWords.all.contains(words[0])
        }
    }

    /// A condition of the query.
    enum Clause: Sendable, Equatable {
        /// The text has at least one of the terms. Usually there is only one.
        case any([Term])
        /// The text has both terms, with at most this number of words between them.
        case near(Term, Term, Int)

        var terms: [Term] {
            switch self {
            case .any(let terms): terms
            case .near(let first, let second, _): [first, second]
            }
        }
    }

    package let text: String
    /// The conditions that a text should satisfy, and the terms that it must not have.
    private(set) var wanted: [Clause] = []
    private(set) var unwanted: [Term] = []
    private var cutter: WordSplitter { WordSplitter() }

    /// - Throws: `SearchQueryError` if the text contains no words or is too long.
    package init(_ text: String) throws(SearchQueryError) {
        self.text = text
        guard text.utf8.count <= Self.maxBytes else {
            throw SearchQueryError(
                description:
                    "the query has \(text.utf8.count) bytes: use no more than \(Self.maxBytes)")
        }
        var pieces = Self.pieces(of: text)[...]
        var joins = false
        while let piece = pieces.popFirst() {
            if !piece.isQuoted, piece.text == "AND" { continue }
            if !piece.isQuoted, piece.text == "OR" {
                joins = !wanted.isEmpty
                continue
            }
            if !piece.isQuoted, let distance = Self.distance(of: piece.text), let last = wanted.last?.terms,
                last.count == 1,
                let next = pieces.first, let second = terms(of: next).first
            {
                pieces.removeFirst()
                wanted[wanted.count - 1] = .near(last[0], second, distance)
                continue
            }
            let found = terms(of: piece)
            if piece.isUnwanted {
                unwanted += found
            } else if joins, case .any(let others)? = wanted.last {
                wanted[wanted.count - 1] = .any(others + found)
            } else {
                wanted += found.map { .any([$0]) }
            }
            joins = false
        }
        guard wanted.flatMap(\.terms).count + unwanted.count <= Self.maxTerms else {
            throw SearchQueryError(
                description: "the query has more than \(Self.maxTerms) words: use fewer")
        }
        guard !wanted.isEmpty else {
            throw SearchQueryError(
                description: unwanted.isEmpty
                    ? "there is no word in \"\(Self.excerpt(of: text))\": use letters or digits"
                    : "the query only excludes words: add a word to search for")
        }
    }

    // MARK: - Reading

    /// A word or phrase of the query as it was typed, without its prefix.
    private struct Piece {
        var text: String
        var column: String?
        var isQuoted = false
        var isUnwanted = false
    }

    /// The prefixes for columns, and the names of the columns in the index.
    private static let columns = ["title": "title", "heading": "headings", "url": "address", "text": "body"]

    /// Splits a query at spaces and quotes, and removes `-` and column prefixes.
    private static func pieces(of text: String) -> [Piece] {
        var pieces: [Piece] = []
        var rest = Substring(text)
        while let first = rest.first {
            guard !first.isWhitespace else {
                rest.removeFirst()
                continue
            }
            var piece = Piece(text: "")
            if first == "-", rest.dropFirst().first.map({ !$0.isWhitespace }) ?? false {
                piece.isUnwanted = true
                rest.removeFirst()
            }
            if let colon = rest.prefix(16).firstIndex(of: ":"),
                let column = columns[rest[..<colon].lowercased()],
                rest.index(after: colon) < rest.endIndex, !rest[rest.index(after: colon)].isWhitespace
            {
                piece.column = column
                rest = rest[rest.index(after: colon)...]
            }
            if rest.first == "\"" {
                rest.removeFirst()
                piece.isQuoted = true
                piece.text = String(rest.prefix { $0 != "\"" })
                rest = rest.dropFirst(piece.text.count + 1)
            } else {
                piece.text = String(rest.prefix { !$0.isWhitespace && $0 != "\"" })
                rest = rest.dropFirst(piece.text.count)
            }
            if !piece.text.isEmpty { pieces.append(piece) }
        }
        return pieces
    }

    /// Parses `NEAR` or `NEAR/5`; nil for other text and distances above 100.
    private static func distance(of text: String) -> Int? {
        if text == "NEAR" { return defaultNearDistance }
        guard text.hasPrefix("NEAR/"), let number = Int(text.dropFirst(5)), (1...100).contains(number) else {
            return nil
        }
        return number
    }

    /// Converts a typed word or phrase to terms; none if it has no letters or digits.
    private func terms(of piece: Piece) -> [Term] {
        let isPrefix = !piece.isQuoted && piece.text.hasSuffix("*")
        var piece = piece
        if isPrefix { piece.text.removeLast() }
        // In scripts without spaces, ICU's dictionaries find the words, each of which is a separate term.
        let parts =
            piece.isQuoted || !Self.isUnspaced(piece.text) ? [piece.text] : WordBreaks.words(of: piece.text)
        return parts.compactMap { part in
            let words = cutter.words(of: part)
            guard !words.isEmpty else { return nil }
            var term = Term(text: part, words: words, column: piece.column)
            term.isQuoted = piece.isQuoted
            // The index has pairs of characters of such scripts, so a single character is a prefix.
            term.isPrefix =
                isPrefix
                || words.count == 1 && words[0].unicodeScalars.count == 1 && Self.isUnspaced(words[0])
            return term
        }
    }

    /// Whether a text has characters of a script without spaces between words, such as Thai or Chinese.
    private static func isUnspaced(_ text: String) -> Bool {
        text.unicodeScalars.contains { scalar in
            switch scalar.value {
            case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x3040...0x30FF, 0x3400...0x4DBF,
                0x4E00...0x9FFF,
                0x20000...0x3FFFF:
                true
            default: false
            }
        }
    }

    private static func excerpt(of text: String) -> String { String(text.prefix(40)) }
}

// MARK: - Expressions

extension SearchQuery {
    /// The part of a query that a text must satisfy.
    enum Strictness: Sendable, CaseIterable {
        /// The text satisfies all conditions.
        case all
        /// The same, but the last word also matches all words that begin with it.
        case lastWordIsPrefix
        /// The text satisfies at least one condition.
        case some
    }

    /// The conditions without stop words; all conditions if there are no others.
    var significantClauses: [Clause] {
        let rare = wanted.filter { !($0.terms.count == 1 && $0.terms[0].isCommon) }
        return rare.isEmpty ? wanted : rare
    }

    /// Facts about the words in an index: those that keep searches fast, and inflected forms.
    struct WordStatistics {
        /// Returns the most frequent words with a prefix, which are searched for in place of all; nil if
        /// there are so few that all can be searched for.
        var frequentWords: (String) throws(StoreError) -> [String]? = { _ throws(StoreError) in nil }
        /// Whether a phrase is in so many texts that searching for it alone is useless. If only some
        /// conditions must hold, those with such phrases are left out, unless there are no others.
        var isTooCommonToRank: (String) throws(StoreError) -> Bool = { _ throws(StoreError) in false }
        /// Returns the other inflected forms of a word, which match too.
        var forms: (String) throws(StoreError) -> [String] = { _ throws(StoreError) in [] }
    }

    /// Returns the expression for FTS5; nil if it would be the same as a stricter one, or if the query needs
    /// columns that `part` does not have.
    func expression(
        _ strictness: Strictness, inSite site: String?, in part: SearchIndex.Part = .all,
        _ statistics: WordStatistics = WordStatistics()
    ) throws(StoreError) -> TextExpression? {
        var clauses = significantClauses
        switch strictness {
        case .all: break
        case .lastWordIsPrefix:
            guard case .any(let terms)? = clauses.last, var last = terms.last, !last.isPrefix, !last.isQuoted,
                last.words.count == 1, last.words[0].utf8.count >= 3
            else { return nil }
            last.isPrefix = true
            clauses[clauses.count - 1] = .any(terms.dropLast() + [last])
        case .some:
            guard clauses.count > 1 else { return nil }
        }
        // Other terms and exclusions refer to columns that the table of names does not have.
        let isNamed = part == .names
        let named = ["title", "address", nil]
        if isNamed, !unwanted.isEmpty || !clauses.flatMap(\.terms).allSatisfy({ named.contains($0.column) }) {
            return nil
        }
        var statistics = statistics
        if isNamed { statistics.frequentWords = { _ throws(StoreError) in nil } }
        var pieces = try clauses.map { (clause) throws(StoreError) in
            try Self.expression(clause, statistics)
        }
        if strictness == .some {
            var rare: [TextExpression] = []
            for piece in pieces {
                var isRare = true
                for phrase in piece.phrases where try statistics.isTooCommonToRank(phrase.text) {
                    isRare = false
                }
                if isRare { rare.append(piece) }
            }
            if !rare.isEmpty { pieces = rare }
        }
        var text = pieces.map(\.text).joined(separator: strictness == .some ? " OR " : " AND ")
        var phrases = pieces.flatMap(\.phrases)
        if !unwanted.isEmpty {
            let others = try unwanted.map { (term) throws(StoreError) in
                try Self.phrase(term, statistics)
            }
            text = "(\(text)) NOT (\(others.joined(separator: " OR ")))"
            phrases += others.map { TextExpression.Phrase($0, isFilter: true) }
        }
        if let site {
            let place = SearchIndex.expression(ofSite: site)
            text = "(\(text)) AND \(place)"
            phrases.append(TextExpression.Phrase(place, isFilter: true))
        }
        return TextExpression(text, phrases)
    }

    private static func expression(
        _ clause: Clause, _ statistics: WordStatistics
    ) throws(StoreError) -> TextExpression {
        switch clause {
        case .any(let terms):
            let phrases = try terms.map { (term) throws(StoreError) in try phrase(term, statistics) }
            return TextExpression(
                "(\(phrases.joined(separator: " OR ")))", phrases.map { TextExpression.Phrase($0) })
        case .near(let first, let second, let distance):
            let phrases = [try quoted(first, statistics), try quoted(second, statistics)]
            return TextExpression(
                "NEAR(\(phrases.joined(separator: " ")), \(distance))",
                phrases.map { TextExpression.Phrase($0) })
        }
    }

    /// Returns the phrase for a term in the syntax of FTS5.
    private static func phrase(
        _ term: Term, _ statistics: WordStatistics
    ) throws(StoreError) -> String {
        var words = try quoted(term, statistics)
        if term.isPrefix, let last = term.words.last {
            if let frequent = try statistics.frequentWords(last) {
                let others = term.words.dropLast().joined(separator: " ")
                words = quoted(others + SearchIndex.oneOf(frequent))
            } else {
                words += " *"
            }
        }
        return term.column.map { "{\($0)} : \(words)" } ?? words
    }

    /// Returns a term in quotes. A single word also matches its inflected forms, except in URLs.
    private static func quoted(_ term: Term, _ statistics: WordStatistics) throws(StoreError) -> String {
        guard term.hasForms, !term.isPrefix, term.column != "address" else { return quoted(term.text) }
        let forms = try statistics.forms(term.words[0])
        return quoted(forms.isEmpty ? term.words[0] : SearchIndex.oneOf(term.words + forms))
    }

    /// Returns a text in quotes, within which FTS5 treats everything as words.
    private static func quoted(_ text: String) -> String {
        "\"\(text.replacing("\"", with: " ").replacing("\0", with: " "))\""
    }

    /// Returns the query as typed, with each occurrence of a word replaced.
    func replacing(_ word: String, with other: String) -> String {
        text.split(separator: " ", omittingEmptySubsequences: false).map { piece in
            let words = cutter.words(of: String(piece))
            guard words.contains(word), words.count == 1, let place = piece.lowercased().firstRange(of: word)
            else {
                return String(piece)
            }
            let lowered = piece.lowercased()
            return lowered[..<place.lowerBound] + other + lowered[place.upperBound...]
        }.joined(separator: " ")
    }
}

extension SearchQuery {
    /// Compares the conditions; `text` is ignored.
    package static func == (first: SearchQuery, second: SearchQuery) -> Bool {
        first.wanted == second.wanted && first.unwanted == second.unwanted
    }
}

/// Stop words of several languages. They are in almost every text, so they hardly help to distinguish texts.
enum CommonWords {
    static let all: Set<String> = {
        let lists = """
            a an and any are as at be by can do does for from get has have how i if in into is it its me my no not of on or
            s so t that the their there these this to use used using was we what when where which while who why will with you
            your
            aber als am auf aus bei bin das dass dem den der des die durch ein eine einem einen einer es fur hat ich im ist
            kann man mit nach nicht oder sich sie sind um und uber von vor wann was wie wird wo zu zum zur
            au aux avec ce ces comment d dans de des du elle en est et il ils j je l la le les leur mais ne nous ou par pas
            plus pour quand que qui sa se ses son sont sur un une vous
            bir bu icin ile nasil ne ve
            como con del el en es la las lo los no para por que se su un una y
            """
        return Set(lists.split(whereSeparator: \.isWhitespace).map { String($0) })
    }()
}
