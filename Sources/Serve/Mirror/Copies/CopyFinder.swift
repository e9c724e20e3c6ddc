internal import Store
internal import Web

/// What answers a request.
struct FoundCopy {
    let response: StoredResponse
    var fields: HTTPFields
    /// Under which it is held.
    let url: WebURL
    /// In what that differs from what was asked for.
    var change: LookupCandidate.Change = []
    /// There are others for requests with other fields.
    let isVariant: Bool

    var sharing: Sharing { Sharing(url, fields, response.flags, isPage: response.role == 0) }
}

/// Finds what answers a request: what is held under the very address, else under one that may stand in for it.
struct CopyFinder {
    let reader: StoreReader
    let fields: AnswerFields

    /// - Parameters:
    ///   - addresses: the original URLs that the request may mean, the likelier first.
    ///   - rules: nil leaves out what is held under other addresses.
    func find(
        _ addresses: [String], request: RequestKey, requestFields: HTTPFields, rules: SiteRules?
    ) throws(StoreError) -> FoundCopy? {
        let urls = addresses.compactMap { WebURL($0) }
        for url in urls {
            guard let response = try reader.response(for: url.href, request: request, fields: requestFields) else {
                continue
            }
            let found = try copy(response, url)
            // What it leads to is held under the other scheme, or not at all.
            if !leadsBack(found, to: url) { return found }
        }
        guard let rules else { return nil }
        for url in urls {
            let found = try reader.find(url, request: request, fields: requestFields, rules: rules.rules(for: url))
            guard let found, !found.change.isEmpty, let held = WebURL(found.response.href) else { continue }
            var copy = try copy(found.response, held)
            copy.change = found.change
            // Two slashed forms that lead to each other would do so for ever.
            let isCircle = copy.change.contains(.slash) && copy.response.isRedirect
            if !isCircle, !leadsBack(copy, to: url) { return copy }
        }
        return nil
    }

    private func copy(_ response: StoredResponse, _ url: WebURL) throws(StoreError) -> FoundCopy {
        FoundCopy(
            response: response, fields: HTTPFields(block: response.fields.utf8.span), url: url,
            isVariant: try reader.hasVariants(response))
    }

    private func leadsBack(_ copy: FoundCopy, to url: WebURL) -> Bool {
        copy.response.isRedirect && fields.isLed(copy.fields, from: copy.url, to: url)
    }
}
