package import Bundles
package import Crawl
internal import Digest
package import Fetch
internal import Glibc
package import Store
package import System
package import Web

/// A manifest that was read from a file, a URL or the store, with the bases of its relative URLs.
package struct ManifestSource: Sendable {
    /// The path or URL of the manifest, after following a manifest that only names another one.
    package let name: String
    package let bytes: [UInt8]
    package let manifest: Manifest
    /// The base of relative URLs by the manifest itself: the base that it declares, else its own URL or its first start URL.
    /// Nil if none is known. Bundles on the origin of this URL move to a base that the user gives.
    package let home: WebURL?
    /// The bases of the manifest's relative URLs, each of which is checked. At least one.
    package let bases: [Base]
    /// The places where the bundles are checked. At least one.
    package let places: [CheckOptions.Place]
    /// The base that the manifest declares for its relative URLs, or that of the manifest that named it.
    let declaredBase: String?
    /// The options that the manifest was read with.
    package let reading: StoredManifest.Reading
    /// The responses that were fetched to get the manifest.
    package let fetchedDocuments: [FetchedDocument]

    /// The network zone that the manifest came from, which limits the URLs that it names.
    package let zone: NetworkZone
    /// The trusted key that signed the manifest, when it was loaded for the first time; nil if no signature was
    /// required.
    package let signer: ManifestSigner?
    /// Whether the version comes from a signed file that names this manifest without its digest (`ManifestAge`).
    package let isVersionSeparate: Bool

    /// A response that was fetched to get the manifest.
    package struct FetchedDocument: Sendable {
        package let url: WebURL
        package let fields: HTTPFields
        package let bytes: [UInt8]
    }

    /// A base of the manifest's relative URLs.
    package struct Base: Sendable {
        /// The site's root, which a folder is compared with and which names the place in reports; nil if
        /// unknown.
        package let root: WebURL?
        /// The base of relative URLs, which may be a folder below the root; nil if unknown.
        package let url: WebURL?
        /// Whether it is one of `CheckOptions.bases`.
        package let isGivenByUser: Bool
    }

    /// Loads a manifest from a file or URL. With trusted keys, also loads and verifies its signature.
    ///
    /// A manifest that only names another one must be signed too, because it decides which one is used. If it gives the
    /// digest of the other one, that must match, with or without signatures.
    ///
    /// - Parameter nearestZone: the nearest network zone that the request for it may connect to.
    /// - Throws: `LarderError` of kind `.input` if it does not exist or is invalid, `.refused` if it does not have the
    ///   signature that the options require.
    package init(
        _ name: String, nearestZone: NetworkZone, options: CheckOptions, folder: StoreFolder,
        interruption: Interruption
    ) throws(LarderError) {
        let loader = try ManifestLoader(options, nearestZone, folder, interruption)
        var fetched: [FetchedDocument] = []
        var zone = nearestZone
        func loadAndRecord(_ location: ManifestLocation) throws(LarderError) -> ManifestLoader.Document {
            let document = try loader.load(location, &zone)
            fetched += document.responses
            return document
        }
        var location = ManifestLocation(name)
        var document = try loadAndRecord(location)
        let first = document.manifest
        var manifest = first
        var base = manifest.base
        var isVersionSeparate = false
        if let next = manifest.continuation {
            let start = location
            location = location.location(ofNext: next, base: base)
            document = try loadAndRecord(location)
            manifest = document.manifest
            base = manifest.base ?? base
            isVersionSeparate = try ManifestPair(first, named: start, document, named: location)
                .isVersionSeparate()
            // Cordova's list of files has no version, but the file that names it has.
            manifest.version = manifest.version ?? first.version
            manifest.created = manifest.created ?? first.created
            manifest.expires = manifest.expires ?? first.expires
        }
        try self.init(
            manifest, document.bytes, location, declaredBase: base, fetched, zone, document.signer,
            options, isVersionSeparate: isVersionSeparate)
    }

    /// Creates the source from the manifest that is stored with a snapshot. Its signature was verified before it was
    /// stored.
    ///
    /// - Throws: `LarderError` of kind `.input` if it can no longer be read.
    package init(_ storedManifest: StoredManifest, options: CheckOptions) throws(LarderError) {
        let manifest: Manifest
        do throws(ManifestError) {
            let format = options.format.flatMap { ManifestFormat(rawValue: $0) }
            manifest = try Manifest(storedManifest.bytes, file: storedManifest.place, format: format)
        } catch {
            throw LarderError(error)
        }
        try self.init(
            manifest, storedManifest.bytes, ManifestLocation(storedManifest.place),
            declaredBase: storedManifest.declaredBase, [],
            storedManifest.zone, storedManifest.signer, options)
    }

    /// Creates the source from the targets of a TUF repository.
    ///
    /// - Parameters:
    ///   - place: the location of the repository, `tuf+https://…`.
    ///   - zone: the network zone that the metadata came from.
    package init(
        _ targets: TUFManifest, at place: String, _ zone: NetworkZone, options: CheckOptions
    ) throws(LarderError) {
        let signer = ManifestSigner(key: targets.signer, signature: "")
        try self.init(
            targets.manifest, targets.bytes, ManifestLocation(place), declaredBase: targets.manifest.base, [],
            zone, signer, options)
    }

    /// Creates the source from the manifest in an update file.
    ///
    /// - Parameters:
    ///   - place: the location from which the site otherwise loads its manifest.
    ///   - zone: the nearest network zone that its URLs may be in.
    ///   - signer: the trusted key that signed the update; nil if no signature was required.
    package init(
        inUpdate bytes: [UInt8], at place: String, _ zone: NetworkZone, signer: ManifestSigner?,
        options: CheckOptions
    ) throws(LarderError) {
        let manifest: Manifest
        do throws(ManifestError) {
            manifest = try Manifest(bytes, file: "manifest.json")
        } catch {
            throw LarderError(error)
        }
        try self.init(
            manifest, bytes, ManifestLocation(place), declaredBase: manifest.base, [], zone, signer, options)
    }

    /// Creates the source from a stored manifest, read with the options of that time.
    package init(_ storedManifest: StoredManifest, of plan: ManifestPlan) throws(LarderError) {
        var plan = plan
        if let reading = storedManifest.reading { (plan.base, plan.format) = (reading.base, reading.format) }
        try self.init(storedManifest, options: plan.checkOptions())
    }

    private init(
        _ manifest: Manifest, _ bytes: [UInt8], _ location: ManifestLocation, declaredBase base: String?,
        _ fetchedDocuments: [FetchedDocument], _ zone: NetworkZone, _ signer: ManifestSigner?,
        _ options: CheckOptions, isVersionSeparate: Bool = false
    ) throws(LarderError) {
        self.zone = zone
        self.signer = signer
        self.isVersionSeparate = isVersionSeparate
        name = location.name
        self.bytes = bytes
        self.manifest = manifest
        self.fetchedDocuments = fetchedDocuments
        declaredBase = base
        reading = StoredManifest.Reading(base: options.bases.first, format: options.format)
        let address = location.url
        let start = manifest.start.lazy.compactMap { WebURL($0) }.first { $0.isHTTP }
        let own = base.flatMap { WebURL($0, base: address ?? start) } ?? address ?? start
        home = own
        var bases: [Base] = []
        for text in options.bases {
            let given = try WebURL.start(text)
            bases.append(
                Base(root: given, url: base.flatMap { WebURL($0, base: given) } ?? given, isGivenByUser: true)
            )
        }
        let isForFilesBeside = own == nil && bases.isEmpty && manifest.format == .checksums
        places =
            options.places.isEmpty
            ? [isForFilesBeside ? .folder(Self.folder(of: location.name)) : .live] : options.places
        // If only folders are checked, relative paths need no base.
        let needsOnlyPaths = places.allSatisfy(\.isFolder)
        let defaultBase =
            own ?? (needsOnlyPaths ? base.flatMap { WebURL($0, base: .nowhere) } ?? .nowhere : nil)
        self.bases =
            bases.isEmpty ? [Base(root: address ?? start, url: defaultBase, isGivenByUser: false)] : bases
    }

    /// Returns the folder of a list of checksums. Its files are relative to it, as with `md5sum -c`.
    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

extension CheckOptions.Place {
    fileprivate var isFolder: Bool {
        switch self {
        case .folder: true
        case .live, .stored: false
        }
    }
}

extension WebURL {
    /// A placeholder base if only paths matter.
    fileprivate static let nowhere = WebURL("http://folder.invalid/") ?? .blank
}

/// The location of a manifest: a file, or an http or https URL.
struct ManifestLocation {
    let name: String
    let url: WebURL?

    init(_ name: String) {
        self.name = name
        url = WebURL(name).flatMap { $0.isHTTP ? $0 : nil }
    }

    private init(file: String) {
        (name, url) = (file, nil)
    }

    private init(url: WebURL) {
        (name, self.url) = (url.href, url)
    }

    /// The file name, with which the trusted comment of a signature is compared; empty if the path of the URL ends
    /// with a slash.
    var fileName: String {
        guard let url else { return Self.lastPart(of: name) }
        return String(
            decoding: [UInt8](percentDecoding: Self.lastPart(of: url.path).utf8.span), as: UTF8.self)
    }

    private static func lastPart(of path: String) -> String {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[$0...].dropFirst()) } ?? path
    }

    /// The location of the detached signature: the suffix is appended to the path, and a query stays.
    var signatureLocation: ManifestLocation? {
        guard let url else { return ManifestLocation(file: name + MinisignSignature.fileSuffix) }
        let href = url.withoutFragment.href
        let beginning = String(decoding: href.utf8.dropLast(url.target.utf8.count), as: UTF8.self)
        let query = url.query.map { "?\($0)" } ?? ""
        return WebURL(beginning + url.path + MinisignSignature.fileSuffix + query).map {
            ManifestLocation(url: $0)
        }
    }

    /// Returns the location of the manifest that this one names: a file beside it, else a URL below the
    /// base.
    func location(ofNext next: String, base: String?) -> ManifestLocation {
        let target = WebURL(next, base: base.flatMap { WebURL($0, base: url) } ?? url)
        let sibling = (name.lastIndex(of: "/").map { String(name[...$0]) } ?? "") + next
        if url == nil, access(sibling, R_OK) == 0 { return ManifestLocation(sibling) }
        return ManifestLocation(target?.href ?? sibling)
    }
}

