internal import Bundles
internal import Codings
internal import Fetch
internal import Store
internal import Web

/// Differences to stored responses in place of whole bodies (RFC 9842).
extension Crawl {
    /// Offers a stored response of the origin, from which the server can send the difference (RFC 9842).
    func offerDictionary(in request: inout FetchRequest) throws(CrawlError) {
        let url = request.url
        let found = try storing { () throws(StoreError) in
            try cacheLookup?.dictionaries.dictionary(for: url, now: Self.httpNow())
        }
        guard let found else { return }
        (request.dictionary, request.dictionaryID) = (found.0, found.id)
    }

    /// Requests a bundle once more as a whole, if the server sent the difference to a stored response and the result
    /// does not have the required digest. Returns whether it did.
    func repeatWithoutDictionary(
        _ result: FetchResult, _ response: FetchedResponse, _ open: OpenRequest
    ) throws(CrawlError) -> Bool {
        let (number, url) = (result.number, frontier.url(result.number))
        let isDifference = response.fields.elements("Content-Encoding").contains {
            DictionaryCoding(rawValue: $0.lowercased()) != nil
        }
        guard isDifference, let bundle = required[url], open.mayOfferDictionary else { return false }
        let stated = ResponseIntegrity(
            of: SignedMessage(url: url, status: response.status, fields: response.fields),
            at: Self.secondsSinceEpoch())
        let measurement = try storing { () throws(StoreError) in
            try response.body.content.measurement(for: bundle, stated)
        }
        guard case .mismatch = bundle.finding(on: measurement).verdict else { return false }
        response.body.discard()
        var repeated = open.withoutConditions
        repeated.mayOfferDictionary = false
        try sendRequest(number, url, HTTPFields().addingOrigin(result.sentFields["Origin"]), repeated)
        return true
    }
}
