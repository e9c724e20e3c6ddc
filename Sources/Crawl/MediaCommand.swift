internal import System
internal import Web

/// A program that downloads the video behind a URL whose player cannot be mirrored, such as `yt-dlp -P %o %u`.
///
/// Only the user can give it: it is not stored with a site, and not read from configuration files. It runs without a shell.
public struct MediaCommand: Sendable {
    /// The reason why a command cannot be used.
    public struct Mistake: Error, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// The program and its arguments. `%u` is the URL, and `%o` in an argument the folder for the files.
    let words: [String]
    private let patterns: [URLPattern]

    /// - Parameters:
    ///   - text: the program and its arguments, separated by spaces. Quotes keep spaces together.
    ///   - patterns: the URLs for which it runs.
    public init(_ text: String, for patterns: [String]) throws(Mistake) {
        guard let words = Self.words(of: text), !words.isEmpty else {
            throw Mistake(description: "a quotation mark is missing, or the command is empty")
        }
        guard words.count(where: { $0 == "%u" }) == 1, words.count(where: { $0.contains("%u") }) == 1,
            words[0] != "%u"
        else { throw Mistake(description: "%u must be one argument of the command, for the URL") }
        guard words.dropFirst().contains(where: { $0.contains("%o") }) else {
            throw Mistake(
                description: "%o must be in an argument of the command, for the folder of its files")
        }
        self.words = words
        do throws(PatternMistake) {
            self.patterns = try patterns.map { (text) throws(PatternMistake) in try URLPattern(text) }
        } catch {
            throw Mistake(description: error.description)
        }
    }

    func matches(_ url: WebURL) -> Bool { url.isHTTP && patterns.contains { $0.matches(url) } }

    /// The arguments for a URL. It begins with its scheme, so that no program takes it for an option.
    func arguments(for url: WebURL, folder: String) -> [String] {
        words.dropFirst().map { $0 == "%u" ? url.href : $0.replacing("%o", with: folder) }
    }

    /// The path of the program; nil if it is not installed.
    var program: String? { words[0].contains("/") ? words[0] : ExternalProgram.find(words[0]) }

    /// Splits a command at its spaces. Returns nil if a quotation mark is not closed.
    static func words(of text: String) -> [String]? {
        var words: [String] = []
        var (word, quote): (String?, Character?) = (nil, nil)
        for character in text {
            if character == quote {
                quote = nil
            } else if quote == nil, character == "\"" || character == "'" {
                (quote, word) = (character, word ?? "")
            } else if quote == nil, character.isWhitespace {
                if let ended = word { words.append(ended) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        if let ended = word { words.append(ended) }
        return quote == nil ? words : nil
    }
}