/// Loads manifests from files, URLs or the store, parses them in the requested format, and verifies their signatures if
/// that is required.
struct ManifestLoader {
    /// A parsed manifest, with its bytes, its signer and the responses that were fetched to get it.
    struct Document {
        let manifest: Manifest
        let bytes: [UInt8]
        /// The trusted key that signed it; nil if no signature is required.
        let signer: ManifestSigner?
        /// The responses that were fetched: the manifest and its signature.
        let responses: [ManifestSource.FetchedDocument]
    }

    let trust: ManifestTrust
    /// The stored update, if the manifest is requested as Expo's client does.
    let expoUpdate: ExpoUpdate?
    private let announcedRelease: AnnouncedRelease?
    let secondsSinceEpoch: @Sendable () -> Int64
    let format: ManifestFormat?
    private let readsFromStore: Bool
    private let folder: StoreFolder
    private let interruption: Interruption
    private let network: NetworkOptions?
    /// The nearest network zone that every request may connect to, whichever zone the manifest came from.
    private let allowedZone: NetworkZone

    /// The size limit. One byte more is read, so that the parser notices and reports a larger manifest.
    private static let maxBytes = ManifestLimits.maxBytes

    /// The default total timeout. A manifest is small, and a user may be waiting.
    private static let defaultTimeout: Duration = .seconds(60)

