internal import Bundles
internal import Fetch
internal import Markup
internal import Store
internal import System
internal import Web

/// Finds pages that ask for chunks of another release than the manifest's: the site's start pages, and pages that the
/// manifest lists.
struct PageSkews {
    private let pages: [[WebURL]]
    /// For each base.
    private let names: [ReleaseNames]
    private let columns: [CheckColumn]

    /// Pages that are larger are not looked into.
    private static let mostBytes = 16 * 1024 * 1024
    private static let mostPages = 100

    init(_ source: ManifestSource, _ targets: [CheckTarget], _ columns: [CheckColumn]) {
        self.columns = columns
        // A manifest without hashed names says nothing of releases, and costs no request.
        let isHashed = targets.contains { HashedName($0.bundle.reference) != nil }
        names = source.bases.indices.map { base in ReleaseNames(isHashed ? targets.map { $0.urls[base] } : []) }
        pages = source.bases.indices.map { base in
            guard isHashed else { return [] }
            let start = source.manifest.start.compactMap { WebURL($0, base: source.bases[base].url)?.withoutFragment }
            let listed = targets.map { $0.urls[base] }.filter { $0.path.hasSuffix("/") || $0.path.hasSuffix(".html") }
            var seen: Set<WebURL> = []
            return (start + listed).filter { $0.isHTTP && seen.insert($0).inserted }
        }
    }

    /// An item for each page that is of another release at some place.
    ///
    /// - Parameter isVerified: whether the page at this place is, by its own digest, the manifest's: then it is of its release, and
    ///   is not looked into.
    func items(
        _ interruption: Interruption, isVerified: (_ place: Int, _ page: WebURL) -> Bool
    ) throws(LarderError) -> [CheckReport.Item] {
        var items: [CheckReport.Item] = []
        for number in (pages.first ?? []).indices.prefix(Self.mostPages) {
            var findings: [CheckReport.Finding] = []
            for (place, column) in columns.enumerated() {
                let page = pages[column.base][number]
                let skew =
                    try isVerified(place, page)
                    ? nil : body(of: page, column, interruption).flatMap { skews(of: page, $0, column).first }
                findings.append(
                    CheckReport.Finding(
                        url: column.name(of: page), verdict: skew == nil ? .verified : .skew,
                        detail: skew?.description))
            }
            guard findings.contains(where: { $0.verdict == .skew }) else { continue }
            items.append(
                CheckReport.Item(
                    name: pages[0][number].href, line: nil, isRequired: true, chain: [], findings: findings))
        }
        return items
    }

    /// Nil for what cannot be had, which says nothing about releases.
    private func body(
        of page: WebURL, _ column: CheckColumn, _ interruption: Interruption
    ) throws(LarderError) -> [UInt8]? {
        guard let local = column.local else {
            do throws(LarderError) {
                return try OneFetch.load(page, limit: Self.mostBytes, interruption: interruption)
            } catch {
                if error.kind == .interrupted { throw error }
                return nil
            }
        }
        return try? local.content(of: page, column)?.beginning(Self.mostBytes)
    }

    private func skews(of page: WebURL, _ body: [UInt8], _ column: CheckColumn) -> [Skew] {
        var references: [(occurrence: LinkOccurrence, text: [UInt8])] = []
        let table = LinkScanner().scan(body.span, as: .html, charset: nil) { occurrence, reference in
            guard occurrence.role == .requisite else { return }
            references.append((occurrence, reference.withUnsafeBufferPointer { Array($0) }))
        }
        let base = table.base.flatMap { WebURL($0, base: page) } ?? page
        let asked = references.compactMap { occurrence, text in
            WebURL(utf8: text.span, base: occurrence.flags.contains(.ignoresBase) ? page : base)
        }
        return names[column.base].skews(onPage: page, references: asked)
    }
}
