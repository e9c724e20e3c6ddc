import Testing

@testable import Serve

@Suite struct SentenceTests {
    @Test(arguments: Sentence.allCases)
    func `every sentence is there in each language, with the same places`(sentence: Sentence) {
        #expect(!sentence.english.isEmpty && !sentence.chinese.isEmpty)
        func places(_ text: String) -> Set<UInt8> {
            let bytes = Array(text.utf8)
            return Set(
                bytes.indices.dropLast().filter { bytes[$0] == UInt8(ascii: "%") }.map { bytes[$0 + 1] })
        }
        #expect(places(sentence.english) == places(sentence.chinese))
    }

    @Test func `what stands in the places is never read as a place`() {
        let phrase = Phrase(.mistakeNumber, "%2%", "1", "64")
        #expect(phrase.text(in: .english) == "“%2%” must be a number from 1 to 64.")
        #expect(phrase.text(in: .chinese) == "“%2%”必须是 1 到 64 之间的数字。")
    }
}
