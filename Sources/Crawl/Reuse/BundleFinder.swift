package import Bundles
internal import Digest
package import Store
package import Web

/// Finds the stored response of a bundle that matches its digests. It belongs to the thread of its reader.
///
/// Digests in the store are trusted unless `provesBytes` is set: the SHA-256 of a body is its key, and its
/// MD5 is stored once it has been computed. The bytes of imported responses are always hashed, and imported
/// responses are only used if no other response matches. A body that is damaged or missing never matches.
package final class BundleFinder {
    private let reader: StoreReader
    private let provesBytes: Bool
    private var damage: DamageMarks

    private static let maxRedirects = 20

    /// - Parameter provesBytes: Whether bodies are read and hashed even if the store has their digests.
    package init(
        _ reader: StoreReader, _ folder: StoreFolder, provesBytes: Bool = false
    ) throws(StoreError) {
        self.reader = reader
        self.provesBytes = provesBytes
        damage = try DamageMarks(folder)
    }

    /// Returns a stored response of the URL that matches the bundle: the live one or, if that does not match,
    /// the newest of any snapshot. Returns a redirect if its target matches.
    package func response(for url: WebURL, as bundle: Bundle) throws(StoreError) -> StoredResponse? {
        try response(for: url, as: bundle, redirects: 0)
    }

    private func response(
        for url: WebURL, as bundle: Bundle, redirects: Int
    ) throws(StoreError) -> StoredResponse? {
        let shown = try reader.response(for: url.key.href)
        if let shown, !shown.isImported, let fitting = try fitting(shown, url, bundle, redirects) {
            return fitting
        }
        let rows = try reader.versions(of: url.key.href).map(\.response).filter { $0.request == .get }
        let imported = (shown.map { [$0] } ?? []) + rows
        for response in rows.filter({ !$0.isImported }) + imported.filter(\.isImported) {
            if let fitting = try fitting(response, url, bundle, redirects) { return fitting }
        }
        return nil
    }

    /// Returns a stored response of a site that has the required body at another URL of the same origin, such as that of an
    /// earlier release. Its bytes are read and hashed. Nil if there is none, and for a bundle without a SHA-256. The URLs must
    /// have the same file name extension, so that the media type fits.
    ///
    /// - Parameter snapshot: a snapshot of the site.
    package func equalResponse(
        to bundle: Bundle, at url: WebURL, inSiteOfSnapshot snapshot: Int64
    ) throws(StoreError) -> StoredResponse? {
        guard let sha256 = bundle.digests.first(where: { $0.algorithm == .sha256 }) else { return nil }
        let equal = try reader.earlierVersions(
            withBody: sha256.bytes, inSiteOfSnapshot: snapshot, atMost: Self.maxEqualResponses)
        for response in equal where !response.isImported {
            let fields = HTTPFields(block: response.fields.utf8.span)
            // A signature may cover the URL.
            guard let other = WebURL(response.href), other.origin == url.origin,
                Self.fileExtension(of: other) == Self.fileExtension(of: url), !fields.contains("Signature"),
                var body = response.body, try isFitting(&body, bundle, nil, provesBytes: true)
            else { continue }
            return response
        }
        return nil
    }

    private static let maxEqualResponses = 20

    private static func fileExtension(of url: WebURL) -> Substring? {
        let name = url.path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        return name.contains(".") ? name.split(separator: ".").last : nil
    }

    /// Returns the response if it matches, with the MD5 of its body if that was computed; else nil.
    private func fitting(
        _ response: StoredResponse, _ url: WebURL, _ bundle: Bundle, _ redirects: Int
    ) throws(StoreError) -> StoredResponse? {
        if let redirect = Redirect(response.status, HTTPFields(block: response.fields.utf8.span), from: url) {
            guard redirects < Self.maxRedirects, let target = redirect.url else { return nil }
            return try self.response(for: target, as: bundle, redirects: redirects + 1) == nil
                ? nil : response
        }
        guard (200..<300).contains(response.status), var body = response.body else { return nil }
        let stated = response.statedIntegrity
        guard try isFitting(&body, bundle, stated, provesBytes: provesBytes || response.isImported) else {
            return nil
        }
        var response = response
        response.body = body
        return response
    }

    private func isFitting(
        _ body: inout StoredBody, _ bundle: Bundle, _ stated: ResponseIntegrity?, provesBytes: Bool
    ) throws(StoreError) -> Bool {
        guard let sha256 = Digest(.sha256, bytes: body.sha256), try reader.bodies.isStored(body),
            try !isDamaged(body)
        else {
            return false
        }
        let digests = [sha256] + (body.md5.flatMap { Digest(.md5, bytes: $0) }.map { [$0] } ?? [])
        if let finding = bundle.finding(knowing: digests, byteCount: body.byteCount, stated) {
            guard finding.verdict == .verified, provesBytes else { return finding.verdict == .verified }
        }
        guard let content = try reader.content(of: body) else { return false }
        let measured = try content.measurement(for: bundle, stated)
        guard measured.decoded.digest(.sha256) == sha256 else {
            try damage.mark(body)
            return false
        }
        body.md5 = measured.decoded.digest(.md5)?.bytes ?? body.md5
        return bundle.finding(on: measured).verdict == .verified
    }

    /// Whether the body is undamaged: no check has found damage and, if its bytes are to be proved, they
    /// match its digest now. Marks a body whose bytes do not match as damaged.
    ///
    /// - Parameter isAsked: Whether the bytes are read even if the finder does not prove bytes in general.
    package func isSound(_ body: StoredBody, provesBytes isAsked: Bool = false) throws(StoreError) -> Bool {
        guard try !isDamaged(body) else { return false }
        guard provesBytes || isAsked else { return true }
        guard let content = try reader.content(of: body) else { return false }
        if try body.isIntact(content) { return true }
        try damage.mark(body)
        return false
    }

    /// Whether a check found the body damaged, and it has not been repaired since.
    package func isDamaged(_ body: StoredBody) throws(StoreError) -> Bool {
        try damage.isDamaged(body, reader)
    }
}

