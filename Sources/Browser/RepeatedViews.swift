internal import Web

/// Recognises views of one document that need nothing new from the server, so that only some of the many views of such a
/// document are shown.
///
/// Views whose fragments look alike (``kind(of:)``) are of one kind. After ``maxRepeats`` views of a kind in a row that only
/// repeated requests and links of earlier views, only each ``sampleDistance``th one is shown. If one of those needs something
/// new, the views that were passed over are shown after all.
struct RepeatedViews: Sendable {
    private struct Kind {
        /// The number of views in a row that needed nothing new.
        var repeatCount = 0
        /// The views that were passed over since.
        var skipped: [String] = []
        /// The number of views that were passed over since the last shown one.
        var skippedInRow = 0
    }

    private var kinds: [String: Kind] = [:]

    /// The number of views in a row without anything new from which views are passed over.
    static let maxRepeats = 16
    /// The distance of the views that are shown from then on.
    static let sampleDistance = 8

    /// The number of views that were passed over.
    var skippedCount: Int { kinds.values.reduce(0) { $0 + $1.skipped.count } }

    /// Decides whether a view is passed over, and notes that.
    mutating func skips(_ fragment: String) -> Bool {
        let name = Self.kind(of: fragment)
        guard var kind = kinds[name], kind.repeatCount >= Self.maxRepeats,
            kind.skippedInRow < Self.sampleDistance - 1
        else { return false }
        kind.skipped.append(fragment)
        kind.skippedInRow += 1
        kinds[name] = kind
        return true
    }

    /// Notes a view that was shown. Returns the views that must be shown after all.
    mutating func didShow(_ fragment: String, hasNews: Bool) -> [String] {
        let name = Self.kind(of: fragment)
        var kind = kinds[name] ?? Kind()
        kind.skippedInRow = 0
        kind.repeatCount = hasNews ? 0 : kind.repeatCount + 1
        let due = hasNews ? kind.skipped : []
        if hasNews { kind.skipped = [] }
        kinds[name] = kind
        return due
    }

    /// The first part of a fragment's path and the number of its parts: `#/item 2` for `#/item/17?tab=1`.
    static func kind(of fragment: String) -> String {
        let parts =
            viewName(of: fragment).split(separator: "?", maxSplits: 1)
            .first.map { $0.split(separator: "/") } ?? []
        return parts.prefix(2).joined(separator: "/") + " \(parts.count)"
    }

    /// The fragment without the name of a place in the view: `#/api` for `#/api#methods`.
    static func viewName(of fragment: String) -> Substring {
        fragment.dropFirst().firstIndex(of: "#").map { fragment[..<$0] } ?? fragment[...]
    }

    /// The identity of the view that a fragment names: the fragment without the name of a place, the address of the page to
    /// return to, session IDs and campaign parameters. It is `#/settings` for `#/settings?returnTo=%2Fitem%2F17`.
    static func identity(of fragment: String) -> String {
        let view = viewName(of: fragment)
        guard view.utf8.contains(UInt8(ascii: "?")) else { return String(view) }
        // A router reads the fragment like the path and query of a URL.
        let path = view.firstIndex(of: "/") ?? view.endIndex
        let route = WebURL("http://route.invalid\(view[path...])").flatMap(SessionParameters.removing)
        return view[..<path] + (route?.target ?? String(view[path...]))
    }

    /// The identity of a link's target: the view if it is one of this document, else only the other document, whose views are
    /// shown when that is rendered.
    ///
    /// - Parameter document: the URL of this document without its fragment.
    static func identity(ofLink link: String, in document: Substring) -> String {
        let place = link.firstIndex(of: "#") ?? link.endIndex
        let target = link[..<place]
        if target == document { return identity(of: String(link[place...])) }
        guard target.utf8.contains(UInt8(ascii: "?")) else { return String(target) }
        return WebURL(String(target)).flatMap(SessionParameters.removing)?.href ?? String(target)
    }
}
