/// What a check found of one bundle.
package enum Verdict: Sendable, Equatable {
    case verified
    /// Something that was said of it does not hold.
    case mismatch(Mismatch)
    /// It could not be had; the text says why.
    case missing(String)
    /// It was had, and nothing can be said of it; the text says why.
    case unverifiable(String)
    /// It is of another release than what it belongs to.
    case skew(Skew)

    package var name: String {
        switch self {
        case .verified: "verified"
        case .mismatch: "mismatch"
        case .missing: "missing"
        case .unverifiable: "unverifiable"
        case .skew: "skew"
        }
    }

    package var detail: String? {
        switch self {
        case .verified: nil
        case .mismatch(let mismatch): mismatch.description
        case .missing(let reason), .unverifiable(let reason): reason
        case .skew(let skew): skew.description
        }
    }
}
