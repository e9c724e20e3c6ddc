internal import Synchronization

/// The controls that have been used on pages of a site, by their signatures. A signature has the control's name,
/// its place among its ancestors, and whether it belongs to the frame of all pages, such as a menu, or only to
/// a group of pages. Any thread may use it.
package final class UsedControls: Sendable {
    /// The page on which each control was used, by group and signature.
    private let pages = Mutex<[String: [String: String]]>([:])

    /// The maximum number of signatures for a group, and for the site. Further controls may be used more than once.
    private static let maxSignatures = 1000
    private static let maxGroups = 1000
    /// How the signature of a control begins that all pages of the site have.
    private static let sitePrefix = "site "

    package init() {}

    /// The signatures of controls that a page of this group need not use, because another page has used them. If the
    /// page itself is opened once more, its controls are used once more.
    func signatures(for group: String, besides page: String) -> [String] {
        pages.withLock { all in
            [Self.sitePrefix, group].flatMap { place in
                (all[place] ?? [:]).filter { $0.value != page }.keys.sorted()
            }
        }
    }

    func add(_ used: [String], for group: String, on page: String) {
        pages.withLock { all in
            for signature in used {
                let place = signature.hasPrefix(Self.sitePrefix) ? Self.sitePrefix : group
                guard all.count < Self.maxGroups || all[place] != nil,
                    all[place]?.count ?? 0 < Self.maxSignatures, all[place]?[signature] == nil
                else { continue }
                all[place, default: [:]][signature] = page
            }
        }
    }
}
