internal import Glibc
internal import System
internal import Web

/// The destination of a body while it is received: memory, a file once it exceeds
/// `FetchOptions.spoolThreshold`, or the file of the stored part that it continues.
struct BodySink {
    /// The size of the body so far, including the stored part.
    private(set) var byteCount = 0
    private var bytes: [UInt8] = []
    private var spool: Spool?
    /// The size at the last check for free disk space; 0 before the first check.
    private var lookedAt = 0

    /// The number of bytes between two checks for free disk space.
    private static let stride = 1024 * 1024

    init() {}

    /// Appends to a stored part. The sink now owns its file.
    init(continuing held: PartialBody) throws(FetchFailure) {
        spool = try Spool(held.path, after: held.byteCount)
        byteCount = held.byteCount
    }

    mutating func reserve(_ byteCount: Int) {
        bytes.reserveCapacity(byteCount)
    }

    /// - Parameter whole: the expected size of the body, if known.
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

    /// Whether the body is large and has no description beside its file yet.
    var lacksHead: Bool { byteCount >= Self.leastDescribed && spool?.hasHead == false }

    /// The minimum size in bytes of a body with a description.
    private static let leastDescribed = 4 * 1024 * 1024

    /// Writes the description beside the file.
    func describe(_ href: String, _ fields: HTTPFields) { spool?.describe(href, fields) }

    /// Counts bytes that are not stored here.
    mutating func pass(_ count: Int) {
        byteCount += count
    }

    /// Returns the whole body. The caller owns its file.
    mutating func finish() throws(FetchFailure) -> FetchedBody {
        defer { self = BodySink() }
        guard let spool else { return .bytes(bytes) }
        return .file(path: try spool.finish(), byteCount: byteCount)
    }

    /// Returns the part that was received, as a file that the caller owns.
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

/// The file of a body that is being received. It is deleted with this object unless `finish` or `keep` was
/// called.
final class Spool {
    let path: String
    /// Nil after `finish` or `keep`.
    private var file: File?
    /// Whether a description was written beside the file.
    private(set) var hasHead = false

    init(in folder: String) throws(FetchFailure) {
        let file = try FetchFailure.wrapping { () throws(SystemError) in
            try File(temporaryIn: folder, named: "fetch")
        }
        path = file.path
        self.file = consume file
    }

    /// Continues a file after its first `byteCount` bytes, and cuts off the rest of it. Throws `.mismatch` if
    /// the file is missing or too short.
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

    /// Writes a description beside the file: the URL and the header fields. If this process is killed, the
    /// next run uses it to resume the body. Errors are ignored: at worst, that part is lost.
    func describe(_ href: String, _ fields: HTTPFields) {
        hasHead = true
        let head = PartialDownloadHead(boot: SystemClock.bootID, href: href, fields: fields.block)
        let beside = try? File(path + PartialDownloadHead.pathSuffix, O_CREAT | O_TRUNC | O_WRONLY)
        try? beside?.write(Array(head.text.utf8))
    }

    private func dropHead() {
        if hasHead { unlink(path + PartialDownloadHead.pathSuffix) }
        hasHead = false
    }

    func write(_ bytes: [UInt8]) throws(FetchFailure) {
        try FetchFailure.wrapping { () throws(SystemError) in try file?.write(bytes) }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(FetchFailure) {
        try FetchFailure.wrapping { () throws(SystemError) in try file?.write(bytes) }
    }

    /// Throws `.noRoom` if the disk has less free space than the rest of the body needs, or, if its size is
    /// unknown, than the received part takes: one body must not use up the space of all others.
    func look(for rest: Int?, beside byteCount: Int, _ room: (Int32) -> Int?) throws(FetchFailure) {
        guard let descriptor = file?.descriptor, let room = room(descriptor), room < rest ?? byteCount else {
            return
        }
        let wanted = rest.map { "\($0) more are expected" } ?? "an unknown number is still expected"
        throw FetchFailure(
            .noRoom, "\(byteCount) bytes were received, \(wanted), and there is room for \(room)")
    }

    /// The free space of the file system that contains an open file, in bytes; nil if unknown.
    static func room(_ file: Int32) -> Int? {
        var status = statvfs()
        guard fstatvfs(file, &status) == 0 else { return nil }
        let blocks = Int(clamping: status.f_bavail)
        let (room, isMore) = blocks.multipliedReportingOverflow(by: Int(clamping: status.f_frsize))
        return isMore ? nil : room
    }

    /// Closes the file and returns its path. The caller now owns the file.
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

    /// Does the same as `finish` after syncing the file to disk, so that another run can resume the body even
    /// after a power failure.
    func keep() throws(FetchFailure) -> String {
        try FetchFailure.wrapping { () throws(SystemError) in try file?.sync() }
        return try finish()
    }
}