    /// - Throws: `LarderError` of kind `.input` for an unknown format.
    init(
        _ options: CheckOptions, _ nearestZone: NetworkZone, _ folder: StoreFolder,
        _ interruption: Interruption
    ) throws(LarderError) {
        if let name = options.format {
            guard let known = ManifestFormat(rawValue: name) else {
                let close = ManifestFormat.suggestion(for: name).map { " (did you mean \($0)?)" } ?? ""
                throw LarderError(
                    .input,
                    "unknown format \"\(name)\"\(close); the formats are \(ManifestFormat.names.joined(separator: ", "))"
                )
            }
            format = known
        } else {
            format = nil
        }
        trust = options.trust
        (expoUpdate, announcedRelease) = (options.expoUpdate, options.announcedRelease)
        secondsSinceEpoch = options.secondsSinceEpoch
        readsFromStore = options.readsManifestFromStore
        network = options.network
        allowedZone = options.network?.allowedZone(nearestZone) ?? .publicNetwork
        self.folder = folder
        self.interruption = interruption
    }

    func parse(_ bytes: [UInt8], _ name: String) throws(LarderError) -> Manifest {
        do throws(ManifestError) {
            return try Manifest(bytes, file: name, format: format)
        } catch {
            if trust.requiresSignature, error.key == "signature" {
                throw LarderError(ManifestRefusal.damaged(error.detail), of: name, trust)
            }
            throw LarderError(error)
        }
    }

