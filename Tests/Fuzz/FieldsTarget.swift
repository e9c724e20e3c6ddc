internal import Web

/// The parsers of HTTP header fields: the whole input is a header block, and each line a value of every kind.
struct FieldsTarget: Target {
    let name = "fields"
    let suffixes = [".fields"]
    let pieces = [
        ":", ";", ",", "=", "\"", "\\\"", "*", "'", "<", ">", "(", ")", "/", "%", "%41", " ", "\t", "\r\n",
        "\n ",
        "W/\"",
        "charset=", "rel=", "url=", "max-age=", "no-cache=\"", "filename*=UTF-8''", "bytes ", "0-9/10",
        "sha-256=:",
        ":;", "Sun, 06 Nov 1994 08:49:37 GMT", "GMT", "1994-11-06T08:49:37Z", "99999999999999999999", "-1",
        "é",
    ]

    func fault(_ input: [UInt8]) -> String? {
        let fields = HTTPFields(block: input.span)
        let again = HTTPFields(block: Array(fields.block.utf8).span)
        guard again.list.map(\.name) == fields.list.map(\.name) else { return "a block: \(fields.block)" }
        _ = (fields.contentType, fields.contentLength, fields.age, fields.entityTag)
        for line in input.split(separator: UInt8(ascii: "\n")) {
            if let fault = fault(of: String(decoding: line, as: UTF8.self)) { return fault }
        }
        return nil
    }

    /// A parsed value must survive a round trip, and ranges must lie inside the text.
    private func fault(of text: String) -> String? {
        if let type = MediaType(text), MediaType(type.description) != type { return "a media type: \(text)" }
        if let date = HTTPDate(text), HTTPDate(date.text) != date { return "a date: \(text)" }
        if let date = HTTPDate(iso8601: text), HTTPDate(iso8601: date.iso8601) != date {
            return "a time stamp: \(text)"
        }
        if let tag = EntityTag(text), EntityTag(tag.text) != tag { return "an entity tag: \(text)" }
        if let range = ContentRange(text), ContentRange(range.text) != range { return "a range: \(text)" }
        guard LinkField.parse(text).allSatisfy({ $0.targetRange.upperBound <= text.utf8.count }) else {
            return "a link's place: \(text)"
        }
        guard (RefreshDirective(text)?.urlRange?.upperBound ?? 0) <= text.utf8.count else {
            return "a refresh's place: \(text)"
        }
        guard FieldDigest.parseStructured(text).allSatisfy({ FieldDigest.parseStructured($0.text) == [$0] })
        else {
            return "a digest: \(text)"
        }
        if let age = CacheDirectives(text).maxAge, !(0...(1 << 31)).contains(age) { return "an age: \(text)" }
        _ = (StructuredDictionary(text), EntityTagCondition(text), FieldDigest.parseLegacy(text))
        _ = RetryAfter(["Retry-After": text])
        return nil
    }
}
