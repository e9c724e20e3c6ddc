import Testing

@testable import Store

@Suite struct StemmerTests {
    @Test(arguments: Stemmer.Language.allCases)
    func `libstemmer has each language`(language: Stemmer.Language) {
        #expect(Stemmer(language) != nil)
    }

    @Test(
        arguments: [
            ("de", .german), ("DE-ch", .german), ("pt_BR", .portuguese), ("nn", .norwegian),
            ("no", .norwegian), ("en", nil),
            ("en-US", nil), ("ja", nil), ("", nil), ("-", nil), ("deutsch", nil),
        ] as [(String, Stemmer.Language?)])
    func `a language tag names a stemmer`(tag: String, language: Stemmer.Language?) {
        #expect(Stemmer.Language(tag: tag) == language)
    }

    @Test(
        arguments: [
            (.german, "hauser", "haus"), (.german, "hauses", "haus"), (.french, "installees", "install"),
            (.spanish, "configuracion", "configur"), (.portuguese, "configuracoes", "configur"),
            (.russian, "новыи", "нов"),
            (.swedish, "ny", nil), (.german, "", nil),
        ] as [(Stemmer.Language, String, String?)])
    func `a folded word has a stem of three letters or more`(
        language: Stemmer.Language, word: String, stem: String?
    ) throws {
        #expect(try #require(Stemmer(language)).stem(of: word) == stem)
    }

    @Test(
        arguments: [
            (.german, "hauser", "haus"), (.french, "cheval", "cheva"), (.french, "chevaux", "cheva"),
            (.russian, "новыи", "нов"), (.russian, "настроики", "настроик"),
        ] as [(Stemmer.Language, String, String)])
    func `all forms of a word begin alike`(language: Stemmer.Language, word: String, beginning: String) throws
    {
        let stemmer = try #require(Stemmer(language))
        let stem = try #require(stemmer.stem(of: word))
        #expect(stemmer.commonBeginning(of: word, stem: stem) == beginning)
    }
}
