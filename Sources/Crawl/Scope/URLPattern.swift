package import Web

/// A pattern of URLs as a user writes it to include or exclude them.
///
/// - `regex:EXPRESSION`: an extended regular expression of POSIX, looked for anywhere in the URL;
/// - `https://example.com/docs/**`, `example.com/docs/**`, `/docs/**`: a glob of the URL, the place or the path, see
///   `URLGlob`;
/// - `*.pdf`, `ads.example.com`, without a slash: a glob of the file's name or of the host.
package struct URLPattern: Sendable {
    /// How much of an URL a pattern speaks of.
    enum Reach {
        /// The host too: it means what is there, and nothing elsewhere.
        case host
        /// The path alone.
        case path
    }

    /// As it was written.
    package let text: String
    private let form: Form

    private enum Form: Sendable {
        case glob(URLGlob, Reach)
        case name(host: URLGlob, atRoot: URLGlob, below: URLGlob)
        case expression(RegularExpression)
    }

    private static let expressionPrefix = "regex:"

    /// Throws when the pattern is empty, longer than a kilobyte, or a regular expression that is none.
    package init(_ text: String) throws(PatternMistake) {
        guard !text.isEmpty else { throw .empty }
        self.text = text
        if text.hasPrefix(Self.expressionPrefix) {
            do throws(PatternMistake) {
                form = .expression(try RegularExpression(String(text.dropFirst(Self.expressionPrefix.count))))
            } catch {
                throw error.naming(text)
            }
        } else if text.utf8.contains(UInt8(ascii: "/")) {
            guard let glob = URLGlob(text) else { throw .tooLong(text) }
            form = .glob(glob, text.utf8.first == UInt8(ascii: "/") ? .path : .host)
        } else {
            guard let host = URLGlob(text), let atRoot = URLGlob("/\(text)"), let below = URLGlob("/**/\(text)") else {
                throw .tooLong(text)
            }
            form = .name(host: host, atRoot: atRoot, below: below)
        }
    }

    /// What the pattern matches of the URL; nil when it does not match.
    func reach(in url: WebURL) -> Reach? {
        switch form {
        case .glob(let glob, let reach): glob.matches(url) ? reach : nil
        case .name(let host, let atRoot, let below):
            host.matches(url) ? .host : atRoot.matches(url) || below.matches(url) ? .path : nil
        case .expression(let expression): expression.matches(url.key.href) ? .host : nil
        }
    }

    package func matches(_ url: WebURL) -> Bool { reach(in: url) != nil }
}

extension PatternMistake {
    /// The same about the whole pattern instead of a part of it.
    fileprivate func naming(_ pattern: String) -> PatternMistake {
        switch self {
        case .empty: .empty
        case .tooLong: .tooLong(pattern)
        case .expression(_, let reason): .expression(pattern, reason: reason)
        }
    }
}
