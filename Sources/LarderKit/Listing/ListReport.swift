internal import Web

/// What a listing came to.
public struct ListReport: Sendable, Equatable {
    public internal(set) var urls = 0
    /// The sum of what each URL has; what two URLs share counts twice.
    public internal(set) var byteCount: Int64 = 0
    /// Whoever took the URLs wanted no more.
    public internal(set) var isCut = false

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("urls", urls)
            object.member("bytes", byteCount)
            object.member("cut", isCut)
        }
        return writer.text
    }
}
