internal import Bundles
internal import Fetch
internal import Glibc
internal import Store
internal import System
internal import Web

/// Gets the bytes of manifests, and reads them in the form that was asked for.
struct ManifestLoader {
    private let format: ManifestFormat?
    private let isHeld: Bool
    private let folder: StoreFolder
    private let interruption: Interruption
    private let network: NetworkOptions?

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
    init(_ options: CheckOptions, _ folder: StoreFolder, _ interruption: Interruption) throws(LarderError) {
        if let name = options.format {
            guard let known = ManifestFormat(rawValue: name) else {
                let close = ManifestFormat.suggestion(for: name).map { "; did you mean \($0)?" } ?? ""
                throw LarderError(
                    .input,
                    "there is no format \"\(name)\"\(close); the forms are \(ManifestFormat.names.joined(separator: ", "))"
                )
            }
            format = known
        } else {
            format = nil
        }
        isHeld = options.places.contains(.held) && !options.places.contains(.live)
        network = options.network
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
    func load(_ place: Place) throws(LarderError) -> (fields: HTTPFields?, bytes: [UInt8]) {
        guard let url = place.url else { return (nil, try read(place.name)) }
        if isHeld { return (nil, try held(url)) }
        let answer = try fetch(url)
        return (answer.fields, answer.bytes)
    }

    private func read(_ path: String) throws(LarderError) -> [UInt8] {
        do throws(SystemError) {
            return try WholeFile.beginning(of: path, Self.mostBytes + 1)
        } catch {
            throw LarderError(
                .input, "cannot read the manifest \(path): \(error.reason); name a file or a URL that is there")
        }
    }

    private func fetch(_ url: WebURL) throws(LarderError) -> (fields: HTTPFields, bytes: [UInt8]) {
        do throws(LarderError) {
            var fetch = FetchOptions.forReading
            if let network { fetch = try network.fetchOptions(for: [url], spoolFolder: fetch.spoolFolder) }
            fetch.totalTimeout = fetch.totalTimeout ?? Self.longestWait
            return try OneFetch.answer(url, options: fetch, limit: Self.mostBytes, interruption: interruption)
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
            content = try reader.body(at: url).flatMap { (body) throws(StoreError) in try reader.content(of: body) }
        } catch {
            throw LarderError(error)
        }
        switch content {
        case .bytes(let bytes): return bytes
        case .file(let path): return try read(path)
        case nil: throw LarderError(.input, "the larder does not hold the manifest \(url.href): prefetch it first")
        }
    }
}
