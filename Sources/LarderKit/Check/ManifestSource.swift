internal import Store
internal import Web

/// The bytes of a manifest, wherever it is, and what its relative URLs are relative to.
struct ManifestSource {
    let bytes: [UInt8]
    let base: WebURL?

    init(_ name: String, options: CheckOptions, folder: StoreFolder) throws(LarderError) {
        let given = try options.base.map { (base) throws(LarderError) in try Larder.startURL(base) }
        guard let url = WebURL(name), url.isHTTP else {
            bytes = try Self.read(name)
            base = given
            return
        }
        base = given ?? url
        switch options.place {
        case .live: bytes = try Self.fetch(url)
        case .held: bytes = try Self.held(url, folder)
        }
    }

    private static func read(_ path: String) throws(LarderError) -> [UInt8] {
        do throws(StoreError) {
            return try BodyContent.file(path: path).load()
        } catch {
            throw LarderError(.input, "cannot read the manifest \(path): \(error.detail)")
        }
    }

    private static func fetch(_ url: WebURL) throws(LarderError) -> [UInt8] {
        do throws(LarderError) {
            return try OneFetch.load(url)
        } catch {
            throw LarderError(.machine, "cannot fetch the manifest: \(error)")
        }
    }

    private static func held(_ url: WebURL, _ folder: StoreFolder) throws(LarderError) -> [UInt8] {
        do throws(StoreError) {
            if let content = try StoreReader(folder).bodyContent(at: url) { return try content.load() }
        } catch {
            throw LarderError(error)
        }
        throw LarderError(.input, "the larder does not hold the manifest \(url.href): prefetch it first")
    }
}
