package import Bundles
internal import Digest
package import Reports
package import Store
package import System
public import Web

/// A manifest that was generated, with its size.
public struct ManifestReport: Sendable, Equatable {
    /// The manifest, with a line feed at its end.
    public let text: String
    /// Cordova's `chcp.json`, which belongs beside the manifest; nil for other formats, and without a version and a base.
    public let configuration: String?
    /// The format of the manifest.
    public let format: ManifestOptions.Format
    /// The number of bundles.
    public let bundles: Int
    /// The total size of the bundles.
    public let byteCount: Int64
    /// Files or URLs that could not be included.
    public let skipped: [Skipped]
    /// The key that signed the manifest; nil if it is not signed.
    public private(set) var signer: ManifestPublicKey?
    /// The contents of the file with the signature; nil unless the manifest has a detached one.
    public private(set) var signature: String?
    /// The contents of the file with the signature of `configuration`; nil if that is nil or not signed.
    public private(set) var configurationSignature: String?

    /// The name of the file for `configuration`.
    public static let configurationName = "chcp.json"
    /// The end of the name of a file with a signature.
    package static let signatureSuffix = MinisignSignature.fileSuffix

    /// The place of a manifest's signature.
    public enum SignatureForm: String, Sendable, CaseIterable {
        /// In a file of its own, whose name ends in `.minisig`.
        case detached
        /// In the manifest.
        case inside
    }

    /// A file or URL that could not be included.
    public struct Skipped: Sendable, Equatable {
        /// The path of the file, or the URL.
        public let name: String
        /// Why it could not be included.
        public let reason: String

        package init(name: String, reason: String) {
            self.name = name
            self.reason = reason
        }
    }
}

/// Options for writing a manifest.
public struct ManifestOptions: Sendable {
    /// A format that can be written.
    public enum Format: String, Sendable, CaseIterable {
        /// Larder's own format, with MD5, SHA-256 and sizes.
        case larder
        /// An integrity manifest of WAICT, with SHA-256.
        case waict
        /// `chcp.manifest` of Cordova hot code push, with MD5.
        case cordova
    }

    public var format = Format.larder
    /// The version of the release; not for WAICT, whose manifests have none.
    public var version: String?
    /// When the manifest is created; nil to leave that out. A manifest that was created before the one
    /// that was accepted last is refused. Only for Larder's own format.
    public var created: Timestamp?
    /// When the manifest expires; nil if it does not. An expired one is not accepted. Only for Larder's
    /// own format.
    public var expires: Timestamp?
    /// The URL of the files.
    public var base: String?
    /// The file that the manifest will be written to. If it is in the folder, the manifest does not list it.
    public var output: String?

    /// Creates the default options.
    public init() {}
}

extension ManifestReport {
    /// Creates a manifest of the files of a folder, which are hashed on all cores. Blocks.
    ///
    /// - Throws: `LarderError` of kind `.input` if the folder cannot be read or has no files, `.interrupted`.
    package init(
        ofFolder path: String, _ options: ManifestOptions, _ interruption: Interruption
    ) throws(LarderError) {
        // Neither the manifest nor its signature lists itself.
        let outputs = options.output.map { [$0, $0 + Self.signatureSuffix] } ?? []
        let files = try FolderFiles(path, without: outputs, includesHidden: false)
        guard !files.paths.isEmpty || !files.skipped.isEmpty else {
            throw LarderError(.input, "\(path) has no files: name the build's output folder")
        }
        let found = ParallelWork.share(files.paths.count, named: "larder-files", interruption) { next, give in
            while let number = next() {
                let name = files.paths[number]
                let content = BodyContent.file(path: path + "/" + name)
                give(
                    number,
                    Result { () throws(StoreError) in
                        try Bundle(PathReference.reference(to: name), of: content)
                    })
            }
        }
        guard !interruption.isRequested else { throw .interrupted }
        var manifest = Manifest()
        var skipped = files.skipped
        for (name, entry) in zip(files.paths, found) {
            switch entry {
            case .success(let bundle): manifest.bundles.append(bundle)
            case .failure(let failure): skipped.append(.init(name: name.visible, reason: failure.detail))
            case nil: break
            }
        }
        self.init(manifest, skipped: skipped, options)
    }

    /// Creates a manifest of the stored responses of a site. Missing MD5s are computed and stored. Blocks.
    package init(
        ofStoredSite site: Site, _ types: TypeFilter?, _ options: ManifestOptions, _ reader: StoreReader
    ) throws(StoreError) {
        let base = WebURL(site.name)
        var hrefs: [String] = []
        try reader.eachListedResponse(site: site.id) { row in
            if row.body != nil, row.status < 300, types?.matches(row.type) ?? true {
                hrefs.append(row.href)
            }
            return true
        }
        var manifest = Manifest()
        manifest.site = site.name
        manifest.start = site.start
        var skipped: [Skipped] = []
        var md5s = KnownMD5s(reader)
        for href in hrefs {
            guard let body = try reader.response(for: href)?.body,
                let sha256 = Digest(.sha256, bytes: body.sha256),
                let md5 = try md5s.md5(of: body)
            else {
                skipped.append(.init(name: href, reason: "its bytes are gone or cut short; see: larder fsck"))
                continue
            }
            manifest.bundles.append(
                Bundle(
                    reference: Self.reference(to: href, base), digests: [md5, sha256],
                    byteCount: body.byteCount))
        }
        try md5s.store(in: reader.folder)
        self.init(manifest, skipped: skipped, options)
    }

    /// The path of a URL on the site's own origin, so that the manifest also applies to staging; else the
    /// URL.
    private static func reference(to href: String, _ base: WebURL?) -> String {
        guard let url = WebURL(href), url.origin == base?.origin else { return href }
        // A path that begins with two slashes would be read as a host name.
        return url.target.hasPrefix("//") ? href : url.target
    }

