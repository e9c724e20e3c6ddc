internal import Bundles
internal import Fetch
internal import Store
internal import System
internal import Web

/// A manifest, wherever it is, and what its relative URLs are relative to.
struct ManifestSource: Sendable {
    /// As it was asked for, or where that one led.
    let name: String
    let bytes: [UInt8]
    let manifest: Manifest
    /// Where the manifest's own site is: what is on this origin is the site's, and moves to a base that is given.
    let home: WebURL?
    /// Never empty.
    let bases: [Base]
    /// Never empty.
    let places: [CheckOptions.Place]
    /// What the manifest says that its references are relative to, or the one that led to it.
    let declaredBase: String?
    /// What was fetched on the way to it.
    let answers: [Answer]

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

    /// - Throws: `LarderError` of kind `.input` when it is not there, or says what it must not.
    init(
        _ name: String, options: CheckOptions, folder: StoreFolder, interruption: Interruption
    ) throws(LarderError) {
        let loader = try ManifestLoader(options, folder, interruption)
        var answers: [Answer] = []
        func load(_ place: ManifestLoader.Place) throws(LarderError) -> [UInt8] {
            let (fields, bytes) = try loader.load(place)
            if let url = place.url, let fields { answers.append(Answer(url: url.key, fields: fields, bytes: bytes)) }
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
        try self.init(manifest, bytes, place, declaredBase: base, answers, options)
    }

    /// One that is kept with a visit.
    ///
    /// - Throws: `LarderError` of kind `.input` when it cannot be read any more.
    init(_ kept: KeptManifest, options: CheckOptions) throws(LarderError) {
        let manifest: Manifest
        do throws(ManifestError) {
            let format = options.format.flatMap { ManifestFormat(rawValue: $0) }
            manifest = try Manifest(kept.bytes, file: kept.place, format: format)
        } catch {
            throw LarderError(error)
        }
        try self.init(
            manifest, kept.bytes, ManifestLoader.Place(kept.place), declaredBase: kept.declaredBase, [], options)
    }

    private init(
        _ manifest: Manifest, _ bytes: [UInt8], _ place: ManifestLoader.Place, declaredBase base: String?,
        _ answers: [Answer], _ options: CheckOptions
    ) throws(LarderError) {
        name = place.name
        self.bytes = bytes
        self.manifest = manifest
        self.answers = answers
        declaredBase = base
        let address = place.url
        let start = manifest.start.lazy.compactMap { WebURL($0) }.first { $0.isHTTP }
        let own = base.flatMap { WebURL($0, base: address ?? start) } ?? address ?? start
        home = own
        var bases: [Base] = []
        for text in options.bases {
            let given = try Larder.startURL(text)
            bases.append(Base(root: given, url: base.flatMap { WebURL($0, base: given) } ?? given, isGiven: true))
        }
        let isAtHome = own == nil && bases.isEmpty && manifest.format == .checksums
        places = options.places.isEmpty ? [isAtHome ? .folder(Self.folder(of: place.name)) : .live] : options.places
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
