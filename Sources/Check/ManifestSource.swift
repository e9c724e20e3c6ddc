internal import Bundles
internal import Crawl
package import Fetch
internal import Glibc
package import Store
package import System
package import Web

/// A manifest, wherever it is, and what its relative URLs are relative to.
package struct ManifestSource: Sendable {
    /// As it was asked for, or where that one led.
    package let name: String
    let bytes: [UInt8]
    let manifest: Manifest
    /// Where the manifest's own site is: what is on this origin is the site's, and moves to a base that is
    /// given.
    let home: WebURL?
    /// Never empty.
    let bases: [Base]
    /// Never empty.
    let places: [CheckOptions.Place]
    /// What the manifest says that its references are relative to, or the one that led to it.
    let declaredBase: String?
    /// How the user said that it is to be read.
    let reading: KeptManifest.Reading
    /// What was fetched on the way to it.
    let answers: [Answer]

    /// The network zone that the manifest came from, which limits what it names.
    let zone: NetworkZone

    struct Answer: Sendable {
        let url: WebURL
        let fields: HTTPFields
        let bytes: [UInt8]
    }

    struct Base: Sendable {
        /// What a folder stands for, and what reports call the place; nil where nothing says it.
        let root: WebURL?
        /// What references are relative to: the manifest may name a folder below the root.
        let url: WebURL?
        /// The user names it, and the site is looked for there.
        let isGiven: Bool
    }

    /// - Parameter nearestZone: the nearest network zone that the request for it may connect to.
    /// - Throws: `LarderError` of kind `.input` when it is not there, or says what it must not.
    package init(
        _ name: String, nearestZone: NetworkZone, options: CheckOptions, folder: StoreFolder,
        interruption: Interruption
    ) throws(LarderError) {
        let loader = try ManifestLoader(options, nearestZone, folder, interruption)
        var answers: [Answer] = []
        var zone = nearestZone
        func load(_ place: ManifestLoader.Place) throws(LarderError) -> [UInt8] {
            let (fields, bytes) = try loader.load(place, &zone)
            if let url = place.url, let fields {
                answers.append(Answer(url: url.key, fields: fields, bytes: bytes))
            }
            return bytes
        }
        var place = ManifestLoader.Place(name)
        var bytes = try load(place)
        var manifest = try loader.parse(bytes, name)
        var base = manifest.base
        if let next = manifest.continuation {
            place = place.leading(to: next, base: base)
            bytes = try load(place)
            manifest = try loader.parse(bytes, place.name)
            base = manifest.base ?? base
        }
        try self.init(manifest, bytes, place, declaredBase: base, answers, zone, options)
    }

    /// The manifest that is stored with a snapshot.
    ///
    /// - Throws: `LarderError` of kind `.input` when it cannot be read any more.
    package init(_ kept: KeptManifest, options: CheckOptions) throws(LarderError) {
        let manifest: Manifest
        do throws(ManifestError) {
            let format = options.format.flatMap { ManifestFormat(rawValue: $0) }
            manifest = try Manifest(kept.bytes, file: kept.place, format: format)
        } catch {
            throw LarderError(error)
        }
        try self.init(
            manifest, kept.bytes, ManifestLoader.Place(kept.place), declaredBase: kept.declaredBase, [],
            kept.zone, options)
    }

    /// One that is kept, as it was read then.
    init(_ kept: KeptManifest, of plan: ManifestPlan) throws(LarderError) {
        var plan = plan
        if let reading = kept.reading { (plan.base, plan.format) = (reading.base, reading.format) }
        try self.init(kept, options: plan.checkOptions())
    }

    private init(
        _ manifest: Manifest, _ bytes: [UInt8], _ place: ManifestLoader.Place, declaredBase base: String?,
        _ answers: [Answer], _ zone: NetworkZone, _ options: CheckOptions
    ) throws(LarderError) {
        self.zone = zone
        name = place.name
        self.bytes = bytes
        self.manifest = manifest
        self.answers = answers
        declaredBase = base
        reading = KeptManifest.Reading(base: options.bases.first, format: options.format)
        let address = place.url
        let start = manifest.start.lazy.compactMap { WebURL($0) }.first { $0.isHTTP }
        let own = base.flatMap { WebURL($0, base: address ?? start) } ?? address ?? start
        home = own
        var bases: [Base] = []
        for text in options.bases {
            let given = try WebURL.start(text)
            bases.append(
                Base(root: given, url: base.flatMap { WebURL($0, base: given) } ?? given, isGiven: true))
        }
        let isAtHome = own == nil && bases.isEmpty && manifest.format == .checksums
        places =
            options.places.isEmpty
            ? [isAtHome ? .folder(Self.folder(of: place.name)) : .live] : options.places
        // Where only folders are looked at, a path is enough.
        let isPath = places.allSatisfy(\.isFolder)
        let usual = own ?? (isPath ? base.flatMap { WebURL($0, base: .nowhere) } ?? .nowhere : nil)
        self.bases = bases.isEmpty ? [Base(root: address ?? start, url: usual, isGiven: false)] : bases
    }

    /// Where a list of checksums is, and what it lists with it, as `md5sum -c` has it.
    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

extension CheckOptions.Place {
    fileprivate var isFolder: Bool {
        switch self {
        case .folder: true
        case .live, .held: false
        }
    }
}

extension WebURL {
    /// Stands for a base where only paths count.
    fileprivate static let nowhere = WebURL("http://folder.invalid/") ?? .blank
}

/// Gets the bytes of manifests, and reads them in the form that was asked for.
struct ManifestLoader {
    private let format: ManifestFormat?
    private let isHeld: Bool
    private let folder: StoreFolder
    private let interruption: Interruption
    private let network: NetworkOptions?
    /// The zone that every request may connect to.
    private let allowedZone: NetworkZone

    /// One byte more is still read, so that the parser sees that it is too much, and says so.
    private static let mostBytes = ManifestLimits.byteCount

    /// A manifest is small, and somebody waits for it.
    private static let longestWait: Duration = .seconds(60)

    /// A file, or an http or https URL.
    struct Place {
        let name: String
        let url: WebURL?

        init(_ name: String) {
            self.name = name
            url = WebURL(name).flatMap { $0.isHTTP ? $0 : nil }
        }

        /// Where a manifest leads that only names the real one: beside a file, or below the base.
        func leading(to next: String, base: String?) -> Place {
            let target = WebURL(next, base: base.flatMap { WebURL($0, base: url) } ?? url)
            let sibling = (name.lastIndex(of: "/").map { String(name[...$0]) } ?? "") + next
            if url == nil, access(sibling, R_OK) == 0 { return Place(sibling) }
            return Place(target?.href ?? sibling)
        }
    }

    /// - Throws: `LarderError` of kind `.input` for a format that nobody knows.
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
        isHeld = options.places.contains(.held) && !options.places.contains(.live)
        network = options.network
        allowedZone = options.network?.allowedZone(nearestZone) ?? .publicNetwork
        self.folder = folder
        self.interruption = interruption
    }

    func parse(_ bytes: [UInt8], _ name: String) throws(LarderError) -> Manifest {
        do throws(ManifestError) {
            return try Manifest(bytes, file: name, format: format)
        } catch {
            throw LarderError(error)
        }
    }

    /// What is at the place; with header fields where it was fetched.
    ///
    /// - Parameter zone: the nearest network zone that the request may connect to; afterwards that of the
    ///   response, if it is more public.
    func load(_ place: Place, _ zone: inout NetworkZone) throws(LarderError) -> (
        fields: HTTPFields?, bytes: [UInt8]
    ) {
        guard let url = place.url else { return (nil, try read(place.name)) }
        if isHeld { return (nil, try held(url)) }
        let answer = try fetch(url, max(allowedZone, zone))
        zone = min(zone, answer.zone)
        return (answer.fields, answer.bytes)
    }

    private func read(_ path: String) throws(LarderError) -> [UInt8] {
        do throws(SystemError) {
            return try WholeFile.beginning(of: path, Self.mostBytes + 1)
        } catch {
            throw LarderError(
                .input,
                "cannot read the manifest \(path): \(error.reason); name an existing file or URL")
        }
    }

    private func fetch(
        _ url: WebURL, _ nearestZone: NetworkZone
    ) throws(LarderError) -> OneFetch.Answer {
        do throws(LarderError) {
            var fetch = FetchOptions.forReading
            if let network { fetch = try network.options(for: [url], spoolFolder: fetch.spoolFolder) }
            fetch.totalTimeout = fetch.totalTimeout ?? Self.longestWait
            return try OneFetch.answer(
                url, nearestZone: nearestZone, options: fetch, limit: Self.mostBytes,
                interruption: interruption)
        } catch {
            guard error.kind != .interrupted else { throw error }
            var told = LarderError(error.kind, "cannot fetch the manifest: \(error)")
            told.isOfServer = error.isOfServer
            throw told
        }
    }

    private func held(_ url: WebURL) throws(LarderError) -> [UInt8] {
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
        case nil:
            throw LarderError(.input, "the manifest \(url.href) is not stored: prefetch it first")
        }
    }
}

