internal import Store
internal import Web

/// What was asked for and is not held.
public struct MissesReport: Sendable, Equatable {
    /// By address.
    public let misses: [MissedURL]

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.array { array in
            for miss in misses {
                array.object { object in
                    object.member("url", miss.url)
                    object.member("method", miss.method)
                    object.member("role", miss.isPage ? "page" : "requisite")
                    object.member("referrer", miss.referrer)
                    object.member("count", miss.count)
                    object.member("first", miss.first)
                    object.member("last", miss.last)
                }
            }
        }
        return writer.text
    }
}

public struct MissedURL: Sendable, Equatable {
    public let url: String
    /// What was asked for by another method than GET is told, and never fetched.
    public let method: String
    /// Whether a person went there; else a page needs it.
    public let isPage: Bool
    /// The page that asked for it, as far as the browser said.
    public let referrer: String?
    public let count: Int
    /// Seconds since 1970.
    public let first: Int64
    public let last: Int64

    init(_ miss: Miss) {
        url = miss.href
        method = miss.method
        isPage = miss.isPage
        referrer = miss.referrer
        count = miss.count
        first = miss.first
        last = miss.last
    }
}
