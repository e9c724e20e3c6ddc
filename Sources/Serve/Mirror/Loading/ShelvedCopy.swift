internal import Store
internal import Web

/// A response that is held in memory alone: one that is not to outlive the program, or parts of a body.
struct ShelvedCopy: Sendable {
    let href: String
    let request: RequestKey
    /// The text of its `VaryKey`.
    let variant: String
    var entry: CacheEntry
    var body: Body
    /// Somebody's credentials were sent for it.
    let isPrivate: Bool

    enum Body: Sendable {
        case whole(LoadedBody)
        case parts(BodyParts)
    }

    /// What it takes of the shelf.
    var byteCount: Int {
        let held =
            switch body {
            case .whole(let body): body.bytes.count
            case .parts(let parts): parts.byteCount
            }
        return held + Self.overhead
    }

    private static let overhead = 1024

    /// Whether a request with these fields would have got it.
    func suits(_ fields: HTTPFields) -> Bool {
        var fields = fields
        fields.remove("Accept-Encoding")
        return variant.isEmpty || variant != VaryKey.never && VaryKey(stored: variant).matches(fields)
    }

    var parts: BodyParts? {
        if case .parts(let parts) = body { parts } else { nil }
    }
}
