internal import Glibc
package import Web

/// A pattern of URLs that the user writes to include or exclude them.
///
/// - `regex:EXPRESSION`: an extended POSIX regular expression that matches anywhere in the URL
/// - `https://example.com/docs/**`, `example.com/docs/**`, `/docs/**`: a glob for the URL, for host and path,
///   or for the path; see `URLGlob`
/// - `*.pdf`, `ads.example.com`, without a slash: a glob for the file name or the host
package struct URLPattern: Sendable {
    /// The part of a URL that a pattern describes.
    enum Subject {
        /// The host, too: a pattern that includes pages extends the crawl to matching hosts.
        case host
        /// Only the path: such a pattern includes no pages of further hosts.
        case path
    }

    /// The pattern as the user wrote it.
    package let text: String
    private let form: Form

    /// The kinds of patterns, parsed.
    private enum Form: Sendable {
        case glob(URLGlob, Subject)
        /// A text without a slash: a host, or a file in the root folder or in a folder below it.
        case name(host: URLGlob, atRoot: URLGlob, below: URLGlob)
        case expression(RegularExpression)
    }

    private static let expressionPrefix = "regex:"

    /// Creates a pattern. Throws if it is empty, longer than 1 KiB, or not a valid regular expression.
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
            guard let host = URLGlob(text), let atRoot = URLGlob("/\(text)"),
                let below = URLGlob("/**/\(text)")
            else {
                throw .tooLong(text)
            }
            form = .name(host: host, atRoot: atRoot, below: below)
        }
    }

    /// Returns the part that the pattern describes, if it matches the URL; else nil.
    func subject(matching url: WebURL) -> Subject? {
        switch form {
        case .glob(let glob, let subject): glob.matches(url) ? subject : nil
        case .name(let host, let atRoot, let below):
            host.matches(url) ? .host : atRoot.matches(url) || below.matches(url) ? .path : nil
        case .expression(let expression): expression.matches(url.key.href) ? .host : nil
        }
    }

    package func matches(_ url: WebURL) -> Bool { subject(matching: url) != nil }
}

extension PatternMistake {
    /// The same mistake, with the whole pattern in place of the expression without `regex:`.
    fileprivate func naming(_ pattern: String) -> PatternMistake {
        switch self {
        case .empty: .empty
        case .tooLong: .tooLong(pattern)
        case .expression(_, let reason): .expression(pattern, reason: reason)
        }
    }
}

/// An extended POSIX regular expression, compiled once. Any thread may use it.
///
/// It is compiled for the "C" locale, in which Larder runs: one byte is one character. URLs are ASCII.
final class RegularExpression: @unchecked Sendable {
    // Sendable: the pointer is only written in `init` and freed in `deinit`. POSIX requires `regexec` to be
    // thread-safe, so it locks the parts of the compiled expression that it changes.
    private let compiled: UnsafeMutablePointer<regex_t>

    static let maxPatternBytes = 1024
    /// Longer subjects do not match, because the time for matching may grow with their length times that of
    /// the expression.
    static let maxSubjectBytes = 16 * 1024
    /// The maximum product of all repetition counts. Nested repetitions multiply, and each copy takes memory
    /// when the expression is compiled.
    private static let maxCopies = 1000

    init(_ text: String) throws(PatternMistake) {
        guard text.utf8.count <= Self.maxPatternBytes else { throw .tooLong(text) }
        if let reason = Self.objection(to: Array(text.utf8)) { throw .expression(text, reason: reason) }
        let compiled = UnsafeMutablePointer<regex_t>.allocate(capacity: 1)
        compiled.initialize(to: regex_t())
        let code = regcomp(compiled, text, REG_EXTENDED | REG_NOSUB)
        guard code == 0 else {
            var message = [CChar](repeating: 0, count: 256)
            regerror(code, compiled, &message, message.count)
            compiled.deallocate()
            let bytes = message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            throw .expression(text, reason: String(decoding: bytes, as: UTF8.self))
        }
        self.compiled = compiled
    }

    deinit {
        regfree(compiled)
        compiled.deallocate()
    }

    /// Whether the expression matches anywhere in the text.
    package func matches(_ text: String) -> Bool {
        text.utf8.count <= Self.maxSubjectBytes && regexec(compiled, text, 0, nil, 0) == 0
    }

    /// The reason why an expression that POSIX accepts is rejected; nil if it is fine.
    private static func objection(to bytes: [UInt8]) -> String? {
        if bytes.isEmpty { return "it is empty" }
        if bytes.contains(0) { return "it contains a NUL" }
        for (byte, next) in zip(bytes, bytes.dropFirst()) where byte == UInt8(ascii: "\\") {
            // With back references, matching may take exponential time.
            if next.isASCIIDigit { return "references to groups are not supported" }
        }
        var copies = 1
        for part in bytes.split(separator: UInt8(ascii: "{"), omittingEmptySubsequences: false).dropFirst() {
            let numbers = part.prefix { $0 != UInt8(ascii: "}") }.split(separator: UInt8(ascii: ","))
            let count = numbers.compactMap { Int(String(decoding: $0, as: UTF8.self)) }.max() ?? 1
            guard count <= maxCopies else { return "it repeats a part too often" }
            copies *= max(1, count)
            guard copies <= maxCopies else { return "it repeats a part too often" }
        }
        return nil
    }
}

/// The reason why a URL pattern cannot be used.
package enum PatternMistake: Error, Sendable, Equatable, CustomStringConvertible {
    case empty
    case tooLong(String)
    case expression(String, reason: String)

    package var description: String {
        switch self {
        case .empty: "a pattern is empty: write one like *.pdf, /docs/** or regex:[0-9]{4}$"
        case .tooLong(let text):
            "the pattern \(text.prefix(40))… is longer than 1 KB: write several shorter ones"
        case .expression(let text, let reason):
            "\(text) is not a regular expression: \(reason); write one like regex:[0-9]{4}$"
        }
    }
}
