internal import Glibc
internal import Web

/// An extended regular expression of POSIX, compiled once; any thread may ask it.
///
/// It is compiled for the "C" locale, in which Larder runs: one byte is one character, and URLs are ASCII.
final class RegularExpression: @unchecked Sendable {
    // Sendable: written in `init` and freed in `deinit` alone; what `regexec` changes inside it does under a lock of
    // its own, as POSIX demands.
    private let compiled: UnsafeMutablePointer<regex_t>

    static let longestText = 1024
    /// Longer subjects are not looked at: matching may take time in proportion to their length and the expression's.
    static let longestSubject = 16 * 1024
    /// Nested repetitions multiply, and every copy takes memory when the expression is compiled.
    private static let mostCopies = 1000

    init(_ text: String) throws(PatternMistake) {
        guard text.utf8.count <= Self.longestText else { throw .tooLong(text) }
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
    func matches(_ text: String) -> Bool {
        text.utf8.count <= Self.longestSubject && regexec(compiled, text, 0, nil, 0) == 0
    }

    /// What POSIX would let pass and no crawl should run into.
    private static func objection(to bytes: [UInt8]) -> String? {
        if bytes.isEmpty { return "it is empty" }
        if bytes.contains(0) { return "it has a NUL in it" }
        for (byte, next) in zip(bytes, bytes.dropFirst()) where byte == UInt8(ascii: "\\") {
            // A match may take exponential time with them.
            if next.isASCIIDigit { return "references to groups are not supported" }
        }
        var copies = 1
        for part in bytes.split(separator: UInt8(ascii: "{"), omittingEmptySubsequences: false).dropFirst() {
            let numbers = part.prefix { $0 != UInt8(ascii: "}") }.split(separator: UInt8(ascii: ","))
            let most = numbers.compactMap { Int(String(decoding: $0, as: UTF8.self)) }.max() ?? 1
            guard most <= mostCopies else { return "it repeats too often" }
            copies *= max(1, most)
            guard copies <= mostCopies else { return "it repeats too often" }
        }
        return nil
    }
}