extension StoredResponse {
    /// The digests and signatures in the header fields, checked as of the time when the response was received: a
    /// signature may have expired since.
    package var statedIntegrity: ResponseIntegrity? {
        WebURL(href).map {
            let fields = HTTPFields(block: fields.utf8.span)
            return ResponseIntegrity(of: SignedMessage(url: $0, status: status, fields: fields), at: fetched)
        }
    }
}

extension Requirements {
    /// The reason why a body may not be stored for a URL; nil if it may. `content` is nil if the response has
    /// no complete body or failed.
    ///
    /// - Parameter stated: the digests and signatures in its header fields; nil if they are not known.
    package func refusal(
        of content: BodyContent?, at url: WebURL, _ stated: ResponseIntegrity? = nil
    ) throws(StoreError) -> String? {
        // The mirror serves http and https URLs as one.
        let twin = WebURL(
            (url.scheme == "http" ? "https" : "http") + url.href.dropFirst(url.scheme.utf8.count))
        guard let bundle = self[url] ?? twin.flatMap({ self[$0] }) else { return nil }
        guard let content else {
            return "a manifest requires a complete body here, and the response has none"
        }
        guard
            case .mismatch(let mismatch) = bundle.finding(on: try content.measurement(for: bundle, stated))
                .verdict
        else { return nil }
        return Failure.digestMismatch(mismatch.description).description
    }
}

extension BodyContent {
    /// Measures the size, the digests that the bundle requires, the SHA-256 that is the body's key in the
    /// store, and the MD5 that manifests use. Runs in constant memory.
    ///
    /// - Parameter stated: the digests and signatures in its header fields; nil if they are not known.
    package func measurement(
        for bundle: Bundle, _ stated: ResponseIntegrity? = nil
    ) throws(StoreError) -> Measurement {
        let meter = BundleMeter(bundle, stated, and: [.sha256, .md5])
        try eachPiece { meter.update($0) }
        return meter.measurement()
    }
}