    /// Loads, verifies and parses a manifest.
    ///
    /// - Parameter zone: the nearest network zone that the request may connect to; afterwards that of the
    ///   response, if it is more public.
    func load(_ location: ManifestLocation, _ zone: inout NetworkZone) throws(LarderError) -> Document {
        let document = try loadDocument(location, &zone)
        try requireRuntime(of: document.manifest, location)
        return document
    }

    private func loadDocument(
        _ location: ManifestLocation, _ zone: inout NetworkZone
    ) throws(LarderError) -> Document {
        let signatureZone = zone
        var responses: [ManifestSource.FetchedDocument] = []
        let bytes = try loadBytes(location, &zone, &responses)
        if let document = try expoDocument(bytes, location, responses) { return document }
        guard trust.requiresSignature else {
            return Document(
                manifest: try parse(bytes, location.name), bytes: bytes, signer: nil, responses: responses)
        }
        // A wrong signature is reported before an error of the parser, because the bytes may have been changed.
        let parsed: Result<Manifest, LarderError>
        do throws(LarderError) {
            parsed = .success(try parse(bytes, location.name))
        } catch {
            // Without a manifest, the key that it names is not known.
            guard error.kind == .input, !trust.acceptsNamedKey else { throw error }
            parsed = .failure(error)
        }
        let unverified = try? parsed.get()
        let found =
            if let inside = unverified?.signature {
                ManifestTrust.FoundSignature.text(inside.signature.text, of: inside.signedBytes(of: bytes))
            } else {
                try findSignature(of: bytes, beside: location, signatureZone, &responses)
            }
        let signer: ManifestSigner?
        do throws(ManifestRefusal) {
            signer = try trust.verify(found, as: location.fileName, namedKey: unverified?.key)
        } catch {
            throw LarderError(error, of: location.name, trust)
        }
        return Document(manifest: try parsed.get(), bytes: bytes, signer: signer, responses: responses)
    }

