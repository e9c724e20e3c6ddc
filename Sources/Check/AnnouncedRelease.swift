internal import Bundles
package import Web

/// The release that an update server (`larder serve --updates`) announced last, and that is stored.
///
/// Requests name it by its entity tag. Otherwise the server would announce the release before one that was halted, although
/// devices keep a halted release.
package struct AnnouncedRelease: Sendable, Equatable {
    /// The URL of its manifest.
    let url: WebURL
    /// The entity tag of its manifest.
    let tag: String

    /// Reads the release of a stored manifest. Returns nil if its server is not an update server, or the manifest must be
    /// loaded again: it expires, or no trusted key has signed it.
    ///
    /// - Parameters:
    ///   - stored: the manifest of the live snapshot.
    ///   - url: the URL of the manifest.
    ///   - fields: the header fields of the response with the manifest.
    package init?(_ stored: StoredManifest, at url: WebURL, _ fields: HTTPFields, _ trust: ManifestTrust) {
        guard fields["Larder-Update"] != nil, let tag = fields["ETag"],
            !trust.requiresSignature || stored.signer.map({ trust.signers.contains($0.key) }) ?? false,
            let manifest = try? Manifest(stored.bytes, file: stored.place), manifest.expires == nil
        else { return nil }
        (self.url, self.tag) = (url.key, tag)
    }
}

extension LarderError {
    /// The error for a server that has no other release than the stored one for this device.
    static func upToDate(_ manifest: String) -> LarderError {
        var error = LarderError(.input, "the manifest \(manifest) has not changed: its release is stored")
        error.isUpToDate = true
        return error
    }
}
