internal import Digest
internal import Store
internal import Web

/// What the larder shows for an URL, in short.
public struct ListedURL: Sendable, Equatable {
    public let url: String
    public let status: Int
    /// Without parameters; nil where the server gave none.
    public let type: String?
    /// Nil for what has no body, such as a redirect.
    public let byteCount: Int?
    public let sha256: String?
    /// A page needs it to look and work as it did; else it is a page.
    public let isRequisite: Bool
    public let visit: Int64
    /// Seconds since 1970.
    public let fetched: Int64

    init(_ row: ListedResponse) {
        url = row.href
        status = row.status
        type = row.type
        byteCount = row.byteCount
        sha256 = row.sha256.flatMap { Digest(.sha256, bytes: $0)?.hex }
        isRequisite = row.role != 0
        visit = row.visit
        fetched = row.fetched
    }

    /// For programs, on one line.
    public var json: String {
        var writer = JSONWriter(.compact)
        writer.object { object in
            object.member("url", url)
            object.member("status", status)
            object.member("role", isRequisite ? "requisite" : "page")
            object.member("type", type)
            object.member("bytes", byteCount)
            object.member("sha256", sha256)
            object.member("visit", visit)
            object.member("fetched", fetched)
        }
        return writer.text
    }
}
