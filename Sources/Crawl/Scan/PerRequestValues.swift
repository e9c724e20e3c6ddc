internal import Web

/// Recognises two responses for a page that differ only in values that a server makes anew for every request: the
/// tokens of its forms, nonces, and the time of the request.
///
/// Servers made with Rails, Django, Laravel or DokuWiki put such values into every page. Without this comparison each update
/// of such a site would find every page changed. With it, an update keeps the stored page:
///
///     stored  <meta name="csrf-token" content="q7Xw…">  <img src="/task?id=start&1732800000">
///     new     <meta name="csrf-token" content="Zk0p…">  <img src="/task?id=start&1732886400">
///
/// The two bodies are compared from delimiter to delimiter. Where they differ, the values between the nearest delimiters
/// must be of one of these kinds:
///
/// - the time of the respective request, in seconds or milliseconds since 1970;
/// - a random value whose tag, or whose name in a script, says that it is a token or a nonce;
/// - a number within a comment, such as the time that it took to make the page.
///
/// URLs are treated with more care, because a new version of a style sheet is often recognised by its URL: a token in a URL is a
/// change, and a time in a URL must be that of the request to a few seconds.
enum PerRequestValues {
    /// A response for the page.
    struct Response {
        let body: [UInt8]
        /// When the server made the response, in seconds since 1970.
        let time: Int64
    }

    /// More different values than this are a change.
    private static let maxDifferences = 64
    /// A longer value is a change. The state of a form in ASP.NET has many kilobytes.
    private static let maxValueBytes = 256 << 10
    /// The part of a comment before a number that is searched for its beginning.
    private static let maxCommentBytes = 1024
    /// The part of a tag or script before and after a value that is searched for a name.
    private static let maxContextBytes = 160
    /// A shorter value is no token.
    private static let minTokenBytes = 8
    /// A number in a text or a script is the time of a request if it differs from that by at most this number of seconds:
    /// pages come from caches, and clocks are wrong.
    private static let maxSecondsApart: Int64 = 3600
    /// The same for a number in a URL. A number that is further away may be the time when a file was deployed.
    private static let maxSecondsApartInURL: Int64 = 5
    /// Parts of the names of tokens, in lower case.
    private static let names = [
        "csrf", "xsrf", "nonce", "token", "viewstate", "form_build_id", "requestverification", "authenticity",
        "eventvalidation", "sectok", "formkey", "form_key", "sesskey", "honeypot",
    ].map { Array($0.utf8) }

    /// Whether the bodies differ, and only in values that are made anew for every request.
    static func areOnlyDifference(between stored: Response, and new: Response) -> Bool {
        let (old, fresh) = (stored.body, new.body)
        var (left, right) = (0, 0)
        var differences = 0
        while true {
            while left < old.count, right < fresh.count, old[left] == fresh[right] {
                left += 1
                right += 1
            }
            if left == old.count, right == fresh.count { return differences > 0 }
            let before = value(in: old, around: left)
            let after = value(in: fresh, around: right)
            differences += 1
            guard differences <= maxDifferences,
                before.count <= maxValueBytes, after.count <= maxValueBytes,
                // Both end at the same delimiter, so that the comparison goes on behind them.
                before.upperBound < old.count, after.upperBound < fresh.count,
                old[before.upperBound] == fresh[after.upperBound],
                isTime(before, in: old, near: stored.time) && isTime(after, in: fresh, near: new.time)
                    || isToken(before, in: old) && isToken(after, in: fresh)
                    || isNumberInComment(before, in: old) && isNumberInComment(after, in: fresh)
            else { return false }
            (left, right) = (before.upperBound, after.upperBound)
        }
    }

    /// The range of the value that contains the byte at `place`, or that ends there.
    private static func value(in body: [UInt8], around place: Int) -> Range<Int> {
        var start = place
        while start > 0, !isDelimiter(body[start - 1]) { start -= 1 }
        var end = place
        while end < body.count, !isDelimiter(body[end]) { end += 1 }
        return start..<end
    }

