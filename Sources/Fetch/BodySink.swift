internal import Glibc
internal import System
internal import Web

/// Where a body goes while it comes: into memory, from a size on into a file, or behind the beginning that is
/// held.
struct BodySink {
    /// Of the whole body, with what was held of it before.
    private(set) var byteCount = 0
    private var bytes: [UInt8] = []
    private var spool: Spool?
    /// How large it was when somebody looked for room.
    private var lookedAt = 0

    private static let stride = 1024 * 1024

    init() {}

    init(continuing held: PartialBody) throws(FetchFailure) {
        spool = try Spool(held.path, after: held.byteCount)
        byteCount = held.byteCount
    }

    mutating func reserve(_ byteCount: Int) {
        bytes.reserveCapacity(byteCount)
    }

    /// - Parameter whole: how large the body is going to be, where that is known.
    mutating func take(
        _ more: UnsafeRawBufferPointer, of whole: Int?, _ options: FetchOptions
    ) throws(FetchFailure) {
        byteCount += more.count
        if let spool {
            try spool.write(more)
        } else if byteCount <= options.spoolThreshold {
            bytes.append(contentsOf: more)
        } else {
            try moveToFile(in: options.spoolFolder).write(more)
        }
        guard let spool, byteCount - lookedAt >= Self.stride || lookedAt == 0 else { return }
        lookedAt = byteCount
        try spool.look(for: whole.map { $0 - byteCount }, beside: byteCount, options.room)
    }

    /// It is large, and nothing says of whose body its file is the beginning.
    var lacksHead: Bool { byteCount >= Self.leastDescribed && spool?.hasHead == false }

    private static let leastDescribed = 4 * 1024 * 1024

    func describe(_ href: String, _ fields: HTTPFields) { spool?.describe(href, fields) }

    /// Counts what goes elsewhere.
    mutating func pass(_ count: Int) {
        byteCount += count
    }

    /// The whole; a file is the caller's.
    mutating func finish() throws(FetchFailure) -> FetchedBody {
        defer { self = BodySink() }
        guard let spool else { return .bytes(bytes) }
        return .file(path: try spool.finish(), byteCount: byteCount)
    }

    /// The beginning, as a file that is the caller's.
    mutating func keep(_ fields: HTTPFields, in folder: String) throws(FetchFailure) -> PartialBody {
        defer { self = BodySink() }
        let spool = if let spool { spool } else { try moveToFile(in: folder) }
        return PartialBody(path: try spool.keep(), byteCount: byteCount, fields: fields)
    }

    private mutating func moveToFile(in folder: String) throws(FetchFailure) -> Spool {
        let spool = try Spool(in: folder)
        self.spool = spool
        try spool.write(bytes)
        bytes = []
        return spool
    }
}

/// A body on its way to disk. What is neither finished nor kept is removed.
final class Spool {
    let path: String
    /// Nil once it is finished.
    private var file: File?
    /// A file beside it says what it is.
    private(set) var hasHead = false

    init(in folder: String) throws(FetchFailure) {
        let file = try FetchFailure.wrapping { () throws(SystemError) in
            try File(temporaryIn: folder, named: "fetch")
        }
        path = file.path
        self.file = consume file
    }

    /// Goes on behind the first bytes of a file; what is there beyond them is cut off.
    init(_ path: String, after byteCount: Int) throws(FetchFailure) {
        self.path = path
        guard let file = try? File(path, O_WRONLY), let held = file.byteCount, held >= byteCount else {
            throw FetchFailure(.mismatch, "the stored part of the body is missing")
        }
        guard ftruncate(file.descriptor, byteCount) == 0, lseek(file.descriptor, 0, SEEK_END) == byteCount
        else {
            throw FetchFailure(SystemError(errno, doing: "write to", path))
        }
        self.file = consume file
    }

    deinit {
        dropHead()
        if file != nil { unlink(path) }
    }

    /// Says what it is the beginning of. Where that cannot be said it is lost with this process, and nothing else.
    func describe(_ href: String, _ fields: HTTPFields) {
        hasHead = true
        let head = PartHead(boot: SystemClock.boot, href: href, fields: fields.block)
        let beside = try? File(path + PartHead.ending, O_CREAT | O_TRUNC | O_WRONLY)
        try? beside?.write(Array(head.text.utf8))
    }

    private func dropHead() {
        if hasHead { unlink(path + PartHead.ending) }
        hasHead = false
    }

    func write(_ bytes: [UInt8]) throws(FetchFailure) {
        try FetchFailure.wrapping { () throws(SystemError) in try file?.write(bytes) }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(FetchFailure) {
        try FetchFailure.wrapping { () throws(SystemError) in try file?.write(bytes) }
    }

    /// One body must not take all of the disk from the others: there has to be room for the rest of it, and
    /// where nobody knows how much that is, for as much again.
    func look(for rest: Int?, beside byteCount: Int, _ room: (Int32) -> Int?) throws(FetchFailure) {
        guard let descriptor = file?.descriptor, let room = room(descriptor), room < rest ?? byteCount else {
            return
        }
        let wanted = rest.map { "\($0) more are expected" } ?? "an unknown number is still expected"
        throw FetchFailure(
            .noRoom, "\(byteCount) bytes were received, \(wanted), and there is room for \(room)")
    }

    static func room(_ file: Int32) -> Int? {
        var status = statvfs()
        guard fstatvfs(file, &status) == 0 else { return nil }
        let blocks = Int(clamping: status.f_bavail)
        let (room, isMore) = blocks.multipliedReportingOverflow(by: Int(clamping: status.f_frsize))
        return isMore ? nil : room
    }

    /// The path; the file is the caller's now.
    func finish() throws(FetchFailure) -> String {
        dropHead()
        do throws(SystemError) {
            try file.take()?.close()
            return path
        } catch {
            unlink(path)
            throw FetchFailure(error)
        }
    }

    /// The same for a body that another run may go on with, after a power failure too: all that is counted is
    /// on disk.
    func keep() throws(FetchFailure) -> String {
        try FetchFailure.wrapping { () throws(SystemError) in try file?.sync() }
        return try finish()
    }
}
