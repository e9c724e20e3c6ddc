/// How something that is whole in itself does not belong to the release that it stands with.
///
/// There are three kinds, and each is something that was seen, not a guess from dates:
/// - *name*: a page asks for a hashed name, the manifest has that name under other hashes only, and the page asks for
///   none of those: the page is of one release, the manifest (and the chunks) of another; see `ReleaseNames`;
/// - *release*: what stands under a URL is not what the manifest says, and is what another release's manifest says; see
///   `KnownReleases`;
/// - *generation*: one URL was answered twice within one check and changed in between, as it does while servers are brought
///   up to date one by one.
package enum Skew: Sendable, Equatable, CustomStringConvertible {
    /// `known` are the manifest's names of that family, in order.
    case name(asked: String, page: String, known: [String])
    /// `release` is how the other release is called, `expected` how the one is that was to be there.
    case release(expected: String, found: String)
    /// `by` names what differs: `MD5`, `status`.
    case generation(by: String, first: String, second: String)

    package var description: String {
        switch self {
        case .name(let asked, let page, let known):
            "\(page) asks for \(asked), and the manifest has \(known.joined(separator: ", ")): "
                + "they are of different releases"
        case .release(let expected, let found): "it is what \(found) has there, not \(expected)"
        case .generation(let by, let first, let second):
            "it changed between two answers: \(by) was \(first), then \(second)"
        }
    }
}
