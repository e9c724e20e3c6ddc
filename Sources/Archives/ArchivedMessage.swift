internal import Codings
internal import Digest
internal import Web

/// Parses the HTTP message in a record piece by piece, and removes transfer and content codings from its
/// body.
///
/// Pass all pieces to ``append(_:)`` and then call ``finish()``. `flaw` is set when the message is not valid.
///
/// Many tools decode bodies and leave the headers unchanged. So a header `Transfer-Encoding: chunked` or
/// `Content-Encoding: gzip` is only a hint here: the first bytes decide whether the body really has the coding. For the
/// same reason a digest in an archive may be that of the body with or without its transfer coding, and both are
/// computed.
final class ArchivedMessage {
    struct ParsedMessage {
        /// The status line of a response, or the request line of a request.
        let startLine: String
        let fields: HTTPFields
        let body: ArchivedBody
        /// Statements of the headers about the body that are wrong.
        let doubts: [String]
    }

    private let limits: ArchiveLimits
    private let spool: BodySpool
    /// The digest of the body with all of its codings, to compare with the archive's digest.
    private var encodedDigest: DigestStream?
    /// The digest of the body without its transfer coding, because some tools compute this one.
    private var unchunkedDigest: DigestStream?
    /// The bytes of the head until it is complete.
    private var head: [UInt8] = []
    private var startLine = ""
    private(set) var fields = HTTPFields()
    private var isHeadComplete: Bool
    private var chunkedDecoder: ChunkedDecoder?
    /// Whether `chunkedDecoder` is set. Unlike that property, it can be read while the decoder runs.
    private var isChunked = false
    private var codings: Codings = .none
    /// Whether content codings are kept, because Larder stored the body in them.
    private let keepsCodings: Bool
    /// The reason why the message is not valid.
    private(set) var flaw: String?
    /// The size of the body without its transfer coding, but with its content codings.
    private var unchunkedByteCount = 0
    /// The first content coding that is not supported.
    private var unknownCoding: String?

    /// The state of the content codings. It begins as `none`, and as `undetermined` if the headers declare a coding. When
    /// enough bytes of the body are known, it becomes `decoding` if they decode, else `none`.
    private enum Codings {
        /// The body is stored as it is.
        case none
        /// The first bytes of the body, until it is known whether they are encoded.
        case undetermined(BodyDecoder, [UInt8])
        case decoding(BodyDecoder)
    }

    /// The number of bytes of the body that show whether it is encoded. A shorter body is tried as a whole.
    private static let minProbeBytes = 512

    /// - Parameters:
    ///   - digest: The algorithm of the digest to compare; nil if there is none.
    ///   - hasHead: False for a body without headers.
    init(
        _ storage: BodyStorage, digest: DigestAlgorithm?, hasHead: Bool = true, keepsCodings: Bool = false,
        _ limits: ArchiveLimits
    ) {
        self.limits = limits
        isHeadComplete = !hasHead
        self.keepsCodings = keepsCodings
        spool = BodySpool(storage)
        if let digest {
            encodedDigest = DigestStream(digest)
            unchunkedDigest = DigestStream(digest)
        }
    }

    /// Parses the next piece. Returns false if the message is not valid, with the reason in `flaw`.
    func append(_ piece: UnsafeRawBufferPointer) throws(ArchiveError) -> Bool {
        guard !isHeadComplete else { return try appendBody(piece) }
        // The empty line may be split between two pieces.
        let searchStart = max(0, head.count - 3)
        head.append(contentsOf: piece)
        guard let end = Self.endOfHead(head, from: searchStart) else {
            if head.count > limits.maxHeadBytes { flaw = "its headers are over \(limits.maxHeadBytes) bytes" }
            return flaw == nil
        }
        let rest = Array(head[end...])
        head.removeSubrange(end...)
        try readHead()
        return try rest.withBytes { (bytes) throws(ArchiveError) in
            bytes.isEmpty ? true : try appendBody(bytes)
        }
    }

    /// Completes the message. Returns nil if it is not valid, with the reason in `flaw`.
    func finish() throws(ArchiveError) -> ParsedMessage? {
        if !isHeadComplete {
            guard !head.isEmpty else {
                flaw = flaw ?? "it is empty"
                return nil
            }
            try readHead()
        }
        if let rest = chunkedDecoder?.undeterminedBytes {
            try rest.withBytes { (bytes) throws(ArchiveError) in try decode(bytes) }
        }
        if case .undetermined(let decoder, let bytes) = codings {
            try beginDecoding(decoder, bytes, isWholeBody: true)
        }
        if case .decoding(let decoder) = codings, flaw == nil { flaw = decoder.truncation?.description }
        guard flaw == nil else { return nil }
        return ParsedMessage(startLine: startLine, fields: fields, body: try spool.finish(), doubts: doubts)
    }

    /// The number of bytes of the decoded body.
    var byteCount: Int { spool.byteCount }

