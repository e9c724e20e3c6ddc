internal import Codings
internal import Digest
internal import Web

/// Parses the HTTP message in a record piece by piece, and removes transfer and content codings from its
/// body.
///
/// Pass all pieces to ``take(_:)`` and then call ``finish()``. `flaw` is set when the message is not valid.
final class ArchivedMessage {
    /// The parsed message.
    struct Whole {
        /// The status line of a response, or the request line of a request.
        let start: String
        let fields: HTTPFields
        let body: ArchivedBody
        /// Statements of the headers about the body that are wrong.
        let doubts: [String]
    }

    private let limits: ArchiveLimits
    private let spool: BodySpool
    /// The digest of the body with all of its codings, to compare with the archive's digest.
    private var asItStands: DigestStream?
    /// The digest of the body without its transfer coding, because some tools compute this one.
    private var withoutChunks: DigestStream?
    private var head: [UInt8] = []
    private var start = ""
    private(set) var fields = HTTPFields()
    private var hasHead: Bool
    private var chunks: ChunkReader?
    /// Whether `chunks` is set. It can be read while `chunks` is being modified.
    private var isChunked = false
    private var codings: Codings = .none
    /// Whether content codings are kept, because Larder stored the body in them.
    private let keepsCodings: Bool
    private(set) var flaw: String?
    /// The size of the body without its transfer coding, but with its content codings.
    private var stoodByteCount = 0
    private var unknownCoding: String?

    private enum Codings {
        case none
        /// The first bytes of the body, until it is known whether they are encoded. Some tools decode the
        /// body and leave the header.
        case untried(BodyDecoder, [UInt8])
        case decoding(BodyDecoder)
    }

    private static let leastTried = 512

    /// - Parameters:
    ///   - digest: The algorithm of the digest to compare; nil if there is none.
    ///   - hasHead: False for a body without headers.
    init(
        _ keeping: BodyKeeping, digest: DigestAlgorithm?, hasHead: Bool = true, keepsCodings: Bool = false,
        _ limits: ArchiveLimits
    ) {
        self.limits = limits
        self.hasHead = !hasHead
        self.keepsCodings = keepsCodings
        spool = BodySpool(keeping)
        if let digest {
            asItStands = DigestStream(digest)
            withoutChunks = DigestStream(digest)
        }
    }

    /// Parses the next piece. Returns false if no more is needed, with the reason in `flaw`.
    func take(_ piece: UnsafeRawBufferPointer) throws(ArchiveError) -> Bool {
        guard !hasHead else { return try takeBody(piece) }
        // The empty line may be split between two pieces.
        let before = max(0, head.count - 3)
        head.append(contentsOf: piece)
        guard let end = Self.endOfHead(head, from: before) else {
            if head.count > limits.head { flaw = "its headers are over \(limits.head) bytes" }
            return flaw == nil
        }
        let rest = Array(head[end...])
        head.removeSubrange(end...)
        try readHead()
        return try rest.withBytes { (bytes) throws(ArchiveError) in bytes.isEmpty ? true : try takeBody(bytes)
        }
    }

    /// Completes the message. Returns nil if it is not valid, with the reason in `flaw`.
    func finish() throws(ArchiveError) -> Whole? {
        if !hasHead {
            guard !head.isEmpty else {
                flaw = flaw ?? "it is empty"
                return nil
            }
            try readHead()
        }
        if let rest = chunks?.untold {
            try rest.withBytes { (bytes) throws(ArchiveError) in try decode(bytes) }
        }
        if case .untried(let decoder, let bytes) = codings { try begin(decoder, bytes, isAll: true) }
        if case .decoding(let decoder) = codings, flaw == nil { flaw = decoder.truncation?.description }
        guard flaw == nil else { return nil }
        return Whole(start: start, fields: fields, body: try spool.finish(), doubts: doubts)
    }

    /// The number of bytes of the decoded body.
    var byteCount: Int { spool.byteCount }

    private var doubts: [String] {
        var doubts: [String] = []
        if let unknownCoding {
            doubts.append("its content coding \(unknownCoding) is not supported: its body is stored encoded")
        }
        // Tools that decode a body leave the length of the encoded body in the headers.
        let isUndone = if case .decoding = codings { false } else { fields.isCoded && unknownCoding == nil }
        if let told = fields.contentLength, told > stoodByteCount, !isChunked, !isUndone || keepsCodings {
            doubts.append("its headers declare \(told) bytes, but it has \(stoodByteCount)")
        }
        return doubts
    }

    /// Whether the body has the digest, with or without its transfer coding. Call this at most once, after
    /// `finish`.
    func has(_ digest: Digest) -> Bool {
        asItStands.take()?.finish() == digest || withoutChunks.take()?.finish() == digest
    }

    // MARK: - Head

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

    private func readHead() throws(ArchiveError) {
        hasHead = true
        let end = head.firstIndex(of: 0x0A) ?? head.count
        start = String(decoding: head[..<end].filter { $0 != 0x0D }, as: UTF8.self)
        let lines = Array(head[min(end + 1, head.count)...])
        fields = HTTPFields(block: lines.span, isReceived: true)
        head = []
        if fields.elements("Transfer-Encoding").last?.lowercased() == "chunked" {
            chunks = ChunkReader()
            isChunked = true
        }
        guard !keepsCodings, fields.isCoded else { return }
        // Some servers name a character set here by mistake, which does no harm.
        unknownCoding = fields.elements("Content-Encoding").map { $0.lowercased() }.first {
            ContentCoding(named: $0) == nil && !["identity", "none"].contains($0)
                && TextEncoding(label: $0) == nil
        }
        do throws(CodingError) {
            if let decoder = try BodyDecoder(fields) { codings = .untried(decoder, []) }
        } catch {
            flaw = error.description
        }
    }