    /// Whether a byte ends a value: white space, and what encloses values in HTML, URLs and JSON.
    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0...0x20: true
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: "<"), UInt8(ascii: ">"):
            true
        case UInt8(ascii: "&"), UInt8(ascii: "?"), UInt8(ascii: ";"), UInt8(ascii: "#"), UInt8(ascii: "\\"):
            true
        case UInt8(ascii: ","), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "{"), UInt8(ascii: "}"):
            true
        default: false
        }
    }

    // MARK: - The kinds of values

    /// Whether a value is the time of a request, perhaps after a name and an equals sign (`t=1732800000`).
    private static func isTime(_ value: Range<Int>, in body: [UInt8], near time: Int64) -> Bool {
        var digits = body[value]
        if let equals = digits.lastIndex(of: UInt8(ascii: "=")) { digits = digits[(equals + 1)...] }
        // Python's time.time() and others write a fraction.
        if let dot = digits.firstIndex(of: UInt8(ascii: ".")), digits[(dot + 1)...].allSatisfy(isDigit) {
            digits = digits[..<dot]
        }
        guard digits.count == 10 || digits.count == 13, digits.allSatisfy(isDigit),
            let number = Int64(String(decoding: digits, as: UTF8.self))
        else { return false }
        let apart = abs((digits.count == 13 ? number / 1000 : number) - time)
        return apart <= (isInURL(value, of: body) ? maxSecondsApartInURL : maxSecondsApart)
    }

    /// Whether a value is random and its tag, or the name before it in a script, says that it is a token.
    private static func isToken(_ value: Range<Int>, in body: [UInt8]) -> Bool {
        let tag = tag(around: value, in: body)
        if let tag, let equals = equals(ofUnquoted: value, in: tag, body) {
            let name = body[value.lowerBound..<equals]
            return isRandom(body[(equals + 1)..<value.upperBound]) && namesToken(name, in: body[tag])
        }
        guard isRandom(body[value]) else { return false }
        let name = name(of: value, in: body)
        guard let tag else { return isInScript(value, of: body) && namesToken(name) }
        return namesToken(name, in: body[tag])
    }

    /// Whether an attribute of a tag is a token: `<input name="csrf" value="…">`, `<meta name="csrf-token" content="…">`.
    private static func namesToken(_ name: ArraySlice<UInt8>, in tag: ArraySlice<UInt8>) -> Bool {
        namesToken(name)
            || (name.elementsEqual("value".utf8) || name.elementsEqual("content".utf8)) && namesToken(tag)
    }

    /// The place of the equals sign in an attribute without quotes, which is one value with its name:
    /// `<script nonce=r4nd0mR4nd0m>`. Nil for other values.
    private static func equals(ofUnquoted value: Range<Int>, in tag: Range<Int>, _ body: [UInt8]) -> Int? {
        guard value.lowerBound > tag.lowerBound, body[value.lowerBound - 1] <= 0x20,
            body[tag.lowerBound..<value.lowerBound].count(where: { $0 == UInt8(ascii: "\"") }).isMultiple(
                of: 2),
            let equals = body[value].firstIndex(of: UInt8(ascii: "=")), equals > value.lowerBound
        else { return nil }
        return equals
    }

    /// Whether a value has the characters of Base64 or a similar code, and is no word.
    private static func isRandom(_ value: ArraySlice<UInt8>) -> Bool {
        var (hasDigit, hasUpper, hasLower) = (false, false, false)
        for byte in value {
            switch byte {
            case 0x30...0x39: hasDigit = true
            case 0x41...0x5A: hasUpper = true
            case 0x61...0x7A: hasLower = true
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                break
            case UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "|"), UInt8(ascii: "%"),
                UInt8(ascii: "~"):
                break
            default: return false
            }
        }
        return value.count >= minTokenBytes && (hasDigit || hasUpper && hasLower)
    }

    /// The part of the tag around a value, without its angle brackets; nil if the value is not within a tag.
    private static func tag(around value: Range<Int>, in body: [UInt8]) -> Range<Int>? {
        var start = value.lowerBound
        while start > 0, body[start - 1] != UInt8(ascii: "<") {
            start -= 1
            if body[start] == UInt8(ascii: ">") || value.lowerBound - start > maxContextBytes { return nil }
        }
        guard start > 0, start < body.count, isLetter(body[start]) else { return nil }
        var end = value.upperBound
        while end < body.count, body[end] != UInt8(ascii: ">"), end - value.upperBound < maxContextBytes {
            end += 1
        }
        return start..<end
    }

    /// The name in `name="value"` of a tag, and in `name = "value"` or `"name":"value"` of a script; empty if the value has
    /// none.
    private static func name(of value: Range<Int>, in body: [UInt8]) -> ArraySlice<UInt8> {
        var place = value.lowerBound
        func skip(_ isSkipped: (UInt8) -> Bool) -> Int {
            let end = place
            while place > 0, end - place < maxContextBytes, isSkipped(body[place - 1]) { place -= 1 }
            return end - place
        }
        func isQuote(_ byte: UInt8) -> Bool {
            [UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\")].contains(byte)
        }
        _ = skip(isQuote)
        guard skip({ $0 == 0x20 || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "=") }) > 0 else {
            return []
        }
        _ = skip(isQuote)
        let end = place
        _ = skip { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
        return body[place..<end]
    }

    /// Whether the element before a value that may contain scripts is still open.
    private static func isInScript(_ value: Range<Int>, of body: [UInt8]) -> Bool {
        var place = value.lowerBound
        while place > 0 {
            place -= 1
            guard body[place] == UInt8(ascii: "<") else { continue }
            let tag = body[place..<min(body.count, place + 8)].map { $0 | 0x20 }
            if tag.starts(with: "</script".utf8) { return false }
            if tag.starts(with: "<script".utf8) { return true }
        }
        return false
    }

    /// Whether a value is in an attribute with a URL: that contains a path or a query before the value.
    private static func isInURL(_ value: Range<Int>, of body: [UInt8]) -> Bool {
        var start = value.lowerBound
        while start > 0, value.lowerBound - start < maxContextBytes, body[start - 1] > 0x20,
            body[start - 1] != UInt8(ascii: "\""), body[start - 1] != UInt8(ascii: "'")
        {
            start -= 1
        }
        return body[start..<value.lowerBound].contains { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
    }

    /// Whether a value is a number, a date or a time of day within a comment.
    private static func isNumberInComment(_ value: Range<Int>, in body: [UInt8]) -> Bool {
        let marks: [UInt8] = [UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "-"), UInt8(ascii: "/")]
        guard body[value].contains(where: isDigit),
            body[value].allSatisfy({ isDigit($0) || marks.contains($0) })
        else { return false }
        var place = value.lowerBound
        let end = max(4, place - maxCommentBytes)
        while place >= end {
            if body[(place - 4)..<place].elementsEqual("<!--".utf8) { return true }
            if body[(place - 3)..<place].elementsEqual("-->".utf8) { return false }
            place -= 1
        }
        return false
    }

    /// Whether a text contains one of the names of tokens.
    private static func namesToken(_ text: ArraySlice<UInt8>) -> Bool {
        let text = text.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return names.contains { text.firstRange(of: $0) != nil }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
}