    /// Loads the bytes of a manifest, and adds the response if it was fetched.
    private func loadBytes(
        _ location: ManifestLocation, _ zone: inout NetworkZone,
        _ responses: inout [ManifestSource.FetchedDocument]
    ) throws(LarderError) -> [UInt8] {
        guard let url = location.url else { return try read(location.name) }
        if readsFromStore {
            if let bytes = try storedBody(of: url) { return bytes }
            throw LarderError(.input, "the manifest \(url.href) is not stored: prefetch it first")
        }
        var fields = expoRequest(location)?.fields ?? [:]
        if let announcedRelease, announcedRelease.url == url.key {
            fields.append("If-None-Match", announcedRelease.tag)
        }
        switch try fetch(url, max(allowedZone, zone), Self.maxBytes, fields: fields) {
        case .success(let response):
            // RFC 9110, section 15.3.5: there is nothing to send, such as an update server has for some devices.
            guard response.status != 204 else { throw LarderError(nil, of: location.name, after: expoUpdate) }
            zone = min(zone, response.zone)
            responses.append(.init(url: url.key, fields: response.fields, bytes: response.bytes))
            return response.bytes
        case .failure(let failure) where failure.status == 304: throw LarderError.upToDate(location.name)
        case .failure(let failure) where failure.status == 410:
            // RFC 9110, section 15.5.11: that is likely to be permanent, and not a failure of the server.
            throw LarderError(
                .refused,
                "the manifest \(location.name) is withdrawn: its server answered 410, because there is no such file any more, "
                    + "or because apps must run the code that they were built with, which Larder does not have: publish a "
                    + "new manifest in its place")
        case .failure(let failure):
            throw LarderError(failure, fetching: url).addingClause("cannot fetch the manifest")
        }
    }

    /// Finds the detached signature of a manifest.
    ///
    /// - Throws: `LarderError` of kind `.machine` if a server cannot be reached. It may have a signature.
    private func findSignature(
        of bytes: [UInt8], beside location: ManifestLocation, _ zone: NetworkZone,
        _ responses: inout [ManifestSource.FetchedDocument]
    ) throws(LarderError) -> ManifestTrust.FoundSignature {
        guard let place = location.signatureLocation else { return .missing("its URL has no path") }
        let absent = ManifestTrust.FoundSignature.missing("\(place.name) does not exist")
        func text(_ signature: [UInt8]) -> ManifestTrust.FoundSignature {
            .text(String(decoding: signature, as: UTF8.self), of: bytes)
        }
        guard let url = place.url else {
            guard access(place.name, F_OK) == 0 else { return absent }
            do throws(SystemError) {
                return text(try WholeFile.beginning(of: place.name, MinisignSignature.maxBytes + 1))
            } catch {
                throw LarderError(
                    .input,
                    "cannot read the signature \(place.name): \(error.reason); make it readable")
            }
        }
        if readsFromStore {
            return try storedBody(of: url).map(text) ?? .missing("\(place.name) is not stored")
        }
        switch try fetch(url, max(allowedZone, zone), MinisignSignature.maxBytes) {
        case .success(let response):
            responses.append(.init(url: url.key, fields: response.fields, bytes: response.bytes))
            return text(response.bytes)
        case .failure(let failure):
            if failure.kind == .tooLarge { return .unreadable("\(place.name) is \(failure)") }
            // Some servers answer 401 or 403 for files that do not exist. But 408, 429 and errors of 500 and above are
            // temporary, so that the signature may exist.
            if let status = failure.status, (400..<500).contains(status), status != 408, status != 429 {
                return .missing("\(place.name): \(failure)")
            }
            throw LarderError(failure, fetching: url).addingClause(
                "cannot fetch the signature of the manifest")
        }
    }

    private func read(_ path: String) throws(LarderError) -> [UInt8] {
        do throws(SystemError) {
            return try WholeFile.beginning(of: path, Self.maxBytes + 1)
        } catch {
            throw LarderError(
                .input,
                "cannot read the manifest \(path): \(error.reason); name an existing file or URL")
        }
    }

    /// Fetches a URL with the options of the manifest.
    ///
    /// - Throws: `LarderError` if an option is invalid or the check is interrupted.
    private func fetch(
        _ url: WebURL, _ nearestZone: NetworkZone, _ limit: Int, fields: HTTPFields = [:]
    ) throws(LarderError) -> Result<SingleFetch.Response, FetchFailure> {
        var fetch = try fetchOptions(for: url)
        fetch.totalTimeout = fetch.totalTimeout ?? Self.defaultTimeout
        // The user's own header fields override these.
        let ownFields = fetch.hostFields.fields(for: url)
        let fields = HTTPFields(fields.list.filter { !ownFields.contains($0.name) })
        return try SingleFetch.result(
            url, nearestZone: nearestZone, options: fetch, limit: limit, fields: fields,
            interruption: interruption)
    }

