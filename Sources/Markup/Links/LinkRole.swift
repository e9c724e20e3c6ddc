/// What a crawl does with a link.
package enum LinkRole: UInt8, Sendable {
    /// Something a person navigates to: followed as far as the scope says.
    case page
    /// What a page needs to look and work as it did: followed always.
    case requisite
    /// A name, a base, a beacon: rewritten or left as it stands, never fetched.
    case other
}
