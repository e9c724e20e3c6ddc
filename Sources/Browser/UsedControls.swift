internal import Synchronization

/// The controls that have been used on pages of a site, by their signatures. A signature has the control's name,
/// its place among its ancestors, and whether it belongs to the frame of all pages, such as a menu, or only to
/// a group of pages. Any thread may use it.
package final class UsedControls: Sendable {
    private let signatures = Mutex<[String: Set<String>]>([:])

    /// The maximum number of signatures for a group, and for the site.
    private static let limit = 1000
    private static let groupLimit = 1000
    /// How the signature of a control begins that all pages of the site have.
    private static let sitePrefix = "site "

    package init() {}

    /// The signatures of controls that pages of this group need not use any more.
    func signatures(for group: String) -> [String] {
        signatures.withLock { all in (all[Self.sitePrefix] ?? []).sorted() + (all[group] ?? []).sorted() }
    }

    func add(_ used: [String], for group: String) {
        signatures.withLock { all in
            for signature in used {
                let place = signature.hasPrefix(Self.sitePrefix) ? Self.sitePrefix : group
                guard all.count < Self.groupLimit || all[place] != nil,
                    all[place]?.count ?? 0 < Self.limit
                else { continue }
                all[place, default: []].insert(signature)
            }
        }
    }
}
