internal import Codings
package import Digest
internal import Glibc
package import Store
package import System
package import Web

/// A response as archives have it: what every form of archive is written from, and read into.
package struct ArchivedResponse: Sendable {
    /// As the archive writes it.
    package var url: String
    package var method = "GET"
    package var requestFields = HTTPFields()
    package var status: Int
    package var fields: HTTPFields
    /// Without transfer and content codings, unless `notes` say that it is kept in one. Nil where there is
    /// none.
    package var body: ArchivedBody?
    /// Seconds since 1970.
    package var fetched: Int64
    /// Of the document.
    package var title: String?
    /// What a larder knows beside it; nil in an archive of somebody else.
    package var notes: ArchiveNotes?

    package init(url: String, status: Int, fields: HTTPFields, body: ArchivedBody?, fetched: Int64) {
        self.url = url
        self.status = status
        self.fields = fields
        self.body = body
        self.fetched = fetched
    }

    /// Of its body as the archive has it, where the archive says so: what revisits refer to.
    var payloadDigest: Digest?
    /// Links of its body were led to files, and are led to addresses again: they may be written in another way
    /// than they were.
    var isLedBack = false
    /// What speaks against it, though it is taken.
    var doubts: [ArchiveFault] = []
    /// Which request it answers, where the archive has that request with its body; nil for what its method
    /// tells.
    var requestKey: RequestKey?

    /// What it is told apart by from others at its address.
    package var request: RequestKey {
        notes?.request ?? requestKey ?? RequestKey(method: method, body: [UInt8]().span)
    }
}

/// A body on its way into an archive, or out of one.
package struct ArchivedBody: Sendable {
    /// Nil where it was only looked at.
    package var content: BodyContent?
    package var byteCount: Int
    package var sha256: Digest

    package init(content: BodyContent?, byteCount: Int, sha256: Digest) {
        self.content = content
        self.byteCount = byteCount
        self.sha256 = sha256
    }

    /// A file that nobody takes over goes.
    package func discard() {
        if case .file(let path)? = content { unlink(path) }
    }
}

/// What a larder knows of a response beside what its server said. Archives carry it in a field of their own,
/// which others pass over.
package struct ArchiveNotes: Sendable, Equatable {
    /// 0 for a page, 1 for an asset.
    package var role: UInt8 = 1
    package var request = RequestKey.get
    package var variant = ""
    package var flags: ResponseFlags = []
    package var referrer: String?

    package init() {}

    /// What an archive may say of itself. From where something came it may not: that decides where its links
    /// may lead.
    private static let mayCome: ResponseFlags = [
        .isInvalidated, .isPart, .isSoftNotFound, .askedByOrigin, .isPrivate, .isCoded, .saysNofollow,
        .saysNoindex, .wasNear,
    ]

    package init?(_ json: JSONValue) {
        guard let role = json["role"]?.int, role == 0 || role == 1 else { return nil }
        self.role = UInt8(role)
        request = RequestKey(stored: json["request"]?.string ?? "")
        variant = json["variant"]?.string ?? ""
        flags = ResponseFlags(rawValue: UInt16(truncatingIfNeeded: json["flags"]?.int ?? 0))
            .intersection(Self.mayCome)
        referrer = json["referrer"]?.string
    }
}

extension ArchiveNotes: JSONObject {
    package var members: JSONMembers {
        var flags = flags
        if !flags.isDisjoint(with: .ofReach) { flags.insert(.wasNear) }
        flags.formIntersection(Self.mayCome)
        return [
            "role": Int(role), "request": IfAny(request == .get ? nil : request.text),
            "variant": IfAny(variant.isEmpty ? nil : variant),
            "flags": IfAny(flags.isEmpty ? nil : Int(flags.rawValue)), "referrer": IfAny(referrer),
        ]
    }
}

/// What a reader of an archive comes to, one by one.
package enum ArchivedItem: Sendable {
    case response(ArchivedResponse)
    /// The same body as another response has, which came before as a rule.
    case revisit(ArchivedResponse, of: ArchivedOriginal)
    /// Nothing that answers a request: what tells of the archive, or of a record.
    case other
    case fault(ArchiveFault)
}

/// Which response has the body of a revisit.
package struct ArchivedOriginal: Sendable {
    package var url: String?
    package var payloadDigest: Digest?
}

/// What is wrong with a part of an archive. The parts beside it are read all the same.
package struct ArchiveFault: Sendable, Equatable {
    package enum Gravity: String, Sendable {
        /// Not imported.
        case refused
        /// Imported, although it looks wrong.
        case doubtful
        /// Not imported, because it does not belong to the site.
        case leftOut
    }

    package var gravity = Gravity.refused
    /// Nil if it is not known.
    package var url: String?
    /// Where it is: the name of the archive, and a byte or an entry in it.
    package var place: String
    package var reason: String
    /// The site that it belongs to.
    package var site: String?

    package init(_ reason: String, url: String? = nil, at place: String, _ gravity: Gravity = .refused) {
        self.reason = reason
        self.url = url
        self.place = place
        self.gravity = gravity
    }
}

extension ArchiveFault: JSONObject {
    package var members: JSONMembers {
        ["gravity": gravity.rawValue, "url": url, "place": place, "reason": reason]
    }
}

/// Gives what an archive has, one by one. It belongs to one thread.
package protocol ArchiveReader: AnyObject {
    /// The next one; nil at the end. Whatever the bytes are, it comes to an end.
    func next() throws(ArchiveError) -> ArchivedItem?
    /// The page that the archive begins with, where it says so.
    var start: String? { get }
    /// Who vouches for what was read until now, as far as that holds: the digest of a public key.
    var signer: String? { get }
}

