internal import Database
internal import Web

extension SearchIndex {
    /// Limits for the words of the index that are compared with a word: their number, and the sum of their text counts.
    /// Words beyond either limit, in alphabetical order, are not recognized as its forms.
    private static let (maxComparedWords, maxComparedTexts) = (1000, 50_000)
    /// The maximum number of forms of a word in other languages than English. Further ones are not searched for.
    private static let maxForms = 32
    /// The number of texts with a word that show its languages.
    private static let maxSampledTexts = 32

    /// Returns other inflected forms of a word, so that a search finds them too.
    ///
    /// English forms result from rules (`Inflections`), whether a text has them or not. In another language, a form is a word with
    /// the same stem (`Stemmer`) which is in a text of that language. The word itself must be in such a text too, if it is in any.
    /// So a store with pages in one language only is not searched by the rules of another, and the rules do not mix the words of two
    /// languages. The language of a text is the one that its page declares.
    ///
    /// - Parameter word: the folded word.
    package func forms(of word: String) throws(StoreError) -> [String] {
        try refreshStatistics()
        if let known = statistics.forms[word] { return known }
        var forms = Inflections.of(Array(word.utf8).span).map { String(decoding: $0, as: UTF8.self) }
        let languages = try self.languages(of: word) ?? Set(Stemmer.Language.allCases)
        for form in try self.forms(of: word, in: languages) where !forms.contains(form) { forms.append(form) }
        if statistics.forms.count >= IndexStatistics.maxCachedWords { statistics.forms = [:] }
        statistics.forms[word] = forms
        return forms
    }

    /// Returns the words of texts in these languages that have the same stem as a word by the rules of that language.
    private func forms(
        of word: String, in languages: Set<Stemmer.Language>
    ) throws(StoreError) -> [String] {
        var stems: [(stemmer: Stemmer, language: Stemmer.Language, stem: String)] = []
        var beginnings: Set<String> = []
        for language in languages {
            guard let stemmer = stemmer(of: language), let stem = stemmer.stem(of: word),
                let beginning = stemmer.commonBeginning(of: word, stem: stem)
            else { continue }
            stems.append((stemmer, language, stem))
            beginnings.insert(beginning)
        }
        // The beginnings in several languages begin with the shortest one, since each is the beginning of the word.
        guard let beginning = beginnings.min(by: { $0.utf8.count < $1.utf8.count }) else { return [] }
        var candidates: [(word: String, languages: Set<Stemmer.Language>)] = []
        var (wordCount, textCount) = (0, 0)
        _ = try statement("SELECT term, doc FROM word WHERE term >= ? AND term < ?").first(
            .text(beginning), .text(beginning + "\u{10FFFF}")
        ) { row -> Bool? in
            let other = row.text(0)
            let same = stems.filter { $0.stemmer.stem(of: other) == $0.stem }
            if other != word, !same.isEmpty { candidates.append((other, Set(same.map(\.language)))) }
            wordCount += 1
            textCount += Int(row.integer(1))
            return wordCount >= Self.maxComparedWords || textCount >= Self.maxComparedTexts
                || candidates.count >= Self.maxForms ? true : nil
        }
        var forms: [String] = []
        for candidate in candidates {
            if let found = try self.languages(of: candidate.word),
                !found.isDisjoint(with: candidate.languages)
            {
                forms.append(candidate.word)
            }
        }
        return forms
    }

    /// Returns the languages with a stemmer among those of the first texts with a word; nil if no text has the word.
    private func languages(of word: String) throws(StoreError) -> Set<Stemmer.Language>? {
        var isInText = false
        var languages: Set<Stemmer.Language> = []
        try statement(
            """
            SELECT text.language FROM page CROSS JOIN text ON text.id = page.rowid WHERE page MATCH ? LIMIT ?
            """
        ).each(
            .text("\"\(word.replacing("\"", with: " "))\""), .integer(Int64(Self.maxSampledTexts))
        ) { row in
            isInText = true
            if let language = Stemmer.Language(tag: row.text(0)) { languages.insert(language) }
        }
        return isInText ? languages : nil
    }

    /// Returns the stemmer of a language from the cache, or creates it; nil if libstemmer does not have it.
    private func stemmer(of language: Stemmer.Language) -> Stemmer? {
        if let stemmer = stemmers[language] { return stemmer }
        let stemmer = Stemmer(language)
        stemmers[language] = stemmer
        return stemmer
    }
}
