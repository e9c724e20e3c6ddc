/// What a pin names.
public enum PinKind: String, Sendable, CaseIterable {
    /// One URL, with what it needs.
    case url
    /// The URLs that a pattern matches, with what they need.
    case pattern
    /// Everything of a site, all its visits included.
    case site
}
