internal import Bundles
internal import Fetch
internal import Store

extension BodyContent {
    init(_ body: FetchedBody) {
        switch body {
        case .bytes(let bytes): self = .bytes(bytes)
        case .file(let path, _): self = .file(path: path)
        }
    }

    /// Whether these bytes are the bundle's. Bytes that cannot be read prove nothing.
    func verdict(on bundle: Bundle) -> Verdict {
        let meter = BundleMeter(bundle)
        do throws(StoreError) {
            try eachPiece { meter.update($0) }
            return meter.verdict()
        } catch {
            return .unverifiable(error.description)
        }
    }
}
