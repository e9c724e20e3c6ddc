internal import Bundles
internal import Codings
package import Digest
internal import Glibc
package import Store
package import System
package import Web

/// A response in the form that all archive formats share. Readers produce it, and writers consume it.
package struct ArchivedResponse: Sendable {
    /// The URL as the archive writes it. It may be invalid.
    package var url: String
    package var method = "GET"
    /// The known request headers. Empty if the archive does not contain the request.
    package var requestFields = HTTPFields()
    package var status: Int
    /// The response headers.
    package var fields: HTTPFields
    /// The body without transfer and content codings, unless `notes.flags` contain `.isCoded`. Nil if the
    /// response has no body.
    package var body: ArchivedBody?
    /// The time of the response, in seconds since 1970.
    package var fetched: Int64
    /// The title of the document.
    package var title: String?
    /// Larder's own metadata; nil if another program wrote the archive.
    package var notes: ArchiveNotes?

    package init(url: String, status: Int, fields: HTTPFields, body: ArchivedBody?, fetched: Int64) {
        self.url = url
        self.status = status
        self.fields = fields
        self.body = body
        self.fetched = fetched
    }

    /// The digest of the body that the archive states. Revisit records refer to it.
    var payloadDigest: Digest?
    /// Whether links of the body were changed from file paths back to URLs. They may be spelled differently
    /// from the original links.
    var hasRestoredLinks = false
    /// Faults that do not prevent the import of the response.
    var doubts: [ArchiveFault] = []
    /// The request that the response answers, if the archive contains that request with its body. Nil if only
    /// the method is known.
    var requestKey: RequestKey?

    /// The digests and signatures in the header fields, checked as of the time when the response was received.
    func statedIntegrity(at url: WebURL) -> ResponseIntegrity {
        ResponseIntegrity(
            of: SignedMessage(method: method, url: url, status: status, fields: fields), at: fetched)
    }

    /// The key that distinguishes the response from others with the same URL.
    package var request: RequestKey {
        notes?.request ?? requestKey ?? RequestKey(method: method, body: [UInt8]().span)
    }
}

/// A body that is read from an archive or written to one.
package struct ArchivedBody: Sendable {
    /// Nil if the body was only measured.
    package var content: BodyContent?
    package var byteCount: Int
    package var sha256: Digest

    /// Deletes the file of a body that is stored in a file. Call this if the body is not used.
    package func discard() {
        if case .file(let path)? = content { unlink(path) }
    }
}

/// Larder's own metadata of a response, which the origin did not send. It is written as JSON to a header field of the
/// WARC record or a member of the HAR entry that other programs ignore.
package struct ArchiveNotes: Sendable, Equatable {
    /// 0 for a page, 1 for an asset.
    package var role: UInt8 = 1
    package var request = RequestKey.get
    /// The text of the response's `VaryKey`.
    package var variant = ""
    package var flags: ResponseFlags = []
    package var referrer: String?

    package init() {}

    /// The flags that an archive may set. The network zone is not among them, because it decides which zones the
    /// links of a response may request, and archives are untrusted.
    private static let importableFlags: ResponseFlags = [
        .isInvalidated, .isPart, .isSoftNotFound, .hadOriginHeader, .isPrivate, .isCoded, .saysNofollow,
        .saysNoindex, .claimedNonPublicZone,
    ]

    /// Parses untrusted JSON. Returns nil if it does not have the form that Larder writes.
    package init?(_ json: JSONValue) {
        guard let role = json["role"]?.int, role == 0 || role == 1 else { return nil }
        self.role = UInt8(role)
        request = RequestKey(stored: json["request"]?.string ?? "")
        variant = json["variant"]?.string ?? ""
        flags = ResponseFlags(rawValue: UInt16(truncatingIfNeeded: json["flags"]?.int ?? 0))
            .intersection(Self.importableFlags)
        referrer = json["referrer"]?.string
    }
}

extension ArchiveNotes: JSONObject {
    package var members: JSONMembers {
        var flags = flags
        if !flags.isDisjoint(with: .zoneFlags) { flags.insert(.claimedNonPublicZone) }
        flags.formIntersection(Self.importableFlags)
        return [
            "role": Int(role), "request": IfAny(request == .get ? nil : request.text),
            "variant": IfAny(variant.isEmpty ? nil : variant),
            "flags": IfAny(flags.isEmpty ? nil : Int(flags.rawValue)), "referrer": IfAny(referrer),
        ]
    }
}

/// An item that a reader finds in an archive.
package enum ArchivedItem: Sendable {
    case response(ArchivedResponse)
    /// A response whose body is that of another one, which usually comes earlier in the archive.
    case revisit(ArchivedResponse, of: ArchivedOriginal)
    /// An item that is not a response, for example a description of the archive.
    case other
    case fault(ArchiveFault)
}

