internal import Bundles
package import Crawl
internal import Digest
package import Store
package import Web

/// A manifest as it is stored with a snapshot: a response whose body is the manifest, with header fields of Larder's own
/// (`Larder-Base`, `Larder-Format`, `Larder-Reach`) for the options that it was read with, and (`Larder-Signer`,
/// `Larder-Signature`) for the key that signed it.
package struct StoredManifest: Sendable, Equatable {
    /// The path or URL of the manifest, after following a manifest that only names another one.
    package var place: String
    var declaredBase: String?
    /// The options that the manifest was read with; nil if they were not recorded.
    package var reading: Reading?
    /// The network zone that the manifest came from.
    package var zone: NetworkZone
    package var bytes: [UInt8]
    /// The trusted key that signed it; nil if no signature was required.
    package var signer: ManifestSigner?

    /// The user's options for reading a manifest. They are stored with it because the user may change them
    /// before the next run, and the stored manifest must still be read as it was.
    package struct Reading: Sendable, Equatable {
        package var base: String?
        package var format: String?
    }

    private static let baseField = "Larder-Base"
    private static let formatField = "Larder-Format"
    /// Contains the network zone. The name is that of version 0.1, since stored manifests have it.
    private static let zoneField = "Larder-Reach"
    private static let signerField = "Larder-Signer"
    /// Contains the text of the signature in base64, because a field has no line breaks.
    private static let signatureField = "Larder-Signature"

    package init(_ source: ManifestSource) {
        place = source.name
        declaredBase = source.declaredBase
        reading = source.reading
        zone = source.zone
        bytes = source.bytes
        signer = source.signer
    }

    /// Reads a manifest from the response that contains it; nil if that has no body or no location.
    package init?(_ response: StoredResponse, _ reader: StoreReader) throws(StoreError) {
        let fields = HTTPFields(block: response.fields.utf8.span)
        guard let place = fields["Content-Location"], let body = response.body,
            let bytes = try reader.content(of: body)?.load()
        else { return nil }
        self.place = place
        self.bytes = bytes
        declaredBase = fields["Content-Base"]
        let isFetched = WebURL(place)?.isHTTP ?? false
        zone =
            fields[Self.zoneField].flatMap { Int($0) }.flatMap(NetworkZone.init)
            ?? (isFetched ? .publicNetwork : .thisMachine)
        if let key = fields[Self.signerField] {
            let signature = fields[Self.signatureField].flatMap { Base64.decode($0) } ?? []
            signer = ManifestSigner(key: key, signature: String(decoding: signature, as: UTF8.self))
        }
        guard let base = fields[Self.baseField] else { return }
        reading = Reading(base: base.isEmpty ? nil : base, format: fields[Self.formatField])
    }

    /// The header fields of the stored response.
    package var fields: HTTPFields {
        var fields: HTTPFields = ["Content-Location": place]
        if let declaredBase { fields.append("Content-Base", declaredBase) }
        fields.append(Self.zoneField, String(zone.rawValue))
        if let reading {
            fields.append(Self.baseField, reading.base ?? "")
            if let format = reading.format { fields.append(Self.formatField, format) }
        }
        if let signer {
            fields.append(Self.signerField, signer.key)
            fields.append(Self.signatureField, Base64.encode(Array(signer.signature.utf8)))
        }
        return fields
    }
}

extension StoredManifest {
    /// Returns the manifest that the site's live snapshot was checked against; nil if there is none.
    package static func current(of site: String, _ reader: StoreReader) throws(StoreError) -> StoredManifest?
    {
        try reader.response(for: site, request: .manifest).flatMap { (row) throws(StoreError) in
            try StoredManifest(row, reader)
        }
    }
}

extension StoredManifest {
    /// Returns the manifest of the live snapshot of a site whose manifest is at this place; nil if no site has such a manifest.
    /// A site with the same base is preferred.
    static func current(
        at place: ManifestPlan, in folder: StoreFolder
    ) throws(LarderError) -> StoredManifest? {
        guard folder.exists else { return nil }
        do throws(StoreError) {
            let reader = try StoreReader(folder)
            var other: StoredManifest?
            for site in try reader.sites() {
                guard let plan = SitePlan(text: site.settings).manifest, plan.hasSamePlace(as: place),
                    let manifest = try current(of: site.name, reader)
                else { continue }
                if plan.hasSameLocation(as: place) { return manifest }
                other = other ?? manifest
            }
            return other
        } catch  where error.reason == .missing {
            return nil
        } catch {
            throw LarderError(error)
        }
    }

    /// Verifies again that a trusted key signed the manifest.
    ///
    /// - Throws: `LarderError` of kind `.refused` if none did: keys may be trusted now that were not when it was stored.
    func requireSignature(_ trust: ManifestTrust) throws(LarderError) {
        guard trust.requiresSignature else { return }
        if let signer, signer.key.hasPrefix(CodeSigningCertificate.signerPrefix) {
            try requireCodeSigning(by: signer, trust)
            return
        }
        let found: ManifestTrust.FoundSignature
        if let signer {
            let inside =
                (try? Manifest(bytes, file: place, format: reading?.format.flatMap(ManifestFormat.init)))?
                .signature
            found = .text(signer.signature, of: inside?.signedBytes(of: bytes) ?? bytes)
        } else {
            found = .missing("it was stored when no signature was required")
        }
        do throws(ManifestRefusal) {
            _ = try trust.verify(found, as: ManifestLocation(place).fileName, namedKey: nil)
        } catch {
            throw LarderError(error, of: place, trust)
        }
    }

    /// Verifies again that a trusted certificate signed the update of Expo. The certificate may have expired since.
    private func requireCodeSigning(by signer: ManifestSigner, _ trust: ManifestTrust) throws(LarderError) {
        do throws(ManifestRefusal) {
            guard let response = try? ExpoResponse(bytes, file: place, signature: signer.signature) else {
                throw .damaged("the stored response cannot be read")
            }
            guard !trust.certificates.isEmpty else { throw .otherKey(signer.key) }
            _ = try trust.verify(response, at: nil)
        } catch {
            throw LarderError(error, of: place, trust)
        }
    }
}

extension StoredManifest {
    /// Reads the manifest with the options of that time, and returns it with its bundles.
    ///
    /// - Parameter plan: the manifest in the settings of the site.
    /// - Throws: `StoreError` if the manifest can no longer be read.
    package func read(
        by plan: ManifestPlan
    ) throws(StoreError) -> (source: ManifestSource, targets: [CheckTarget]) {
        do throws(LarderError) {
            let source = try ManifestSource(self, of: plan)
            return (source, try CheckTarget.all(of: source))
        } catch {
            throw StoreError(
                .unusable, doing: "read the stored manifest", path: place, detail: error.description,
                advice: "prefetch it again, or remove its site")
        }
    }
}
