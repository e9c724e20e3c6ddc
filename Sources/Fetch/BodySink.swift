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
    /// The value of `byteCount` at the last check for free disk space; 0 before the first check.
    private var lastSpaceCheck = 0

    /// The number of bytes between two checks for free disk space.
    private static let spaceCheckInterval = 1024 * 1024

    init() {}

    /// Appends to a stored part. The sink now owns its file.
    init(continuing part: PartialBody) throws(FetchFailure) {
        spool = try Spool(part.path, after: part.byteCount)
        byteCount = part.byteCount
    }

    /// Allocates memory for a body of this size.
    mutating func reserve(_ byteCount: Int) {
        bytes.reserveCapacity(byteCount)
    }

    /// Appends bytes, and moves the body to a file when it exceeds the threshold for memory. Throws `.diskFull`
    /// before the disk is full.
    ///
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
        guard let spool, byteCount - lastSpaceCheck >= Self.spaceCheckInterval || lastSpaceCheck == 0 else {
            return
        }
        lastSpaceCheck = byteCount
        try spool.checkFreeSpace(for: whole.map { $0 - byteCount }, beside: byteCount, options.freeSpace)
    }

    /// Whether the body is large and has no description beside its file yet.
    var needsDescription: Bool { byteCount >= Self.minDescribedBytes && spool?.hasDescription == false }

    /// The minimum size in bytes of a body with a description.
    private static let minDescribedBytes = 4 * 1024 * 1024

    /// Writes the description beside the file. Does nothing for a body in memory.
    func describe(_ href: String, _ fields: HTTPFields) { spool?.describe(href, fields) }

    /// Counts bytes that are delivered elsewhere, and not stored here.
    mutating func countUnstored(_ count: Int) {
        byteCount += count
    }

    /// Returns the whole body. The caller owns its file.
    mutating func finish() throws(FetchFailure) -> FetchedBody {
        defer { self = BodySink() }
        guard let spool else { return .bytes(bytes) }
        return .file(path: try spool.finish(), byteCount: byteCount)
    }

    /// Returns the part that was received, as a file that the caller owns.
    mutating func finishPart(_ fields: HTTPFields, in folder: String) throws(FetchFailure) -> PartialBody {
        defer { self = BodySink() }
        let spool = if let spool { spool } else { try moveToFile(in: folder) }
        return PartialBody(path: try spool.finishSynced(), byteCount: byteCount, fields: fields)
    }

    private mutating func moveToFile(in folder: String) throws(FetchFailure) -> Spool {
        let spool = try Spool(in: folder)
        self.spool = spool
        try spool.write(bytes)
        bytes = []
        return spool
    }
}

/// The file of a body that is being received. The object owns the file until `finish` or `finishSynced`. If
/// neither is called, it deletes the file at its end.
final class Spool {
    let path: String
    /// Nil after `finish` or `finishSynced`.
    private var file: File?
    /// Whether a description was written beside the file.
    private(set) var hasDescription = false

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
        guard let file = try? File(path, O_WRONLY), let part = file.byteCount, part >= byteCount else {
            throw FetchFailure(.mismatch, "the stored part of the body is missing")
        }
        guard ftruncate(file.descriptor, byteCount) == 0, lseek(file.descriptor, 0, SEEK_END) == byteCount
        else {
            throw FetchFailure(SystemError(errno, doing: "write to", path))
        }
        self.file = consume file
    }

    deinit {
        removeDescription()
        if file != nil { unlink(path) }
    }

    /// Writes a description beside the file: the URL and the header fields. If this process is killed, the
    /// next run uses it to resume the body. Errors are ignored: at worst, that part is lost.
    func describe(_ href: String, _ fields: HTTPFields) {
        hasDescription = true
        let description = PartialDownloadHead(boot: SystemClock.bootID, href: href, fields: fields.block)
        let file = try? File(path + PartialDownloadHead.pathSuffix, O_CREAT | O_TRUNC | O_WRONLY)
        try? file?.write(Array(description.text.utf8))
    }

    private func removeDescription() {
        if hasDescription { unlink(path + PartialDownloadHead.pathSuffix) }
        hasDescription = false
    }

    func write(_ bytes: [UInt8]) throws(FetchFailure) {
        try FetchFailure.wrapping { () throws(SystemError) in try file?.write(bytes) }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(FetchFailure) {
        try FetchFailure.wrapping { () throws(SystemError) in try file?.write(bytes) }
    }

    /// Throws `.diskFull` if the disk has less free space than the rest of the body needs, or, if its size is
    /// unknown, than the received part takes: one body must not use up the space of all others.
    ///
    /// - Parameters:
    ///   - rest: the number of bytes that are still expected; nil if unknown.
    ///   - byteCount: the number of bytes that were received.
    ///   - freeSpace: returns the free space for the file with a descriptor, in bytes; nil if unknown.
    func checkFreeSpace(
        for rest: Int?, beside byteCount: Int, _ freeSpace: (Int32) -> Int?
    ) throws(FetchFailure) {
        guard let descriptor = file?.descriptor, let free = freeSpace(descriptor), free < rest ?? byteCount
        else { return }
        let wanted = rest.map { "\($0) more are expected" } ?? "an unknown number is still expected"
        throw FetchFailure(
            .diskFull, "\(byteCount) bytes were received, \(wanted), and only \(free) are free")
    }

    /// The free space of the file system that contains an open file, in bytes; nil if unknown.
    static func freeSpace(_ file: Int32) -> Int? {
        var status = statvfs()
        guard fstatvfs(file, &status) == 0 else { return nil }
        let blocks = Int(clamping: status.f_bavail)
        let (byteCount, hasOverflow) = blocks.multipliedReportingOverflow(by: Int(clamping: status.f_frsize))
        return hasOverflow ? nil : byteCount
    }

    /// Closes the file and returns its path. The caller now owns the file.
    func finish() throws(FetchFailure) -> String {
        removeDescription()
        do throws(SystemError) {
            try file.take()?.close()
            return path
        } catch {
            unlink(path)
            throw FetchFailure(error)
        }
    }

    /// Syncs the file to disk and then does the same as `finish`, so that another run can resume the body even
    /// after a power failure.
    func finishSynced() throws(FetchFailure) -> String {
        try FetchFailure.wrapping { () throws(SystemError) in try file?.sync() }
        return try finish()
    }
}
