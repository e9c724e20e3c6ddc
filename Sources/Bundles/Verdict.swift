/// What a check found of one bundle.
package enum Verdict: Sendable, Equatable {
    case verified
    case mismatch(expected: String, found: String)
    /// It could not be had; the text says why.
    case missing(String)
    /// It was had, and nothing can be said of it; the text says why.
    case unverifiable(String)

    package var name: String {
        switch self {
        case .verified: "verified"
        case .mismatch: "mismatch"
        case .missing: "missing"
        case .unverifiable: "unverifiable"
        }
    }

    package var detail: String? {
        switch self {
        case .verified: nil
        case .mismatch(let expected, let found): "expected \(expected), found \(found)"
        case .missing(let reason), .unverifiable(let reason): reason
        }
    }
}