/// A reference to the response that has the body of a revisit.
package struct ArchivedOriginal: Sendable {
    package var url: String?
    package var payloadDigest: Digest?
}

/// A problem with a part of an archive. The other parts are still read.
package struct ArchiveFault: Sendable, Equatable {
    package enum Severity: String, Sendable {
        /// The part is invalid and was not imported.
        case refused
        /// The part was imported, although it looks wrong.
        case doubtful
        /// The part is valid, but does not belong to the site and was not imported.
        case leftOut
    }

    package var severity = Severity.refused
    /// The URL of the response; nil if it is not known.
    package var url: String?
    /// The name of the archive, and a byte offset or an entry in it.
    package var place: String
    package var reason: String
    /// The stored site that the URL belongs to, for `leftOut`.
    package var site: String?

    package init(_ reason: String, url: String? = nil, at place: String, _ severity: Severity = .refused) {
        self.reason = reason
        self.url = url
        self.place = place
        self.severity = severity
    }
}

extension ArchiveFault: JSONObject {
    package var members: JSONMembers {
        ["gravity": severity.rawValue, "url": url, "place": place, "reason": reason]
    }
}

/// Reads the items of an archive in order. A reader is used by one thread.
///
/// Archives are untrusted: a damaged part gives an item `.fault`, and reading continues after it if possible. Readers
/// throw only if the file cannot be read at all.
package protocol ArchiveReader: AnyObject {
    /// Returns the next item, or nil at the end. Readers limit all sizes and counts, so that every input ends.
    func next() throws(ArchiveError) -> ArchivedItem?
    /// The URL of the archive's first page, if the archive names one.
    var start: String? { get }
    /// The signer of the content read so far: the digest of a public key. Nil if there is no valid signature.
    var signer: String? { get }
}

extension ArchiveReader {
    package var start: String? { nil }
    package var signer: String? { nil }
}

/// Writes responses to an archive. A writer is used by one thread. The archive appears under its own name
/// only when `finish` has returned.
package protocol ArchiveWriter: AnyObject {
    /// Writes a response with its body. Returns false if the format cannot contain it.
    func write(_ response: ArchivedResponse) throws(ArchiveError) -> Bool
    /// Completes the archive and returns the files that were written.
    func finish() throws(ArchiveError) -> [ArchiveFile]
}

/// A file that an export wrote.
package struct ArchiveFile: Sendable, Equatable {
    package let path: String
    package let byteCount: Int64
    /// The checksums of the written blocks. Nil for a folder, and for a file that another program wrote.
    var sums: [UInt32]?

    /// Whether the bytes on the disk are those that were written. Always true without `sums`.
    func isAsWritten() throws(ArchiveError) -> Bool {
        guard let sums else { return true }
        return try ArchiveError.wrapping { () throws(SystemError) in
            let file = try File(path, O_RDONLY)
            // Evicts the file from the page cache, so that the bytes are read from the disk.
            posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_DONTNEED)
            guard file.byteCount == Int(byteCount) else { return false }
            for (number, sum) in sums.enumerated() {
                let start = Int64(number * ArchiveOutput.blockBytes)
                let block = try file.read(from: start, byteCount: ArchiveOutput.blockBytes)
                guard block.withBytes({ Checksum.of($0) }) == sum else { return false }
            }
            return true
        }
    }
}

/// The error that stopped reading or writing an archive. Its description says what to try next.
package struct ArchiveError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Kind: Sendable, Equatable {
        /// The archive, a path or an option is wrong.
        case input
        /// The disk, the store or an installed program failed.
        case machine
        /// The user interrupted the work.
        case interrupted
    }

    package let kind: Kind
    package let description: String
    package let remedy: Remedy?

    package init(_ kind: Kind, _ description: String, remedy: Remedy? = nil) {
        self.kind = kind
        self.description = description
        self.remedy = remedy
    }

    package init(_ error: SystemError) {
        let isOfInput = [ENOENT, EACCES, EISDIR, ENOTDIR, EEXIST].contains(error.code)
        let isFull = [ENOSPC, EDQUOT, EFBIG].contains(error.code)
        let advice =
            isFull ? "free some space, or name a place on another disk" : error.advice ?? "name another one"
        self.init(isOfInput ? .input : .machine, "\(error.problem); \(advice)")
    }

    package init(_ error: StoreError) {
        self.init(error.reason == .request ? .input : .machine, error.description, remedy: error.remedy)
    }

    /// Runs a closure and converts its error.
    static func wrapping<Value: ~Copyable>(
        _ body: () throws(SystemError) -> Value
    ) throws(ArchiveError) -> Value {
        do throws(SystemError) { return try body() } catch { throw ArchiveError(error) }
    }

    /// Like `wrapping`, for a file that has a temporary name until it is complete. The message names `path`.
    static func writing<Value: ~Copyable>(
        _ path: String, _ body: () throws(SystemError) -> Value
    ) throws(ArchiveError) -> Value {
        do throws(SystemError) { return try body() } catch {
            let converted = ArchiveError(SystemError(error.code, doing: "write", path, advice: error.advice))
            throw ArchiveError(.machine, converted.description)
        }
    }

    /// Runs a closure that uses the store, and converts its error.
    static func storing<Value>(_ body: () throws(StoreError) -> Value) throws(ArchiveError) -> Value {
        do throws(StoreError) { return try body() } catch { throw ArchiveError(error) }
    }
}

