internal import Fetch
internal import Glibc
internal import Store
internal import Web

/// The bytes of a manifest, wherever it is, and what its relative URLs are relative to.
struct ManifestSource {
    let bytes: [UInt8]
    let base: WebURL?

    /// One byte more is still read, so that the parser sees that it is too much, and says so.
    private static let mostBytes = JSONLimits().byteCount

    init(
        _ name: String, options: CheckOptions, folder: StoreFolder, interruption: Interruption
    ) throws(LarderError) {
        let given = try options.base.map { (base) throws(LarderError) in try Larder.startURL(base) }
        guard let url = WebURL(name), url.isHTTP else {
            bytes = try Self.read(name)
            base = given
            return
        }
        base = given ?? url
        switch options.place {
        case .live: bytes = try Self.fetch(url, interruption)
        case .held: bytes = try Self.held(url, folder)
        }
    }

    private static func read(_ path: String) throws(LarderError) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw unreadable(path, errno) }
        defer { close(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 * 1024)
        while bytes.count <= mostBytes {
            let count = Glibc.read(file, &piece, min(piece.count, mostBytes + 1 - bytes.count))
            if count == 0 { break }
            if count > 0 { bytes += piece[..<count] } else if errno != EINTR { throw unreadable(path, errno) }
        }
        return bytes
    }

    private static func unreadable(_ path: String, _ code: Int32) -> LarderError {
        LarderError(.input, "cannot read the manifest \(path): \(String(cString: strerror(code)))")
    }

    private static func fetch(_ url: WebURL, _ interruption: Interruption) throws(LarderError) -> [UInt8] {
        do throws(LarderError) {
            return try OneFetch.load(url, limit: mostBytes, interruption: interruption)
        } catch {
            guard error.kind != .interrupted else { throw error }
            throw LarderError(error.kind, "cannot fetch the manifest: \(error)")
        }
    }

    private static func held(_ url: WebURL, _ folder: StoreFolder) throws(LarderError) -> [UInt8] {
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