    /// The statements of the headers about the body that are wrong. The response is imported all the same.
    private var doubts: [String] {
        var doubts: [String] = []
        if let unknownCoding {
            doubts.append("its content coding \(unknownCoding) is not supported: its body is stored encoded")
        }
        // Tools that decode a body leave the length of the encoded body in the headers.
        let isAlreadyDecoded =
            if case .decoding = codings { false } else { fields.isCoded && unknownCoding == nil }
        if let declared = fields.contentLength, declared > unchunkedByteCount, !isChunked,
            !isAlreadyDecoded || keepsCodings
        {
            doubts.append("its headers declare \(declared) bytes, but it has \(unchunkedByteCount)")
        }
        return doubts
    }

    /// Whether the body has the digest, with or without its transfer coding. Call this at most once, after
    /// `finish`.
    func matches(_ digest: Digest) -> Bool {
        encodedDigest.take()?.finish() == digest || unchunkedDigest.take()?.finish() == digest
    }

    // MARK: - Head

    /// Returns the offset after the empty line that ends the head, or nil if the line is not there yet.
    private static func endOfHead(_ bytes: [UInt8], from start: Int) -> Int? {
        var index = start
        while let line = bytes[index...].firstIndex(of: 0x0A) {
            let next = line + 1
            if next < bytes.count, bytes[next] == 0x0A { return next + 1 }
            if next + 1 < bytes.count, bytes[next] == 0x0D, bytes[next + 1] == 0x0A { return next + 2 }
            index = next
        }
        return nil
    }

    /// Parses the complete head, and prepares the decoders for the codings that it declares.
    private func readHead() throws(ArchiveError) {
        isHeadComplete = true
        let end = head.firstIndex(of: 0x0A) ?? head.count
        startLine = String(decoding: head[..<end].filter { $0 != 0x0D }, as: UTF8.self)
        let lines = Array(head[min(end + 1, head.count)...])
        fields = HTTPFields(block: lines.span, isReceived: true)
        head = []
        if fields.elements("Transfer-Encoding").last?.lowercased() == "chunked" {
            chunkedDecoder = ChunkedDecoder()
            isChunked = true
        }
        guard !keepsCodings, fields.isCoded else { return }
        // Some servers name a character set here by mistake, which does no harm.
        unknownCoding = fields.elements("Content-Encoding").map { $0.lowercased() }.first {
            ContentCoding(named: $0) == nil && !["identity", "none"].contains($0)
                && TextEncoding(label: $0) == nil
        }
        do throws(CodingError) {
            if let decoder = try BodyDecoder(fields) { codings = .undetermined(decoder, []) }
        } catch {
            flaw = error.description
        }
    }

    // MARK: - Body

    private func appendBody(_ piece: UnsafeRawBufferPointer) throws(ArchiveError) -> Bool {
        encodedDigest?.update(Span(_unsafeElements: piece.assumingMemoryBound(to: UInt8.self)))
        guard flaw == nil else { return false }
        if chunkedDecoder != nil {
            try chunkedDecoder?.decode(piece) { content throws(ArchiveError) in try decode(content) }
            if let fault = chunkedDecoder?.fault { flaw = fault }
        } else {
            try decode(piece)
        }
        return flaw == nil
    }

    /// Removes the content codings of a piece of the body without its transfer coding.
    private func decode(_ piece: UnsafeRawBufferPointer) throws(ArchiveError) {
        if isChunked {
            unchunkedDigest?.update(Span(_unsafeElements: piece.assumingMemoryBound(to: UInt8.self)))
        }
        guard flaw == nil else { return }
        unchunkedByteCount += piece.count
        switch codings {
        case .none: try store(piece)
        case .undetermined(let decoder, var bytes):
            bytes.append(contentsOf: piece)
            codings = .undetermined(decoder, bytes)
            if bytes.count >= Self.minProbeBytes { try beginDecoding(decoder, bytes) }
        case .decoding(let decoder): try runDecoder(decoder, on: piece)
        }
    }

    /// Leaves the state `undetermined`: decodes the first bytes of the body, or stores them unchanged if they are not
    /// encoded.
    private func beginDecoding(
        _ decoder: BodyDecoder, _ bytes: [UInt8], isWholeBody: Bool = false
    ) throws(ArchiveError) {
        codings = .none
        var decoded: [UInt8] = []
        var isNotEncoded = false
        bytes.withUnsafeBytes { bytes in
            do throws(CodingError) {
                try decoder.decode(bytes) { (content) throws(CodingError) in
                    decoded += content
                } wrapping: {
                    $0
                }
            } catch {
                isNotEncoded = true
            }
        }
        // A body without a signature of its coding that does not decode completely is not encoded.
        let hasSignature = bytes.starts(with: [0x1F, 0x8B]) || bytes.starts(with: [0x28, 0xB5, 0x2F, 0xFD])
        if isWholeBody, !hasSignature, decoder.truncation != nil { isNotEncoded = true }
        try (isNotEncoded ? bytes : decoded).withBytes { (bytes) throws(ArchiveError) in try store(bytes) }
        if !isNotEncoded { codings = .decoding(decoder) }
    }

