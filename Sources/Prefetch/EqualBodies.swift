internal import Bundles
internal import Check
internal import Crawl
internal import Store
internal import System
internal import Updates
internal import Web

/// Stored bodies that a site needs at other URLs. `larder serve --updates` and other servers put the release into the path, so
/// that a new release has all its files at new URLs, and most of them are equal to those of the release before.
struct EqualBodies {
    /// The responses at the new URLs.
    let responses: SuppliedResponses
    /// The number of the responses.
    let count: Int
    /// The folder with copies of the bodies, which the crawl moves into the store.
    let scratch: ScratchFolder

    /// Validators belong to the URL at which they were received. The length and the codings are those of the stored body.
    private static let omittedFields: FieldNames = [
        "etag", "last-modified", "age", "set-cookie", "content-length", "content-encoding",
        "transfer-encoding", "connection", "keep-alive",
    ]

    /// Copies the bodies that `steps` adopts from other URLs of the site; nil if there are none.
    ///
    /// - Parameter site: the name of the site.
    static func copy(
        for verifier: ManifestVerifier, _ steps: PreloadPlan, ofSite site: String, in folder: StoreFolder
    ) throws(LarderError) -> EqualBodies? {
        let adopted = zip(verifier.bundlesWithURLs, steps.steps).filter { $1 == .adopt }.map(\.0)
        guard !adopted.isEmpty else { return nil }
        let scratch: ScratchFolder
        do throws(SystemError) {
            // In the store's file system, so that large bodies can be moved.
            scratch = try ScratchFolder(beside: folder.updates, mode: 0o700)
        } catch {
            throw LarderError(error)
        }
        let reader = try mapStoreError { () throws(StoreError) in try StoreReader(folder) }
        let finder = try mapStoreError { () throws(StoreError) in try BundleFinder(reader, folder) }
        let sites = try mapStoreError { () throws(StoreError) in try reader.sites() }
        guard let live = sites.first(where: { $0.name == site })?.published else { return nil }
        var responses: [String: SuppliedResponses.Response] = [:]
        for (url, bundle) in adopted {
            let equal = try mapStoreError { () throws(StoreError) -> (StoredResponse, BodyContent)? in
                guard try finder.response(for: url, as: bundle) == nil,
                    let response = try finder.equalResponse(to: bundle, at: url, inSiteOfSnapshot: live),
                    let body = response.body, let content = try reader.content(of: body)
                else { return nil }
                return (response, content)
            }
            guard let (response, content) = equal else { continue }
            let path = "\(scratch.path)/\(responses.count)"
            try mapUpdateError { () throws(UpdateError) in try content.copy(to: path) }
            var fields = HTTPFields()
            for field in HTTPFields(block: response.fields.utf8.span).list
            where !omittedFields.contains(field.name) {
                fields.append(field.name, field.value)
            }
            responses[url.key.href] = .init(
                status: response.status, fields: fields, body: .file(path: path), isPage: false)
        }
        guard !responses.isEmpty else { return nil }
        return EqualBodies(
            responses: SuppliedResponses(responses, isComplete: false), count: responses.count,
            scratch: scratch)
    }
}
