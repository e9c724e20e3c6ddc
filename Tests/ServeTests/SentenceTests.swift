import Testing

@testable import Mirror
@testable import Portal

@Suite struct SentenceTests {
    @Test(arguments: Sentence.allCases)
    func `every sentence exists in each language with the same placeholders`(sentence: Sentence) {
        func places(_ text: String) -> Set<UInt8> {
            let bytes = Array(text.utf8)
            return Set(
                bytes.indices.dropLast().filter { bytes[$0] == UInt8(ascii: "%") }.map { bytes[$0 + 1] })
        }
        let english = sentence.pattern(in: .english)
        for language in PortalLanguage.allCases {
            let text = sentence.pattern(in: language)
            #expect(!text.isEmpty)
            #expect(places(text) == places(english), "\(language)")
            #expect(text.utf8.count { $0 == UInt8(ascii: "`") }.isMultiple(of: 2), "\(language)")
        }
    }

    @Test func `placeholders in inserted values are not replaced`() {
        let phrase = Phrase(.mistakeNumber, "%2%", "1", "64")
        #expect(phrase.text(in: .english) == "“%2%” is not valid. Enter a whole number from 1 to 64.")
        #expect(phrase.text(in: .chinese) == "“%2%”无效，请输入 1 到 64 之间的整数。")
    }

    @Test func `code in a sentence becomes an element in HTML, and backticks of a part do not`() {
        let phrase = Phrase(.trafficLead, "`0`", "http://localhost:1")
        var html = HTMLWriter()
        html.say(phrase)
        let text = String(decoding: html.bytes, as: UTF8.self)
        #expect(text.hasPrefix("`0`. To use the proxy, set <code>http_proxy=http://localhost:1</code> and"))
        #expect(phrase.text(in: .english).hasSuffix("see: larder ca."))
    }

    @Test(arguments: [
        (PortalLanguage.english, "27 Nov 2026, 17:38 UTC"), (.chinese, "2026年11月27日 17:38（UTC）"),
        (.german, "27.11.2026, 17:38 UTC"),
    ])
    func `a date has the form of the language`(language: PortalLanguage, expected: String) {
        #expect(language.moment(1_795_801_080) == expected)
    }

    @Test func `the date of a snapshot in a preview has the form of the language`() {
        let line = Phrase(.cleanupSnapshot, "1", "a", "2026-11-08", "9 kB")
        #expect(
            line.text(in: .german).contains("8.11.2026") && line.text(in: .english).contains("2026-11-08"))
        #expect(line.text(in: .chinese).contains("2026年11月8日"))
    }

    @Test(arguments: [
        (Int64(5400), "90 minutes", "90 分钟", "90 Minuten"), (172_800, "2 days", "2 天", "2 Tage"),
        (21_600, "6 hours", "6 小时", "6 Stunden"), (86_400, "1 day", "1 天", "1 Tag"),
        (601, "601 seconds", "601 秒", "601 Sekunden"),
    ])
    func `an interval has the largest unit that divides it`(
        seconds: Int64, english: String, chinese: String, german: String
    ) {
        #expect(PortalLanguage.english.interval(seconds) == english)
        #expect(PortalLanguage.chinese.interval(seconds) == chinese)
        #expect(PortalLanguage.german.interval(seconds) == german)
    }

    @Test(arguments: [
        ("1,234", "1.234"), ("1.5 kB", "1,5 kB"), ("12", "12"), ("2.0 MB/s", "2,0 MB/s"),
        ("1.5 km", "1.5 km"), ("example.com", "example.com"), ("", ""), (",", ","),
        ("1.5 kB more", "1.5 kB more"),
    ])
    func `only numbers and sizes get the separators of German`(text: String, german: String) {
        #expect(PortalLanguage.german.figure(text) == german)
        #expect(PortalLanguage.english.figure(text) == text)
        #expect(PortalLanguage.chinese.figure(text) == text)
    }

    @Test func `figures in a sentence have the separators of German, and quoted input stays as it is`() {
        let report = Phrase(.endedPages, "1,234", "0", "335.1 kB", "1.5 s")
        #expect(
            report.text(in: .german)
                == "Seiten: 1.234, Ressourcen: 0, heruntergeladen: 335,1 kB, Gesamtdauer: 1,5 s")
        #expect(Phrase(.searchFor, "1.5").text(in: .german) == "Suche: 1.5")
    }

    @Test(
        arguments: [
            (-1, "in der Zukunft"), (5, "gerade eben"), (60, "vor 1 Minute"), (7200, "vor 2 Stunden"),
            (259_200, "vor 3 Tagen"), (34_560_000, "vor 13 Monaten"),
        ] as [(Int64, String)])
    func `an age in German has the case that the preposition needs`(seconds: Int64, expected: String) {
        #expect(PortalLanguage.german.age(seconds) == expected)
    }

    @Test func `the duration of a finished prefetch has the units of the language`() {
        let phrase = Phrase(.endedPages, "1", "0", "335 B", "5 min 20 s")
        #expect(phrase.text(in: .english) == "Pages: 1, assets: 0, downloaded: 335 B, total time: 5 min 20 s")
        #expect(phrase.text(in: .chinese) == "1 个网页和 0 个资源，下载 335 B，总用时 5 分 20 秒")
    }

    @Test(arguments: [
        ("mismatch", "不一致"), ("not-fetched", "未获取"), ("fragment-missing", "没有此片段"), ("other", "other"),
    ])
    func `a verdict of a check has a name in each language`(verdict: String, chinese: String) {
        let phrase = Phrase(.checkItem, verdict, "https://example.com/")
        #expect(phrase.text(in: .english) == "\(verdict): https://example.com/")
        #expect(phrase.text(in: .chinese) == "\(chinese)：https://example.com/")
    }

    @Test(arguments: [
        ("missed", PortalLanguage.english, true), ("未命中", .chinese, true), ("missed", .chinese, true),
        ("from the store", .english, false),
    ])
    func `proxy requests are filtered by the words that name their source`(
        words: String, language: PortalLanguage, isFound: Bool
    ) {
        let log = ProxyLog()
        log.recordMiss("GET", "https://example.test/a", since: .now)
        let page = TrafficPage(
            ProxyLogSource(log: log, port: 1), at: "/", titled: "",
            PortalRequest(path: "/", fields: [("q", words)]), in: language)
        #expect(page.requests.isEmpty != isFound)
    }
}
