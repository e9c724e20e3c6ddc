import Testing

@testable import Web

@Suite struct WordSplitterTests {
    /// The words of a text, with a slash before those at the same position as the word before.
    private static func words(_ text: [UInt8], _ purpose: WordSplitter.Purpose) -> [String] {
        var words: [String] = []
        WordSplitter().split(text.span, for: purpose) { word, place, isColocated in
            #expect(place.lowerBound < place.upperBound && place.upperBound <= text.count)
            words.append(
                (isColocated ? "/" : "")
                    + word.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) })
            return true
        }
        return words
    }

    @Test(arguments: [
        ("Hello, World 42", ["hello", "world", "42"]),
        ("std::vec::Vec<T>", ["std", "vec", "vec", "t"]),
        ("os.path.join()", ["os", "path", "join"]),
        ("XMLHttpRequest", ["xmlhttprequest", "/xml", "/http", "/request"]),
        ("HashMap read_to_string", ["hashmap", "/hash", "/map", "read", "to", "string"]),
        ("C++ and C# and F", ["c++", "/c", "and", "c#", "/c", "and", "f"]),
        ("Über naïve STRASSE Straße Łódź", ["uber", "naive", "strasse", "strasse", "lodz"]),
        ("nai\u{308}ve soft\u{AD}hyphen", ["naive", "softhyphen"]),
        ("İstanbul ISPARTA ılık", ["istanbul", "isparta", "ilik"]),
        ("ＦＵＬＬ ｗｉｄｔｈ ①", ["full", "width", "1"]),
        ("Привет Ёлка", ["привет", "елка"]),
        ("虚拟主机", ["虚拟", "拟主", "主机", "机"]),
        ("Apache虚拟", ["apache", "虚拟", "拟"]),
        ("ｶﾞｽ", ["カ\u{3099}ス", "ス"]),
        ("ガス", ["カ\u{3099}ス", "ス"]),
        ("한국어", ["한국", "국어", "어"]),
        ("", []), ("… — !", []),
    ])
    func `a text is split into folded words`(text: String, words: [String]) {
        #expect(Self.words(Array(text.utf8), .index) == words)
    }

    @Test(arguments: [
        ("XMLHttpRequest", ["xmlhttprequest"]), ("C++", ["c++"]), ("虚拟主机", ["虚拟", "拟主", "主机"]), ("机", ["机"]),
    ])
    func `a query has no additional words for parts of identifiers`(text: String, words: [String]) {
        #expect(Self.words(Array(text.utf8), .query) == words)
    }

    @Test func `a part of a text is split as in the whole text`() {
        for piece in ["ภาษาไทย", "ファイルの設定", "データベース接続", "ကမ္ဘာ", "नमस्ते दुनिया"] {
            let asked = Self.words(Array(piece.utf8), .query)
            let written = Self.words(Array("前\(piece)後".utf8), .index).map { $0 }
            #expect(!asked.isEmpty)
            let found = written.indices.contains { written[$0...].starts(with: asked) }
            #expect(found, "\(piece): \(asked) in \(written)")
        }
    }

    @Test func `malformed bytes separate words, and long words are truncated`() {
        #expect(
            Self.words([0x61, 0xFF, 0x62, 0xE4, 0xBD, 0x63, 0x00, 0x64], .index) == ["a", "b", "c", "d"])
        #expect(Self.words([0xED, 0xA0, 0x80, 0xF4, 0x90, 0x80, 0x80, 0xC0, 0xAF], .index) == [])
        #expect(
            Self.words([UInt8](repeating: 0x61, count: 1 << 20), .index) == [
                String(repeating: "a", count: 64)
            ])
        let zalgo = Array(("คุ" + String(repeating: "\u{E38}", count: 10_000)).utf8)
        #expect(Self.words(zalgo, .index).allSatisfy { $0.utf8.count <= 64 })
    }

    @Test(arguments: [
        ("files", ["file"]), ("parsing", ["parse", "parses", "parsed"]), ("stopped", ["stop", "stopping"]),
        ("query", ["queries"]), ("classes", ["class"]), ("run", ["running"]),
    ])
    func `an English word has its other inflected forms`(word: String, others: [String]) {
        let found = Set(Inflections.of(Array(word.utf8).span).map { String(decoding: $0, as: UTF8.self) })
        #expect(found.isSuperset(of: others), "\(found)")
        #expect(!found.contains(word))
    }

    @Test func `ICU splits text without spaces by its dictionaries`() {
        #expect(WordBreaks.words(of: "虚拟主机配置").count >= 2)
        #expect(WordBreaks.words(of: "a b, c") == ["a", "b", "c"])
    }
}