    /// Decodes a piece of an encoded body and stores the content. Sets `flaw` if it is damaged or expands too much.
    private func runDecoder(_ decoder: BodyDecoder, on piece: UnsafeRawBufferPointer) throws(ArchiveError) {
        var failure: ArchiveError?
        do throws(CodingError) {
            try decoder.decode(piece) { (content) throws(CodingError) in
                guard failure == nil, flaw == nil else { return }
                do throws(ArchiveError) { try store(content) } catch { failure = error }
                if limits.isExceeded(spool.byteCount, outOf: Int64(decoder.encodedByteCount)) {
                    flaw = "its body: \(limits.excessMessage)"
                }
            } wrapping: {
                $0
            }
        } catch {
            flaw = error.description
        }
        if let failure { throw failure }
    }

    private func store(_ piece: UnsafeRawBufferPointer) throws(ArchiveError) {
        guard spool.byteCount + piece.count <= limits.maxBodyBytes else {
            flaw = "its body is over \(limits.maxBodyBytes) bytes"
            return
        }
        try spool.append(piece)
    }
}

/// Decodes the chunked transfer coding (RFC 9112, section 7.1). A body that does not begin with a chunk is
/// passed on unchanged, because many tools decode the body and leave the header.
///
/// The states follow the grammar: `size` → `content` → `end` → `size` …, and after a size of 0 `trailer` → `done`. If the
/// first line is not a size, the state becomes `notChunked` and all bytes are passed on. An invalid line after the first
/// chunk sets `fault`.
struct ChunkedDecoder {
    private enum State {
        /// In the line with the size of a chunk.
        case size
        /// In a chunk with this number of bytes left.
        case content(Int)
        /// In the line break after a chunk.
        case end
        /// In the fields after the last chunk, up to an empty line.
        case trailer
        /// After the message. Further bytes are ignored.
        case done
        case notChunked
    }

    private var state = State.size
    /// The bytes of the line that is not complete yet.
    private var line: [UInt8] = []
    /// Whether no size was read yet.
    private var isFirstLine = true
    private(set) var fault: String?

    /// A longer line is not a line of the chunked coding.
    private static let maxLineBytes = 4096

    /// The bytes of a body that is too short to tell whether it is chunked. They are then the body.
    var undeterminedBytes: [UInt8]? {
        if case .size = state, isFirstLine, !line.isEmpty { line } else { nil }
    }

    /// Decodes the next piece and passes the content to `emit`.
    mutating func decode(
        _ piece: UnsafeRawBufferPointer, _ emit: (UnsafeRawBufferPointer) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        var rest = piece
        while !rest.isEmpty, fault == nil {
            switch state {
            case .notChunked:
                return try emit(rest)
            case .done:
                return
            case .content(let left):
                let count = min(left, rest.count)
                try emit(UnsafeRawBufferPointer(rebasing: rest[..<count]))
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                state = left == count ? .end : .content(left - count)
            case .size, .end, .trailer:
                guard let end = rest.firstIndex(of: 0x0A) else {
                    line.append(contentsOf: rest)
                    if line.count > Self.maxLineBytes { try refuseLine(emit) }
                    return
                }
                line.append(contentsOf: rest[...end])
                rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
                try endLine(emit)
            }
        }
    }

    private mutating func endLine(
        _ emit: (UnsafeRawBufferPointer) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        let text = line.prefix { $0 != 0x0D && $0 != 0x0A }
        switch state {
        case .size:
            guard let size = Self.size(text) else { return try refuseLine(emit) }
            isFirstLine = false
            state = size == 0 ? .trailer : .content(size)
        case .end:
            guard text.isEmpty else { return try refuseLine(emit) }
            state = .size
        case .trailer:
            if text.isEmpty { state = .done }
        case .content, .done, .notChunked:
            break
        }
        line.removeAll(keepingCapacity: true)
    }

    /// Handles an invalid line: as the beginning of a body that is not chunked, or as damage.
    private mutating func refuseLine(
        _ emit: (UnsafeRawBufferPointer) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        guard isFirstLine else {
            fault = "its chunks are damaged"
            return
        }
        state = .notChunked
        let line = line
        self.line = []
        try line.withBytes { (bytes) throws(ArchiveError) in try emit(bytes) }
    }

    /// Parses the hexadecimal size before a chunk extension. At most 15 digits fit into an `Int`.
    private static func size(_ text: ArraySlice<UInt8>) -> Int? {
        let digits = text.prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 && $0 != 0x09 }
        guard (1...15).contains(digits.count) else { return nil }
        return Int(String(decoding: digits, as: UTF8.self), radix: 16).flatMap { $0 < 0 ? nil : $0 }
    }
}
