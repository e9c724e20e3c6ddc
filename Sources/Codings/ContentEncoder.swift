/// Compresses bodies that are sent to many clients, in the codings that most of them accept. Any thread may use it.
package enum ContentEncoder: String, Sendable, CaseIterable {
    case zstd, gzip

    /// Bodies that are sent many times are compressed once, so that a higher level than for stored bodies pays.
    private static let zstdLevel: Int32 = 6
    private static let gzipLevel: Int32 = 6

    /// Returns the body in the coding; nil if it has more than `maxBytes` bytes then, or if the library is not available.
    package func encode(_ body: [UInt8], maxBytes: Int) -> [UInt8]? {
        let encoded =
            switch self {
            case .zstd: ZstdFrame.compress(body, level: Self.zstdLevel)
            case .gzip: Self.gzip(body)
            }
        return encoded.flatMap { $0.count <= maxBytes ? $0 : nil }
    }

    private static func gzip(_ body: [UInt8]) -> [UInt8]? {
        var output: [UInt8] = []
        if let deflater = OneShotDeflater(level: gzipLevel) {
            deflater.add(body, to: &output)
        } else if let deflater = Deflater(.gzip, level: gzipLevel) {
            body.withUnsafeBytes { deflater.compress($0) { output += $0 } }
            deflater.finish { output += $0 }
        } else {
            return nil
        }
        // A copy, since the array would otherwise keep its large capacity.
        return Array(output[...])
    }
}
