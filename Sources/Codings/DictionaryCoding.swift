internal import CCodings

/// The bytes of a response with which later responses are compressed (RFC 9842). Any thread may use it.
package final class CompressionDictionary: @unchecked Sendable {
    // Sendable because the bytes never change after `init`.
    /// The bytes at a fixed address, since the libraries do not copy them.
    let bytes: UnsafeRawBufferPointer
    /// The digest by which a client and a server agree on the dictionary.
    package let sha256: [UInt8]

    /// Larger responses are not used as dictionaries, since they are in memory while a body is decoded.
    package static let maxBytes = 8 << 20

    /// Returns nil for a dictionary that is empty or too large.
    ///
    /// - Parameter sha256: the SHA-256 of the bytes. The caller must have verified it.
    package init?(_ bytes: [UInt8], sha256: [UInt8]) {
        precondition(sha256.count == DictionaryCoding.hashByteCount)
        guard !bytes.isEmpty, bytes.count <= Self.maxBytes else { return nil }
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        copy.copyBytes(from: bytes)
        self.bytes = UnsafeRawBufferPointer(copy)
        self.sha256 = sha256
    }

    deinit { bytes.deallocate() }

    package var byteCount: Int { bytes.count }

    /// The binary logarithm of the largest window of a zstd frame. RFC 9842, section 5: clients decode windows of
    /// 8 MB or 1.25 times the dictionary, whichever is greater, up to 128 MB. Most encoders know only powers of two,
    /// so the limit is rounded up to one.
    var maxWindowLog: Int32 {
        let byteCount = min(bytes.count + bytes.count / 4, 128 << 20)
        return max(ZstdDecoder.maxWindowLog, Int32(Int.bitWidth - (byteCount - 1).leadingZeroBitCount))
    }
}

/// A content coding that uses a dictionary (RFC 9842, sections 4 and 5). A body begins with a magic number and the
/// SHA-256 of the dictionary.
package enum DictionaryCoding: String, CaseIterable, Sendable {
    case dcb, dcz

    static let hashByteCount = 32

    /// The codings whose libraries can decode with a dictionary. `dcb` needs brotli 1.1; Debian 12 has 1.0.9.
    package static let available = allCases.filter { coding in
        switch coding {
        case .dcb: CodingLibrary.brotli?.attachDictionary != nil
        case .dcz: CodingLibrary.zstd != nil
        }
    }

    /// The bytes at the start of a body, without the digest. For `dcz` they are the header of a zstd frame that
    /// decoders skip, so that `zstd -D` decodes the whole body.
    var magic: [UInt8] {
        switch self {
        case .dcb: [0xFF, 0x44, 0x43, 0x42]
        case .dcz: [0x5E, 0x2A, 0x4D, 0x18, 0x20, 0x00, 0x00, 0x00]
        }
    }

    /// Returns a decoder; nil if the library is not available.
    func decoder(_ dictionary: CompressionDictionary) -> (any CodingDecoder)? {
        let content: (any CodingDecoder)? =
            switch self {
            case .dcb: BrotliDecoder(dictionary: dictionary)
            case .dcz: ZstdDecoder(dictionary: dictionary)
            }
        return content.map { DictionaryDecoder(header: magic + dictionary.sha256, content: $0) }
    }
}

/// Decodes a body whose header names a dictionary. A body that was made with another dictionary is invalid.
private final class DictionaryDecoder: CodingDecoder {
    private let header: [UInt8]
    private let content: any CodingDecoder
    private var headerByteCount = 0

    init(header: [UInt8], content: any CodingDecoder) { (self.header, self.content) = (header, content) }

    var isComplete: Bool { headerByteCount == header.count && content.isComplete }

    func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> (
        consumed: Int, produced: Int
    )? {
        let count = min(input.count, header.count - headerByteCount)
        guard input.prefix(count).elementsEqual(header[headerByteCount..<headerByteCount + count]) else {
            return nil
        }
        headerByteCount += count
        guard count < input.count else { return count > 0 ? (count, 0) : content.decode(input, into: output) }
        let rest = UnsafeRawBufferPointer(rebasing: input[count...])
        return content.decode(rest, into: output).map { (count + $0.consumed, $0.produced) }
    }
}

/// Compresses bodies with a dictionary. Any thread may use it.
package enum DictionaryEncoder {
    /// Level 6 with long-distance matching takes 7 ms for 1 MB and 37 ms for 8 MB. A higher level saves no bytes when
    /// a line has changed, and level 3 finds fewer of the short matches in a rebuilt bundle.
    private static let level: Int32 = 6
    /// Larger bodies are not compressed: within 8 MB, every window is one that all clients decode.
    package static let maxBodyBytes = 8 << 20

    // ZSTD_c_compressionLevel, ZSTD_c_windowLog, ZSTD_c_enableLongDistanceMatching and ZSTD_c_checksumFlag.
    private static let compressionLevel: Int32 = 100
    private static let windowLog: Int32 = 101
    private static let enablesLongDistanceMatching: Int32 = 160
    private static let checksumFlag: Int32 = 201
    private static let minWindowLog = 10

    /// Returns the body in the coding `dcz`; nil if it has more than `maxBytes` bytes then, is too large, or libzstd
    /// is not available.
    package static func dcz(
        _ body: [UInt8], with dictionary: CompressionDictionary, maxBytes: Int
    ) -> [UInt8]? {
        guard body.count <= maxBodyBytes, let zstd = CodingLibrary.zstd, let context = zstd.createCCtx()
        else {
            return nil
        }
        defer { _ = zstd.freeCCtx(context) }
        // A window that includes the whole body keeps the dictionary usable up to the end.
        let log = max(minWindowLog, Int.bitWidth - max(0, body.count - 1).leadingZeroBitCount)
        let parameters = [
            (compressionLevel, level), (windowLog, Int32(log)), (enablesLongDistanceMatching, 1),
            (checksumFlag, 1),
        ]
        for (parameter, value) in parameters { _ = zstd.setCParameter(context, parameter, value) }
        let bytes = dictionary.bytes
        guard zstd.isError(zstd.referEncoderPrefix(context, bytes.baseAddress, bytes.count)) == 0 else {
            return nil
        }
        let header = DictionaryCoding.dcz.magic + dictionary.sha256
        let frame = [UInt8](unsafeUninitializedCapacity: zstd.compressBound(body.count)) { buffer, count in
            let written = body.withUnsafeBytes {
                zstd.compress(context, buffer.baseAddress, buffer.count, $0.baseAddress, $0.count)
            }
            count = zstd.isError(written) == 0 && header.count + written <= maxBytes ? written : 0
        }
        return frame.isEmpty ? nil : header + frame
    }
}
