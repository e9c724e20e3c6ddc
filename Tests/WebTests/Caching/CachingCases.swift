@testable import Web

/// The reference time: Tue, 14 Nov 2023 22:13:20 GMT.
let noon = HTTPDate(secondsSinceEpoch: 1_700_000_000)

/// Header fields from lines such as `Name: value`. `@+60` is replaced by the date 60 seconds after `noon`.
func head(_ lines: String...) -> HTTPFields {
    var fields = HTTPFields()
    for line in lines {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let value = parts.count == 2 ? parts[1].drop { $0 == " " } : ""
        let date = value.first == "@" ? Int64(value.dropFirst()) : nil
        fields.append(String(parts[0]), date.map { noon.adding(seconds: $0).text } ?? String(value))
    }
    return fields
}

/// The freshness of a response that was requested and received at `noon`.
func freshness(
    _ fields: HTTPFields, status: Int = 200, profile: CacheProfile = .private, forced: ForcedLifetime? = nil
) -> Freshness {
    Freshness(
        status: status, fields: fields, requestTime: noon, responseTime: noon, profile: profile,
        forced: forced)
}

func entry(_ fields: HTTPFields, status: Int = 200, profile: CacheProfile = .private) -> CacheEntry {
    CacheEntry(status: status, fields: fields, freshness: freshness(fields, status: status, profile: profile))
}

/// A URL from a text that is known to be valid.
func webURL(_ text: String) -> WebURL {
    guard let url = WebURL(text) else { preconditionFailure("\(text) is no URL") }
    return url
}

extension CacheRequest {
    static func get(_ fields: HTTPFields = [:]) -> CacheRequest {
        CacheRequest(url: webURL("https://example.com/page"), fields: fields)
    }
}
