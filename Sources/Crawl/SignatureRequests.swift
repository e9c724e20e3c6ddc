internal import Bundles
internal import Markup
internal import Store
internal import Web

/// The assets that a server should sign: browsers send `Accept-Signature` with the keys that a page demands in an
/// `integrity` attribute, and a server may sign only then.
struct SignatureRequests {
    /// An asset and the value of `Accept-Signature`.
    struct Entry: Sendable, Equatable {
        let href: String
        let value: String
    }

    /// The maximum number of assets of one page, and of all pages. Further ones are requested without the field.
    private static let maxEntriesOfPage = 256
    private static let maxEntries = 10_000

    private var values: [String: String] = [:]

    mutating func add(_ entries: [Entry]) {
        for entry in entries where values.count < Self.maxEntries { values[entry.href] = entry.value }
    }

    /// Requests the same signatures from the target of a redirect.
    mutating func add(from url: WebURL, to target: WebURL) {
        guard !values.isEmpty, let value = values[url.key.href] else { return }
        add([Entry(href: target.key.href, value: value)])
    }

    /// The value for a request.
    ///
    /// - Parameter stored: the stored response that the request validates or replaces. The server is asked again for
    ///   the signatures that it has: the page itself may be unchanged, so that it is not scanned.
    func value(for url: WebURL, _ stored: StoredResponse?) -> String? {
        if let value = values.isEmpty ? nil : values[url.key.href] { return value }
        guard let stored else { return nil }
        let fields = HTTPFields(block: stored.fields.utf8.span)
        guard fields.contains("Signature") else { return nil }
        let words = stored.statedIntegrity?.signers.map(\.integrityText) ?? []
        return Integrity(words.joined(separator: " ")).acceptSignature
    }

    /// The assets of a page that must be signed.
    static func entries(ofPage body: [UInt8], _ table: LinkTable, at url: WebURL) -> [Entry] {
        let marks = table.marks.filter { $0.kind == .integrity }.prefix(maxEntriesOfPage)
        guard !marks.isEmpty else { return [] }
        let source = table.source(of: body.span) ?? body
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        return marks.compactMap { mark in
            let value = IntegrityScanner.value(of: mark, in: source.span)
            let reference = table.reference(table.occurrences[mark.occurrence], in: source.span)
            guard let wanted = Integrity(String(decoding: value, as: UTF8.self)).acceptSignature,
                let target = WebURL(utf8: reference.span, base: base, queryEncoding: table.encoding)
            else { return nil }
            return Entry(href: target.key.href, value: wanted)
        }
    }
}