/// A single body, fetched and read at once. Blocks.
package enum OneFetch {
    package struct Answer {
        package let fields: HTTPFields
        package let bytes: [UInt8]
        /// The network zone that the response came from.
        package let zone: NetworkZone
    }

    /// - Parameters:
    ///   - nearestZone: the nearest network zone that the request may connect to.
    ///   - limit: the most bytes that the body may have.
    package static func load(
        _ url: WebURL, nearestZone: NetworkZone, limit: Int = .max, interruption: Interruption
    ) throws(LarderError) -> [UInt8] {
        try answer(
            url, nearestZone: nearestZone, options: .forReading, limit: limit, interruption: interruption
        ).bytes
    }

    package static func answer(
        _ url: WebURL, nearestZone: NetworkZone, options: FetchOptions, limit: Int,
        interruption: Interruption
    ) throws(LarderError) -> Answer {
        var options = options
        options.maxBody = min(options.maxBody, limit)
        var outcome: Result<FetchedResponse, FetchFailure>?
        do throws(FetchFailure) {
            var request: FetchRequest? = FetchRequest(number: 0, url: url, nearestZone: nearestZone)
            try FetchBatch.run(
                options: options, interruption: interruption, next: { request.take() }, each: { outcome = $1 }
            )
        } catch {
            throw LarderError(error, fetching: url)
        }
        switch outcome {
        case nil: throw .interrupted
        case .failure(let failure): throw LarderError(failure, fetching: url)
        case .success(let response):
            let body = response.body
            defer { body.discard() }
            do throws(StoreError) {
                return Answer(
                    fields: response.fields, bytes: try BodyContent(body).load(),
                    zone: response.zone ?? .publicNetwork)
            } catch {
                throw LarderError(error)
            }
        }
    }
}

extension FetchOptions {
    /// For bodies that are read once and not kept.
    package static var forReading: FetchOptions {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var options = FetchOptions(userAgent: Product.userAgent, spoolFolder: folder)
        // Nearly every bundle: what is read at once does not have to go by way of a file.
        options.spoolThreshold = 2 * 1024 * 1024
        return options
    }
}