    // MARK: - Body

    private func takeBody(_ piece: UnsafeRawBufferPointer) throws(ArchiveError) -> Bool {
        asItStands?.update(Span(_unsafeElements: piece.assumingMemoryBound(to: UInt8.self)))
        guard flaw == nil else { return false }
        if chunks != nil {
            try chunks?.take(piece) { content throws(ArchiveError) in try decode(content) }
            if let fault = chunks?.fault { flaw = fault }
        } else {
            try decode(piece)
        }
        return flaw == nil
    }

    private func decode(_ piece: UnsafeRawBufferPointer) throws(ArchiveError) {
        if isChunked {
            withoutChunks?.update(Span(_unsafeElements: piece.assumingMemoryBound(to: UInt8.self)))
        }
        guard flaw == nil else { return }
        stoodByteCount += piece.count
        switch codings {
        case .none: try keep(piece)
        case .untried(let decoder, var bytes):
            bytes.append(contentsOf: piece)
            codings = .untried(decoder, bytes)
            if bytes.count >= Self.leastTried { try begin(decoder, bytes) }
        case .decoding(let decoder): try decode(piece, by: decoder)
        }
    }

    private func begin(_ decoder: BodyDecoder, _ bytes: [UInt8], isAll: Bool = false) throws(ArchiveError) {
        codings = .none
        var made: [UInt8] = []
        var isOther = false
        bytes.withUnsafeBytes { bytes in
            do throws(CodingError) {
                try decoder.decode(bytes) { (content) throws(CodingError) in
                    made += content
                } wrapping: {
                    $0
                }
            } catch {
                isOther = true
            }
        }
        // A body without a signature of its coding that does not decode completely is not encoded.
        let isMarked = bytes.starts(with: [0x1F, 0x8B]) || bytes.starts(with: [0x28, 0xB5, 0x2F, 0xFD])
        if isAll, !isMarked, decoder.truncation != nil { isOther = true }
        try (isOther ? bytes : made).withBytes { (bytes) throws(ArchiveError) in try keep(bytes) }
        if !isOther { codings = .decoding(decoder) }
    }

    private func decode(_ piece: UnsafeRawBufferPointer, by decoder: BodyDecoder) throws(ArchiveError) {
        var failure: ArchiveError?
        do throws(CodingError) {
            try decoder.decode(piece) { (content) throws(CodingError) in
                guard failure == nil, flaw == nil else { return }
                do throws(ArchiveError) { try keep(content) } catch { failure = error }
                if limits.isExceeded(spool.byteCount, outOf: Int64(decoder.encodedByteCount)) {
                    flaw = "its body: \(limits.excess)"
                }
            } wrapping: {
                $0
            }
        } catch {
            flaw = error.description
        }
        if let failure { throw failure }
    }

    private func keep(_ piece: UnsafeRawBufferPointer) throws(ArchiveError) {
        guard spool.byteCount + piece.count <= limits.body else {
            flaw = "its body is over \(limits.body) bytes"
            return
        }
        try spool.take(piece)
    }
}

/// Decodes the chunked transfer coding (RFC 9112, section 7.1). A body that does not begin with a chunk is
/// passed on unchanged, because many tools decode the body and leave the header.
struct ChunkReader {
    private enum State {
        case size
        case content(Int)
        case end, trailer, done
        /// The body is not chunked.
        case none
    }

    private var state = State.size
    private var line: [UInt8] = []
    private var isFirst = true
    private(set) var fault: String?

    private static let longestLine = 4096

    /// The bytes of a body that is too short to tell whether it is chunked. They are then the body.
    var untold: [UInt8]? { if case .size = state, isFirst, !line.isEmpty { line } else { nil } }

    mutating func take(
        _ piece: UnsafeRawBufferPointer, _ give: (UnsafeRawBufferPointer) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        var rest = piece
        while !rest.isEmpty, fault == nil {
            switch state {
            case .none:
                return try give(rest)
            case .done:
                return
            case .content(let left):
                let count = min(left, rest.count)
                try give(UnsafeRawBufferPointer(rebasing: rest[..<count]))
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                state = left == count ? .end : .content(left - count)
            case .size, .end, .trailer:
                guard let end = rest.firstIndex(of: 0x0A) else {
                    line.append(contentsOf: rest)
                    if line.count > Self.longestLine { try refuse(give) }
                    return
                }
                line.append(contentsOf: rest[...end])
                rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
                try endLine(give)
            }
        }
    }

    private mutating func endLine(
        _ give: (UnsafeRawBufferPointer) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        let text = line.prefix { $0 != 0x0D && $0 != 0x0A }
        switch state {
        case .size:
            guard let size = Self.size(text) else { return try refuse(give) }
            isFirst = false
            state = size == 0 ? .trailer : .content(size)
        case .end:
            guard text.isEmpty else { return try refuse(give) }
            state = .size
        case .trailer:
            if text.isEmpty { state = .done }
        case .content, .done, .none:
            break
        }
        line.removeAll(keepingCapacity: true)
    }

    private mutating func refuse(
        _ give: (UnsafeRawBufferPointer) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        guard isFirst else {
            fault = "its chunks are damaged"
            return
        }
        state = .none
        let line = line
        self.line = []
        try line.withBytes { (bytes) throws(ArchiveError) in try give(bytes) }
    }

    private static func size(_ text: ArraySlice<UInt8>) -> Int? {
        let digits = text.prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 && $0 != 0x09 }
        guard (1...15).contains(digits.count) else { return nil }
        return Int(String(decoding: digits, as: UTF8.self), radix: 16).flatMap { $0 < 0 ? nil : $0 }
    }
}