/// The limits for sizes in an archive, against malformed files and decompression bombs. A part beyond a limit is
/// refused with a fault, and the other parts are still read.
package struct ArchiveLimits: Sendable {
    /// The maximum size of one body.
    package var maxBodyBytes = 8 << 30
    /// The maximum size of a record's header, and of the HTTP header in it.
    package var maxHeadBytes = 1 << 20
    /// The maximum size of a line that is read as a whole.
    package var maxLineBytes = 256 << 10
    /// An archive may expand to `expansionFactor` times its size plus `expansionAllowanceBytes`. The allowance admits
    /// small files that compress extremely well: gzip reduces zeros to a thousandth, and other formats to less.
    package var expansionFactor = 200
    package var expansionAllowanceBytes = 512 << 20

    package init() {}

    /// Creates limits with the allowance that the user set. Without one, the allowance is at most a quarter
    /// of the free space of the disk.
    package init(allowanceBytes: Int64?, freeBytes: Int64?) {
        if let allowanceBytes {
            expansionAllowanceBytes = Int(clamping: allowanceBytes)
        } else if let freeBytes {
            expansionAllowanceBytes = min(expansionAllowanceBytes, Int(clamping: freeBytes / 4))
        }
    }

    /// The limits for an archive that Larder has written itself. It may be of any size and cannot be an archive bomb.
    package static var own: ArchiveLimits {
        var limits = ArchiveLimits()
        (limits.maxBodyBytes, limits.expansionAllowanceBytes) = (.max / 4, .max / 4)
        return limits
    }

    /// Whether expanded content of `byteCount` bytes is too large for `packed` compressed bytes of the archive.
    func isExceeded(_ byteCount: Int, outOf packed: Int64) -> Bool {
        let (proportional, isOverflow) = packed.multipliedReportingOverflow(by: Int64(expansionFactor))
        return !isOverflow && Int64(byteCount) - proportional > Int64(expansionAllowanceBytes)
    }

    /// The message for content beyond the limit.
    var excessMessage: String {
        "\(Self.excessPhrase) \(expansionFactor) times its size plus \(expansionAllowanceBytes) bytes"
    }

    private static let excessPhrase = "it expands to more than"

    /// Whether the reason of a fault is this limit, which the user can raise.
    static func isExcess(_ reason: String) -> Bool { reason.contains(excessPhrase) }
}

/// The size to which an archive has expanded so far, with its records and bodies, to compare it with the limits. All
/// WARC files in a WACZ share one instance. It is used by one thread.
final class ArchiveGrowth {
    let limits: ArchiveLimits
    /// The sum of the expanded bytes. Pass an earlier value to ``refuse(since:)``.
    private(set) var expandedByteCount = 0
    private var refusedParts = 0

    /// The maximum number of refused parts. Each one costs the time to expand it up to the limit, so the rest of the
    /// archive is not read beyond this number.
    private static let maxRefusedParts = 16

    init(_ limits: ArchiveLimits) { self.limits = limits }

    /// Whether so many parts were refused that the rest of the archive is not read.
    var hasTooManyRefusals: Bool { refusedParts > Self.maxRefusedParts }

    func add(_ byteCount: Int) { expandedByteCount += byteCount }

    /// - Parameter packed: The number of compressed bytes of the archive that were read so far.
    func isExceeded(_ packed: Int64) -> Bool { limits.isExceeded(expandedByteCount, outOf: packed) }

    /// Resets the sum to its value before a refused part, so that this part does not count against later ones.
    func refuse(since earlierByteCount: Int) {
        expandedByteCount = earlierByteCount
        refusedParts += 1
    }

    /// Returns the limits for the next body: the allowance without the part that earlier records have used.
    func remainingLimits(_ packed: Int64) -> ArchiveLimits {
        let (proportional, isOverflow) = packed.multipliedReportingOverflow(by: Int64(limits.expansionFactor))
        guard !isOverflow, Int64(expandedByteCount) > proportional else { return limits }
        let used = Int(Int64(expandedByteCount) - proportional)
        var remaining = limits
        remaining.expansionAllowanceBytes = max(0, limits.expansionAllowanceBytes - used)
        return remaining
    }
}
