internal import Bundles
internal import Crawl
internal import Markup
internal import Store
internal import System
internal import Web

/// Finds the assets of a stored site that browsers refuse, because they do not satisfy the `integrity` attribute of a
/// page: the body has another digest, or no demanded key has signed it. The live site has the same fault, so that
/// nothing is missing; the report mentions it in its notes.
struct IntegrityDemands {
    /// An attribute with the URL of its asset. Most pages of a site have the same ones.
    private struct Demand: Hashable {
        let url: WebURL
        let text: String
    }

    private let reader: StoreReader
    private var check: StoredBundleCheck
    private let scanner = LinkScanner()
    private var known: Set<Demand> = []
    private var refused: [String] = []

    /// The maximum number of assets that are named. Further ones are counted.
    private static let maxNamed = 20
    /// The maximum number of different attributes that are examined.
    private static let maxDemands = 10_000
    /// The claims that browsers check. Those of other fields are only known to other clients.
    private static let sources = ["integrity", "Signature", "Unencoded-Digest"]

    private init(_ reader: StoreReader) {
        self.reader = reader
        check = StoredBundleCheck(reader, provesBytes: false)
    }

    /// The notes about a walk that has ended.
    static func notes(
        of walk: OfflineWalk, _ reader: StoreReader, _ interruption: Interruption
    ) throws(StoreError) -> [String] {
        var demands = IntegrityDemands(reader)
        var seen: Set<Int> = []
        for node in walk.nodes {
            guard !interruption.isRequested else { break }
            guard case .stored(let place) = node.state, case let body = walk.bodies[place],
                BodyFormat(form: body.form)?.isDocument == true, let url = WebURL(node.href),
                seen.insert(place).inserted
            else { continue }
            try demands.addPage(url, body)
        }
        let named = demands.refused.prefix(maxNamed)
        let rest = demands.refused.count - named.count
        return named + (rest > 0 ? ["browsers refuse \(rest) more assets"] : [])
    }

    private mutating func addPage(_ page: WebURL, _ body: StoredBody) throws(StoreError) {
        let (reader, encoded) = (reader, try reader.links(of: body))
        let table = try scanner.table(stored: encoded, form: body.form) { () throws(StoreError) in
            try reader.content(of: body)?.load()
        }
        guard let table, case let marks = table.marks.filter({ $0.kind == .integrity }), !marks.isEmpty,
            let bytes = try reader.content(of: body)?.load()
        else { return }
        let source = table.source(of: bytes.span) ?? bytes
        let base = table.base.flatMap { WebURL($0, base: page) } ?? page
        for mark in marks where known.count < Self.maxDemands {
            let text = String(decoding: IntegrityScanner.value(of: mark, in: source.span), as: UTF8.self)
            let reference = table.reference(table.occurrences[mark.occurrence], in: source.span)
            guard let url = WebURL(utf8: reference.span, base: base, queryEncoding: table.encoding)?.key,
                known.insert(Demand(url: url, text: text)).inserted
            else { continue }
            try examine(url, text, on: page)
        }
    }

    private mutating func examine(_ url: WebURL, _ text: String, on page: WebURL) throws(StoreError) {
        let bundle = Bundle(reference: url.href, claims: [Claim(Integrity(text))])
        guard case .mismatch(let mismatch) = try check.examination(of: bundle, at: url).finding.verdict,
            let failure = mismatch.failures.first(where: { Self.sources.contains($0.source) })
        else { return }
        refused.append(
            "browsers refuse \(url.href) on \(page.href): expected \(failure.expected), found \(failure.found)"
        )
    }
}
