internal import Store
internal import Web

/// The error in a query, with what to change.
package struct QuestionMistake: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
}

/// A question in words, read as people type it: `"phrases"`, `-not`, `title:`, `url:`, `word*`, `a OR b`, `a
/// NEAR b`.
///
/// What it cannot read so is words. Nothing of it reaches the database but as words between quotes.
package struct SearchQuestion: Sendable, Equatable {
    package static let longest = 1000
    private static let mostTerms = 32
    private static let usualDistance = 10

    /// A word, or several that stand one behind the other.
    struct Term: Sendable, Equatable {
        var text: String
        /// As they are cut.
        var words: [String]
        /// The column that has it; nil for any.
        var column: String?
        var isPrefix = false
        var isQuoted = false

        /// A word that nobody looks for by itself, such as "the".
        var isCommon: Bool {
            !isQuoted && column == nil && words.count == 1 && CommonWords.all.contains(words[0])
        }
    }

    enum Clause: Sendable, Equatable {
        /// One of these; most often there is one.
        case any([Term])
        /// Both, with no more than so many words between them.
        case near(Term, Term, Int)

        var terms: [Term] {
            switch self {
            case .any(let terms): terms
            case .near(let first, let second, _): [first, second]
            }
        }
    }

    package let text: String
    private(set) var wanted: [Clause] = []
    private(set) var unwanted: [Term] = []
    private var cutter: WordCutter { WordCutter() }

    /// - Throws: `QuestionMistake` if the text contains no words or is too long.
    package init(_ text: String) throws(QuestionMistake) {
        self.text = text
        guard text.utf8.count <= Self.longest else {
            throw QuestionMistake(
                description:
                    "the query has \(text.utf8.count) bytes: use no more than \(Self.longest)")
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
        guard wanted.flatMap(\.terms).count + unwanted.count <= Self.mostTerms else {
            throw QuestionMistake(
                description: "the query has more than \(Self.mostTerms) words: use fewer")
        }
        guard !wanted.isEmpty else {
            throw QuestionMistake(
                description: unwanted.isEmpty
                    ? "there is no word in \"\(Self.shown(text))\": use letters or digits"
                    : "the query only excludes words: add a word to search for")
        }
    }

    // MARK: - Reading

    private struct Piece {
        var text: String
        var column: String?
        var isQuoted = false
        var isUnwanted = false
    }

    private static let columns = ["title": "title", "heading": "headings", "url": "address", "text": "body"]

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

    /// `NEAR`, or `NEAR/5`.
    private static func distance(of text: String) -> Int? {
        if text == "NEAR" { return usualDistance }
        guard text.hasPrefix("NEAR/"), let number = Int(text.dropFirst(5)), (1...100).contains(number) else {
            return nil
        }
        return number
    }

    private func terms(of piece: Piece) -> [Term] {
        let isPrefix = !piece.isQuoted && piece.text.hasSuffix("*")
        var piece = piece
        if isPrefix { piece.text.removeLast() }
        // Where no space says where words end, ICU's dictionaries do; each is looked for by itself.
        let parts =
            piece.isQuoted || !Self.isUnspaced(piece.text) ? [piece.text] : WordBreaks.words(of: piece.text)
        return parts.compactMap { part in
            let words = cutter.words(of: part)
            guard !words.isEmpty else { return nil }
            var term = Term(text: part, words: words, column: piece.column)
            term.isQuoted = piece.isQuoted
            // A single character of such a script is the beginning of a word of two.
            term.isPrefix =
                isPrefix
                || words.count == 1 && words[0].unicodeScalars.count == 1 && Self.isUnspaced(words[0])
            return term
        }
    }

    /// Three and more characters of a script without spaces.
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

    private static func shown(_ text: String) -> String { String(text.prefix(40)) }
}

// MARK: - Expressions

extension SearchQuestion {
    /// How much of the question a text has to have.
    package enum Strictness: Sendable, CaseIterable {
        case all
        /// What the last word begins with does too.
        case lastBegins
        case some
    }

    /// The terms that count: not those that every text has, unless there are no others.
    var counted: [Clause] {
        let rare = wanted.filter { !($0.terms.count == 1 && $0.terms[0].isCommon) }
        return rare.isEmpty ? wanted : rare
    }

    /// What an index knows of the words in it, so that looking for them takes no longer than people wait.
    struct Knowledge {
        /// The words that are looked for in place of all that begin so; nil where those are few.
        var frequentWords: (String) throws(StoreError) -> [String]? = { _ throws(StoreError) in nil }
        /// Whether a phrase stands in so many texts that those with others are looked for instead.
        var isEverywhere: (String) throws(StoreError) -> Bool = { _ throws(StoreError) in false }
    }

    /// An expression of FTS5; nil where it would be no other than a stricter one, or that part has nothing
    /// of it.
    func expression(
        _ strictness: Strictness, inSite site: String?, in part: SearchIndex.Part = .all,
        _ knowledge: Knowledge = Knowledge()
    ) throws(StoreError) -> TextExpression? {
        var clauses = counted
        switch strictness {
        case .all: break
        case .lastBegins:
            guard case .any(let terms)? = clauses.last, var last = terms.last, !last.isPrefix, !last.isQuoted,
                last.words.count == 1, last.words[0].utf8.count >= 3
            else { return nil }
            last.isPrefix = true
            clauses[clauses.count - 1] = .any(terms.dropLast() + [last])
        case .some:
            guard clauses.count > 1 else { return nil }
        }
        // What is wanted besides, and what is not, stands in other columns as well.
        let isNamed = part == .names
        let named = ["title", "address", nil]
        if isNamed, !unwanted.isEmpty || !clauses.flatMap(\.terms).allSatisfy({ named.contains($0.column) }) {
            return nil
        }
        let frequentWords: (String) throws(StoreError) -> [String]? =
            isNamed ? { _ throws(StoreError) in nil } : knowledge.frequentWords
        var pieces = try clauses.map { (clause) throws(StoreError) in
            try Self.expression(clause, frequentWords)
        }
        if strictness == .some {
            var rare: [TextExpression] = []
            for piece in pieces {
                var isRare = true
                for phrase in piece.phrases where try knowledge.isEverywhere(phrase.text) { isRare = false }
                if isRare { rare.append(piece) }
            }
            if !rare.isEmpty { pieces = rare }
        }
        var text = pieces.map(\.text).joined(separator: strictness == .some ? " OR " : " AND ")
        var phrases = pieces.flatMap(\.phrases)
        if !unwanted.isEmpty {
            let others = try unwanted.map { (term) throws(StoreError) in
                try Self.phrase(term, knowledge.frequentWords)
            }
            text = "(\(text)) NOT (\(others.joined(separator: " OR ")))"
            phrases += others.map { TextExpression.Phrase($0, isSilent: true) }
        }
        if let site {
            let place = SearchIndex.expression(ofSite: site)
            text = "(\(text)) AND \(place)"
            phrases.append(TextExpression.Phrase(place, isSilent: true))
        }
        return TextExpression(text, phrases)
    }

    private static func expression(
        _ clause: Clause, _ frequentWords: (String) throws(StoreError) -> [String]?
    ) throws(StoreError) -> TextExpression {
        switch clause {
        case .any(let terms):
            let phrases = try terms.map { (term) throws(StoreError) in try phrase(term, frequentWords) }
            return TextExpression(
                "(\(phrases.joined(separator: " OR ")))", phrases.map { TextExpression.Phrase($0) })
        case .near(let first, let second, let distance):
            let phrases = [quoted(first), quoted(second)]
            return TextExpression(
                "NEAR(\(phrases.joined(separator: " ")), \(distance))",
                phrases.map { TextExpression.Phrase($0) })
        }
    }

    private static func phrase(
        _ term: Term, _ frequentWords: (String) throws(StoreError) -> [String]?
    ) throws(StoreError) -> String {
        var words = quoted(term)
        if term.isPrefix, let last = term.words.last {
            if let frequent = try frequentWords(last) {
                let others = term.words.dropLast().joined(separator: " ")
                words = quoted(others + SearchIndex.oneOf(frequent))
            } else {
                words += " *"
            }
        }
        return term.column.map { "{\($0)} : \(words)" } ?? words
    }

    private static func quoted(_ term: Term) -> String {
        let isInflecting =
            !term.isQuoted && !term.isPrefix && term.words.count == 1 && term.column != "address"
        return quoted(isInflecting ? SearchIndex.inflecting(term.words[0]) : term.text)
    }

    /// Between quotes everything is a word.
    private static func quoted(_ text: String) -> String {
        "\"\(text.replacing("\"", with: " ").replacing("\0", with: " "))\""
    }

    /// The same question without a word, or with another in its place, as people would type it.
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

extension SearchQuestion {
    package static func == (first: SearchQuestion, second: SearchQuestion) -> Bool {
        first.wanted == second.wanted && first.unwanted == second.unwanted
    }
}

/// Words that stand in every text of their language, and tell none from another.
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