    private func fetchOptions(for url: WebURL) throws(LarderError) -> FetchOptions {
        let options = FetchOptions.forReading
        return try network?.options(for: [url], spoolFolder: options.spoolFolder) ?? options
    }

    /// The header fields that the user sends to a URL.
    func ownFields(for url: WebURL) throws(LarderError) -> HTTPFields {
        try fetchOptions(for: url).hostFields.fields(for: url)
    }

    /// The stored body of a URL; nil if there is none.
    private func storedBody(of url: WebURL) throws(LarderError) -> [UInt8]? {
        let content: BodyContent?
        do throws(StoreError) {
            let reader = try StoreReader(folder)
            content = try reader.body(at: url).flatMap { (body) throws(StoreError) in
                try reader.content(of: body)
            }
        } catch {
            throw LarderError(error)
        }
        switch content {
        case .bytes(let bytes): return bytes
        case .file(let path): return try read(path)
        case nil: return nil
        }
    }
}

/// Fetches a single body into memory. Blocks.
package enum SingleFetch {
    /// A response with its body.
    package struct Response {
        package let status: Int
        package let fields: HTTPFields
        package let bytes: [UInt8]
        /// The network zone that the response came from.
        package let zone: NetworkZone
    }

    /// Fetches a body with the default options.
    ///
    /// - Parameters:
    ///   - nearestZone: the nearest network zone that the request may connect to.
    ///   - limit: the maximum size of the body in bytes.
    package static func body(
        _ url: WebURL, nearestZone: NetworkZone, limit: Int = .max, interruption: Interruption
    ) throws(LarderError) -> [UInt8] {
        try response(
            url, nearestZone: nearestZone, options: .forReading, limit: limit, interruption: interruption
        ).bytes
    }

    /// Fetches a response. The body may have `limit` bytes, or fewer if the options say so.
    package static func response(
        _ url: WebURL, nearestZone: NetworkZone, options: FetchOptions, limit: Int,
        interruption: Interruption
    ) throws(LarderError) -> Response {
        let result = try result(
            url, nearestZone: nearestZone, options: options, limit: limit, interruption: interruption)
        do throws(FetchFailure) { return try result.get() } catch {
            throw LarderError(error, fetching: url)
        }
    }

    /// Fetches a response, and returns the failure of the request, for callers that need its reason.
    ///
    /// - Throws: `LarderError` if the run is interrupted, or the body cannot be read from the disk.
    static func result(
        _ url: WebURL, nearestZone: NetworkZone, options: FetchOptions, limit: Int, fields: HTTPFields = [:],
        interruption: Interruption
    ) throws(LarderError) -> Result<Response, FetchFailure> {
        var options = options
        options.maxBodyBytes = min(options.maxBodyBytes, limit)
        var outcome: Result<FetchedResponse, FetchFailure>?
        do throws(FetchFailure) {
            var request: FetchRequest? = FetchRequest(
                number: 0, url: url, nearestZone: nearestZone, fields: fields)
            try FetchBatch.run(
                options: options, interruption: interruption, next: { request.take() }, each: { outcome = $1 }
            )
        } catch {
            return .failure(error)
        }
        switch outcome {
        case nil: throw .interrupted
        case .failure(let failure): return .failure(failure)
        case .success(let response):
            let body = response.body
            defer { body.discard() }
            do throws(StoreError) {
                return .success(
                    Response(
                        status: response.status, fields: response.fields, bytes: try BodyContent(body).load(),
                        zone: response.zone ?? .publicNetwork))
            } catch {
                throw LarderError(error)
            }
        }
    }
}

extension FetchOptions {
    /// Options for bodies that are read once and not stored.
    package static var forReading: FetchOptions {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var options = FetchOptions(userAgent: Product.userAgent, spoolFolder: folder)
        // Large enough for nearly every bundle, so that few bodies are written to a file first.
        options.spoolThreshold = 2 * 1024 * 1024
        return options
    }
}
