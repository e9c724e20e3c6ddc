internal import Bundles
internal import Glibc
internal import Markup
internal import Store
internal import Web

/// The body of a response of an archive as it will be stored, with its links.
struct ImportScan: Sendable {
    var body: NewResponse.Body
    var links: NewLinks?
    var isPage: Bool
    /// The reason for refusing the response; nil if it is accepted.
    var refusal: String?
}

/// A response of an archive with the result of its scan.
struct ScannedResponse: Sendable {
    let response: ArchivedResponse
    let url: WebURL
    let result: Result<ImportScan, StoreError>

    /// Deletes the body file, because the response will not be stored.
    func discard() {
        if case .success(let scan) = result, case .new(let new) = scan.body,
            case .file(let path) = new.content
        {
            unlink(path)
        } else {
            response.body?.discard()
        }
    }
}

/// Scans the responses of archives. Several threads use it at once, each with a `LinkScanner` of its own.
struct ImportScanner: Sendable {
    let folder: StoreFolder
    /// Returns the reason for refusing a response; see `ImportPlan.refusal`.
    let refusal: (@Sendable (WebURL, BodyContent?, ResponseIntegrity) throws(StoreError) -> String?)?

    /// Asks whether to refuse the response, and scans its body for links.
    ///
    /// - Parameter scanner: the scanner of the calling thread.
    func scan(
        _ response: ArchivedResponse, _ url: WebURL, _ scanner: LinkScanner
    ) throws(StoreError) -> ImportScan {
        if response.request == .get,
            let refusal = try refusal?(url, Self.wholeBody(of: response), response.statedIntegrity(at: url))
        {
            response.body?.discard()
            return ImportScan(body: .none, isPage: false, refusal: refusal)
        }
        let hasBody = response.body.map { $0.byteCount > 0 } ?? false
        let isWrittenByLarder = response.notes != nil
        if !(200..<300).contains(response.status), !isWrittenByLarder || !hasBody {
            response.body?.discard()
            // Redirects, 404 and 410 can be pages, as in a crawl. Other error responses cannot.
            let canBePage = [301, 302, 303, 307, 308, 404, 410].contains(response.status)
            return ImportScan(body: .none, links: nil, isPage: canBePage && response.isPage)
        }
        guard let body = response.body, let content = body.content else {
            return ImportScan(body: .none, links: nil, isPage: false)
        }
        return try scanBody(response, url, body, content, scanner)
    }

    /// Returns the body if it is the whole body of a successful response, and not stored in a content coding.
    private static func wholeBody(of response: ArchivedResponse) -> BodyContent? {
        let isWhole = (200..<300).contains(response.status) && response.status != 206
        let isCoded = response.notes?.flags.contains(.isCoded) ?? false
        return isWhole && !isCoded ? response.body?.content : nil
    }

    /// Scans a body for links and prepares it for the store. A body that cannot have links, or is too large for
    /// the scanner, is stored without being scanned.
    private func scanBody(
        _ response: ArchivedResponse, _ url: WebURL, _ body: ArchivedBody, _ content: BodyContent,
        _ scanner: LinkScanner
    ) throws(StoreError) -> ImportScan {
        let type = response.fields.contentType
        let isCoded = response.notes?.flags.contains(.isCoded) ?? false
        // The same condition as in a crawl, so that equal bodies always get the same form.
        let isSmall = body.byteCount <= Limits.maxPackedBodyBytes
        let canScan =
            !isCoded && (isSmall || body.byteCount <= BodyReading.maxBytes && !BodyFormat.isOpaque(type))
        let measured = (body.sha256, body.byteCount)
        guard canScan else {
            let new = try NewBody(
                content, form: BodyFormat.opaque.name, links: LinkTable().encoded(), measured: measured,
                in: folder)
            // The body is known to have no links, unless it is stored in a content coding and could not be
            // read.
            return ImportScan(
                body: .new(new), links: isCoded ? nil : NewLinks(from: .init(href: url.href)),
                isPage: response.notes?.role == 0)
        }
        var links = ImportedLinks()
        let bytes = try content.load()
        let reading = scanner.read(bytes.span, of: url, as: type) { links.add($0, $1) }
        let new = try NewBody(
            content, form: reading.form, title: reading.table.title, links: reading.table.encoded(),
            measured: measured, in: folder)
        let isPage =
            response.notes.map { $0.role == 0 } ?? reading.format.isHTML
        return ImportScan(body: .new(new), links: links.resolve(at: url, reading.table), isPage: isPage)
    }
}

extension ArchivedResponse {
    /// Whether the response is a page: as recorded by Larder, else by its media type.
    var isPage: Bool {
        if let notes = notes { return notes.role == 0 && status == 200 }
        let type = fields.contentType?.essence
        return status == 200 && (type == "text/html" || type == "application/xhtml+xml")
    }
}