extension ArchiveReader {
    package var start: String? { nil }
    package var signer: String? { nil }
}

/// Takes what an archive is to have, one by one. It belongs to one thread. Until `finish` has returned,
/// nothing stands under the archive's own name.
package protocol ArchiveWriter: AnyObject {
    /// False where the form has no place for it.
    func write(_ response: ArchivedResponse) throws(ArchiveError) -> Bool
    /// The files that were written.
    func finish() throws(ArchiveError) -> [ArchiveFile]
}

/// A file that an export wrote.
package struct ArchiveFile: Sendable, Equatable {
    package let path: String
    package let byteCount: Int64
    /// Of the blocks that were written; nil for a folder, and for what others wrote.
    var sums: [UInt32]?

    /// Whether every byte on the disk is the one that was written.
    func isAsWritten() throws(ArchiveError) -> Bool {
        guard let sums else { return true }
        return try ArchiveError.wrapping { () throws(SystemError) in
            let file = try File(path, O_RDONLY)
            // What the system still has in memory proves nothing of the disk.
            posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_DONTNEED)
            guard file.byteCount == Int(byteCount) else { return false }
            for (number, sum) in sums.enumerated() {
                let start = Int64(number * ArchiveOutput.blockSize)
                let block = try file.read(from: start, byteCount: ArchiveOutput.blockSize)
                guard block.withBytes({ Checksum.of($0) }) == sum else { return false }
            }
            return true
        }
    }
}

/// The error that stopped reading or writing an archive.
package struct ArchiveError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Kind: Sendable, Equatable {
        /// The input is wrong.
        case input
        case machine
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

    static func wrapping<Value: ~Copyable>(
        _ body: () throws(SystemError) -> Value
    ) throws(ArchiveError) -> Value {
        do throws(SystemError) { return try body() } catch { throw ArchiveError(error) }
    }

    /// The same for a file that has another name until it is whole.
    static func writing<Value: ~Copyable>(
        _ path: String, _ body: () throws(SystemError) -> Value
    ) throws(ArchiveError) -> Value {
        do throws(SystemError) { return try body() } catch {
            let told = ArchiveError(SystemError(error.code, doing: "write", path, advice: error.advice))
            throw ArchiveError(.machine, told.description)
        }
    }

    static func storing<Value>(_ body: () throws(StoreError) -> Value) throws(ArchiveError) -> Value {
        do throws(StoreError) { return try body() } catch { throw ArchiveError(error) }
    }
}

/// How much of an archive is believed.
package struct ArchiveLimits: Sendable {
    /// Of one body.
    package var body = 8 << 30
    /// Of a record's own head, and of the HTTP head in it.
    package var head = 1 << 20
    /// Of one line that is looked at whole.
    package var line = 256 << 10
    /// How many times as large as it is an archive may become, and how much larger than that: zeros become a
    /// thousand times as large in gzip, and more in others. What goes beyond both was made to fill a disk.
    package var factor = 200
    package var allowance = 512 << 20

    package init() {}

    /// With what somebody says of how much larger it may become; else with what a disk that has so much room
    /// left can spare.
    package init(allowing byteCount: Int64?, room: Int64?) {
        if let byteCount {
            allowance = Int(clamping: byteCount)
        } else if let room {
            allowance = min(allowance, Int(clamping: room / 4))
        }
    }

    /// Of what larder has just written itself.
    static var own: ArchiveLimits {
        var limits = ArchiveLimits()
        (limits.body, limits.allowance) = (.max / 4, .max / 4)
        return limits
    }

    func isExceeded(_ byteCount: Int, outOf packed: Int64) -> Bool {
        let (usual, isBeyond) = packed.multipliedReportingOverflow(by: Int64(factor))
        return !isBeyond && Int64(byteCount) - usual > Int64(allowance)
    }

    /// The message for content beyond the limit.
    var excess: String { "\(Self.excess) \(factor) times its size plus \(allowance) bytes" }

    private static let excess = "it expands to more than"

    /// Whether the reason of a fault is this limit, which the user can raise.
    package static func isExcess(_ reason: String) -> Bool { reason.contains(excess) }
}

/// What has become of an archive by now, its records and their bodies together. It belongs to one thread.
final class ArchiveGrowth {
    let limits: ArchiveLimits
    private var made = 0
    private var refusals = 0

    /// Each costs the time that it takes to become too large.
    private static let mostRefusals = 16

    init(_ limits: ArchiveLimits) { self.limits = limits }

    /// Nothing more of the archive is believed.
    var isOver: Bool { refusals > Self.mostRefusals }

    func add(_ byteCount: Int) { made += byteCount }

    /// - Parameter packed: how much of the archive was taken until now.
    func isExceeded(_ packed: Int64) -> Bool { limits.isExceeded(made, outOf: packed) }

    /// What was refused takes no room from what comes behind it.
    func refuse(since before: Int) {
        made = before
        refusals += 1
    }

    var mark: Int { made }

    /// Those of a body that comes now.
    func limitsLeft(_ packed: Int64) -> ArchiveLimits {
        let (usual, isBeyond) = packed.multipliedReportingOverflow(by: Int64(limits.factor))
        guard !isBeyond, Int64(made) > usual else { return limits }
        var left = limits
        left.allowance = max(0, limits.allowance - Int(Int64(made) - usual))
        return left
    }
}