    /// The report with a signature of the manifest, and with one of Cordova's `chcp.json`, if there is one. A manifest in
    /// Larder's own format then also names the key.
    ///
    /// - Parameters:
    ///   - file: the name of the manifest's file, which the signature then names; nil if it may have any.
    ///   - time: the time of the signature in seconds since 1970; now by default.
    /// - Throws: `LarderError` of kind `.input` for a manifest without bundles, and for a signature inside another format.
    public func signed(
        by key: ManifestKey, _ form: SignatureForm, file: String? = nil, at time: Int64? = nil
    ) throws(LarderError) -> ManifestReport {
        guard bundles > 0 else {
            throw LarderError(
                .input, "the manifest has no bundles, so there is nothing to sign; see the skipped files")
        }
        guard form == .detached || format == .larder else {
            throw LarderError(
                .input,
                "only Larder's own format has a place for a signature; use a detached one for \(format.rawValue)"
            )
        }
        let seconds = time ?? SystemClock.secondsSinceEpoch()
        let comment = MinisignSignature.trustedComment(timestamp: seconds, file: file)
        do throws(ManifestError) {
            var bytes = Array(text.utf8)
            if format == .larder { bytes = try ManifestSignature.adding(key.key.publicKey, to: bytes) }
            let signature = key.key.sign(bytes, trustedComment: comment)
            if form == .inside { bytes = try ManifestSignature.adding(signature, to: bytes) }
            var report = ManifestReport(
                text: String(decoding: bytes, as: UTF8.self), configuration: configuration, format: format,
                bundles: bundles, byteCount: byteCount, skipped: skipped)
            report.signer = key.publicKey
            report.signature = form == .detached ? signature.text : nil
            report.configurationSignature = configuration.map {
                let comment = MinisignSignature.trustedComment(
                    timestamp: seconds, file: Self.configurationName)
                return key.key.sign(Array($0.utf8), trustedComment: comment).text
            }
            return report
        } catch {
            throw LarderError(error)
        }
    }

    /// The report with further skipped files or URLs.
    package func adding(skipped others: [Skipped]) -> ManifestReport {
        ManifestReport(
            text: text, configuration: configuration, format: format, bundles: bundles, byteCount: byteCount,
            skipped: skipped + others)
    }
}

extension Bundle {
    /// Reads a body once for both digests.
    package init(_ reference: String, of content: BodyContent) throws(StoreError) {
        var md5 = DigestStream(.md5)
        var sha256 = DigestStream(.sha256)
        var byteCount = 0
        try content.eachPiece { piece in
            md5.update(piece)
            sha256.update(piece)
            byteCount += piece.count
        }
        self.init(reference: reference, digests: [md5.finish(), sha256.finish()], byteCount: byteCount)
    }
}

extension ManifestReport {
    package init(_ manifest: Manifest, skipped: [Skipped], _ options: ManifestOptions) {
        var manifest = options.format == .cordova ? manifest.withoutCordovaFiles : manifest
        manifest.version = options.version
        manifest.created = options.created.map { HTTPDate(secondsSinceEpoch: $0.secondsSinceEpoch) }
        manifest.expires = options.expires.map { HTTPDate(secondsSinceEpoch: $0.secondsSinceEpoch) }
        manifest.base = options.base
        let written = manifest.written(as: options.format.written)
        let leftOut = written.leftOut.map { Skipped(name: $0.reference, reason: $0.reason) }
        let hasConfiguration = options.format == .cordova && options.version != nil && options.base != nil
        self.init(
            text: written.text,
            configuration: hasConfiguration ? manifest.cordovaConfiguration(of: written.text) : nil,
            format: options.format, bundles: manifest.bundles.count - leftOut.count,
            byteCount: manifest.bundles.reduce(0) { $0 + Int64($1.byteCount ?? 0) },
            skipped: skipped + leftOut)
    }
}

extension ManifestOptions {
    /// Checks that all options have an effect on a manifest of the format.
    ///
    /// - Throws: `LarderError` of kind `.input`.
    package func validate() throws(LarderError) {
        if format == .waict, version != nil {
            throw LarderError(.input, "manifests of WAICT have no version; leave it out")
        }
        guard format == .larder || created == nil && expires == nil else {
            throw LarderError(
                .input,
                "only Larder's own format has a time of creation and an expiry; leave them out for \(format.rawValue)"
            )
        }
        if format == .cordova, (version == nil) != (base == nil) {
            throw LarderError(
                .input,
                "chcp.json needs a version and the URL of the files; give both, or neither for chcp.manifest alone"
            )
        }
        if let base, WebURL(base)?.isHTTP != true {
            throw LarderError(.input, "the base \(base) is not a URL; give one with http:// or https://")
        }
    }
}

extension ManifestOptions.Format {
    fileprivate var written: WrittenFormat {
        switch self {
        case .larder: .larder
        case .waict: .waict
        case .cordova: .cordova
        }
    }
}

extension ManifestReport {
    /// The report as JSON, without the manifest.
    ///
    /// - Parameters:
    ///   - file: the file with the manifest.
    ///   - signatureFile: the file with its signature.
    ///   - configurationFile: the file with `configuration`.
    public func json(file: String, signatureFile: String?, configurationFile: String? = nil) -> String {
        let members: JSONMembers = [
            "file": file, "bundles": bundles, "bytes": byteCount, "signatureFile": signatureFile,
            "configurationFile": IfAny(configurationFile), "signer": signer?.text, "skipped": skipped,
        ]
        return members.text()
    }
}

extension ManifestReport.Skipped: JSONObject {
    package var members: JSONMembers { ["name": name, "reason": reason] }
}
