import Testing

@testable import Web

struct URLGlobTests {
    @Test(
        arguments: [
            ("https://example.com/a", "https://example.com/a", true),
            ("https://example.com/a", "https://example.com/ab", false),
            ("https://example.com/a", "http://example.com/a", false),
            ("*://example.com/**", "http://example.com/a/b", true),
            ("https://example.com/*", "https://example.com/a", true),
            ("https://example.com/*", "https://example.com/", true),
            ("https://example.com/*", "https://example.com/a/b", false),
            ("https://example.com/**", "https://example.com/a/b", true),
            ("https://example.com/*/c", "https://example.com/b/c", true),
            ("https://example.com/*/c", "https://example.com/a/b/c", false),
            ("https://example.com/**/c", "https://example.com/a/b/c", true),
            ("/a?", "https://x.example/ab", true),
            ("/a?", "https://x.example/a/", false), ("/a?", "https://x.example/a", false),
            ("/a?b", "https://x.example/a?b", true),
            ("/a?b=*", "https://x.example/a?b=c", true), ("/a?b=*", "https://x.example/a?b=c/d", false),
            ("/a", "https://x.example/a?b", true), ("/a", "https://x.example/a#b", true),
            ("/**.png", "https://x.example/a/b.png", true),
            ("/**.png", "https://x.example/a/b.png?1", true), ("/**.png", "https://x.example/a/b.PNG", false),
            ("example.com/docs/**", "http://example.com/docs/a", true),
            ("example.com/docs/**", "http://example.com:81/docs/a", true),
            ("example.com:81/docs/**", "http://example.com:81/docs/a", true),
            ("example.com:81/docs/**", "http://example.com/docs/a", false),
            ("example.com:81/docs/**", "http://example.com:82/docs/a", false),
            ("cdn.example.com", "http://cdn.example.com:9320/a", true),
            ("*.example.com:9320", "http://cdn.example.com:9320/a", true),
            ("*.example.com:9320", "http://cdn.example.com/a", false),
            ("[::1]", "http://[::1]:9320/a", true), ("[::1]:9320", "http://[::1]:9320/a", true),
            ("[::1]:9321", "http://[::1]:9320/a", false), ("[::1]/a*", "http://[::1]:9320/ab", true),
            ("example.com/**", "ftp://example.com/a", false),
            ("*.example.com", "https://www.example.com/a/b", true),
            ("*.example.com", "https://example.com/", false),
            ("**", "https://example.com/a/b?c", true), ("*", "https://example.com/a/b?c", true),
            ("***", "https://example.com/", true), ("/*a*b*c", "https://x.example/xxaxxbxxc", true),
            ("/*a*b*c", "https://x.example/xxaxxbxx", false), ("/**a/*b", "https://x.example/a/a/b", true),
            ("/a*", "https://x.example/a*", true), ("/caf%C3%A9", "https://x.example/café", true),
            ("https://user@example.com/", "https://user@example.com/", false),
            ("https://example.com/", "https://user@example.com/", true),
        ]) func `a pattern matches the right part of a URL`(pattern: String, text: String, isMatch: Bool)
        throws
    {
        #expect(try #require(URLGlob(pattern)).matches(webURL(text)) == isMatch)
    }

    @Test func `an empty or too long pattern is rejected`() {
        #expect(URLGlob("") == nil)
        #expect(URLGlob(String(repeating: "a", count: 1025)) == nil)
        #expect(URLGlob(String(repeating: "a", count: 1024)) != nil)
    }

    /// A backtracking matcher would take years for each of these.
    @Test func `many stars and a long URL are matched quickly`() throws {
        let hostile = webURL("https://x.example/" + String(repeating: "a", count: 50_000))
        #expect(!(try #require(URLGlob("/" + String(repeating: "*a", count: 500) + "b"))).matches(hostile))
        #expect(try #require(URLGlob("/" + String(repeating: "**a", count: 300))).matches(hostile))
        #expect(try #require(URLGlob("/" + String(repeating: "?", count: 200) + "*")).matches(hostile))
    }

    /// Compares the automaton with a simple recursive matcher for all short texts of a small alphabet.
    @Test func `the automaton agrees with a simple matcher`() {
        func plain(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
            guard let first = pattern.first else { return text.isEmpty }
            let rest = pattern.dropFirst()
            if first == 0x2A {
                let isWide = rest.first == 0x2A
                let behind = isWide ? rest.dropFirst() : rest
                if plain(behind, text) { return true }
                guard let next = text.first, isWide || next != 0x2F else { return false }
                return plain(pattern, text.dropFirst())
            }
            guard let next = text.first, first == 0x3F ? next != 0x2F : next == first else { return false }
            return plain(rest, text.dropFirst())
        }
        func words(_ alphabet: [UInt8], upTo length: Int) -> [[UInt8]] {
            var all: [[UInt8]] = [[]]
            var last = all
            for _ in 0..<length {
                last = last.flatMap { word in alphabet.map { word + [$0] } }
                all += last
            }
            return all
        }
        let texts = words(Array("a/b".utf8), upTo: 3)
        var disagreements: [String] = []
        for pattern in words(Array("a/*?".utf8), upTo: 4) where !pattern.isEmpty {
            guard let automaton = GlobAutomaton(pattern) else { continue }
            for text in texts where automaton.matches(text) != plain(pattern[...], text[...]) {
                disagreements.append(String(decoding: pattern + [0x20] + text, as: UTF8.self))
            }
        }
        #expect(disagreements.isEmpty)
    }

    /// Literals and stars at the boundary between two words of state bits.
    @Test(arguments: [60, 61, 62, 63, 64, 65, 126, 127, 128, 129])
    func `a pattern with more states than a machine word has bits matches`(count: Int) throws {
        let letters = String(repeating: "a", count: count)
        #expect(try #require(URLGlob("/\(letters)*b")).matches(webURL("https://x.example/\(letters)xxb")))
        #expect(try #require(URLGlob("/\(letters)*b")).matches(webURL("https://x.example/\(letters)b")))
        #expect(!(try #require(URLGlob("/\(letters)*b"))).matches(webURL("https://x.example/\(letters)x")))
        #expect(!(try #require(URLGlob("/\(letters)"))).matches(webURL("https://x.example/a\(letters)")))
    }
}
