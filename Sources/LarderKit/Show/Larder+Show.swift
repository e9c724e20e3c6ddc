internal import Digest
internal import Serve
internal import Store
internal import Web

extension Larder {
    /// Everything that is known of an URL: what is held under it from every visit, what it links to and what links to it.
    ///
    /// The MD5 of a body is computed when this first asks for it, and kept.
    ///
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL, `.machine` when there is no larder, or it
    ///   cannot be read. That an URL is not held is no error; the report says what is there instead.
    public func show(_ url: String) async throws(LarderError) -> HoldingReport {
        let asked = try Self.startURL(url)
        let folder = folder
        return try await Self.onThread("larder-show") { () throws(LarderError) in
            do throws(StoreError) {
                let reader = try StoreReader(folder)
                var md5s = KnownMD5s(reader)
                var rows: [HoldingReport.Row] = []
                for row in try reader.rows(of: asked.href) {
                    rows.append(try HoldingReport.Row(row, in: reader, &md5s))
                }
                try md5s.keep(in: folder)
                return HoldingReport(
                    url: asked.href, rows: rows, linkedFrom: try reader.referrers(of: asked.href),
                    shownAt: rows.isEmpty ? nil : MirrorServer.address(of: asked.href, at: Self.usualPort),
                    absence: rows.isEmpty ? try Absence(of: asked, in: reader) : nil)
            } catch {
                throw LarderError(error)
            }
        }
    }
}

extension Larder {
    private static let usualPort: UInt16 = 8080
}

extension HoldingReport.Row {
    fileprivate init(_ row: HeldRow, in reader: StoreReader, _ md5s: inout KnownMD5s) throws(StoreError) {
        let response = row.response
        site = row.site
        visit = response.visit
        isShown = row.isShown
        status = response.status
        isRequisite = response.role != 0
        type = response.type
        request = response.request == .get ? nil : response.request.text
        variant = response.variant.isEmpty ? nil : response.variant
        requested = response.requested
        fetched = response.fetched
        referrer = row.referrer
        headers = HTTPFields(block: response.fields.utf8.span).list.map {
            HoldingReport.Header(name: $0.name, value: $0.value)
        }
        isInvalidated = response.flags.contains(.isInvalidated)
        isPart = response.flags.contains(.isPart)
        isPrivate = response.flags.contains(.isPrivate)
        body = try response.body.map { (body) throws(StoreError) in
            try HoldingReport.Body(body, in: reader, &md5s)
        }
        links = try reader.storedLinks(of: response).map {
            HoldingReport.Links(pages: $0.pages, requisites: $0.requisites, guesses: $0.guesses)
        }
    }
}

extension HoldingReport.Body {
    fileprivate init(_ body: StoredBody, in reader: StoreReader, _ md5s: inout KnownMD5s) throws(StoreError) {
        byteCount = body.byteCount
        sha256 = Digest(.sha256, bytes: body.sha256)?.hex ?? ""
        form = body.form
        title = body.title
        let content = try reader.content(of: body)
        place = content == nil ? nil : try reader.placeName(of: body)
        guard content != nil else {
            md5 = nil
            fault = "its bytes are gone or cut short"
            return
        }
        do throws(StoreError) {
            md5 = try md5s.md5(of: body)?.hex
            fault = nil
        } catch {
            // The rest is still worth to be seen.
            md5 = nil
            fault = error.detail
        }
    }
}
