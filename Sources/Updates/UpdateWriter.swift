internal import Codings
internal import Digest
internal import Glibc
internal import Store
package import System
package import Web

/// Writes an update file. Blocks; belongs to the thread that calls it.
///
///     let report = try UpdateWriter(old, new, manifest: bytes).write(to: "update.tar", sign: { key.sign($0) })
///
/// The file appears under its name only when it is complete.
package struct UpdateWriter {
    /// The responses of the earlier release.
    private let old: [UpdateItem]
    /// The responses of the later release.
    private let new: [UpdateItem]
    /// The manifest of the later release.
    private let manifest: [UInt8]
    private let created: HTTPDate
    private let interruption: Interruption
    /// The version of the earlier release, if it is known.
    package var fromVersion: String?
    /// Receives the number of changed files that are written so far, and the number of all changed files.
    package var progress: (@Sendable (_ done: Int, _ all: Int) -> Void)?

    /// The counts of an update file that was written.
    package struct Report: Sendable, Equatable {
        /// The number of files in the later release.
        package var files = 0
        /// The number of files that are new, or differ from those of the earlier release.
        package var changed = 0
        /// The number of changed files that are made from files of the earlier release.
        package var patched = 0
        /// The size of the later release.
        package var releaseByteCount: Int64 = 0
        /// The size of the changed files.
        package var changedByteCount: Int64 = 0
        /// The size of the update file.
        package var byteCount: Int64 = 0

        package init() {}
    }

    /// - Parameters:
    ///   - old: the responses of the earlier release.
    ///   - new: those of the later one, in the order in which they are written.
    ///   - manifest: the manifest of the later release.
    package init(
        _ old: [UpdateItem], _ new: [UpdateItem], manifest: [UInt8], created: HTTPDate,
        _ interruption: Interruption
    ) {
        (self.old, self.new, self.manifest, self.created) = (old, new, manifest, created)
        self.interruption = interruption
    }

    /// Writes the file.
    ///
    /// - Parameter sign: returns the text of a minisign signature of the list; nil to leave it unsigned.
    package func write(
        to path: String, sign: ([UInt8]) -> String?
    ) throws(UpdateError) -> Report {
        guard PatchFrame.isAvailable else {
            throw UpdateError(.machine, "cannot write an update file: libzstd is missing; install libzstd1")
        }
        var report = Report()
        report.files = new.count
        report.releaseByteCount = Self.byteCount(of: new)
        let changed = changedItems()
        report.changed = changed.count
        report.changedByteCount = Self.byteCount(of: changed)
        let target = Folder.resolved(path)
        ScratchFolder.sweepDrafts(of: target)
        let draft = ScratchFolder.draft(of: target)
        unlink(draft)
        do throws(UpdateError) {
            // The frames come last, but their digests are in the list at the beginning.
            let frames = try FrameFile(beside: target)
            let files = try writeFrames(of: changed, to: frames, &report)
            let list = Array(
                UpdateList(
                    created: created, fromVersion: fromVersion, manifest: UpdateList.Blob(manifest),
                    files: files
                ).text.utf8)
            guard list.count <= UpdateLimits.maxListBytes, files.count <= UpdateLimits.maxFiles else {
                throw UpdateError(
                    .input, "\(path) would list too many files; make updates of parts of the site")
            }
            report.byteCount = try Self.assemble(draft, list, sign(list), manifest, files, frames)
            guard rename(draft, target) == 0 else {
                throw UpdateError(SystemError(errno, doing: "write", path))
            }
        } catch {
            unlink(draft)
            throw error
        }
        return report
    }

    private static func byteCount(of items: [UpdateItem]) -> Int64 {
        items.reduce(0) { $0 + Int64($1.body?.byteCount ?? 0) }
    }

    /// The responses that the earlier release does not have.
    private func changedItems() -> [UpdateItem] {
        let before = Dictionary(old.map { ($0.url, $0) }) { first, _ in first }
        return new.filter { item in
            // A URL that is gone needs no entry if the earlier release did not have it either.
            guard let same = before[item.url] else { return item.status != 404 && item.status != 410 }
            return !item.isSame(as: same)
        }
    }

    // MARK: Frames

    /// Writes the frames of the changed responses, and returns the entries of the list.
    private func writeFrames(
        of changed: [UpdateItem], to frames: FrameFile, _ report: inout Report
    ) throws(UpdateError) -> [UpdateList.File] {
        var oldByBody: [UpdateList.Blob: UpdateItem] = [:]
        for item in old {
            if let body = item.body, oldByBody[body] == nil { oldByBody[body] = item }
        }
        let remaining = Set(new.compactMap(\.body))
        // The bodies that disappear are the possible bases. A body that remains is rarely the earlier version of another one,
        // and reading all bodies would take long.
        let bases = old.filter { item in
            guard let body = item.body else { return false }
            return !remaining.contains(body) && (1...UpdateList.maxBaseBytes).contains(body.byteCount)
        }
        let predecessors = Predecessors(try candidates(bases))
        var written: Set<UpdateList.Blob> = []
        var files: [UpdateList.File] = []
        for (index, item) in changed.enumerated() {
            guard !interruption.isRequested else { throw .interrupted }
            progress?(index, changed.count)
            var file = UpdateList.File(url: item.url, fields: item.fields)
            (file.status, file.isPage, file.body) = (item.status, item.isPage, item.body)
            if let body = item.body {
                if let same = oldByBody[body] {
                    file.base = UpdateList.Base(url: same.url, blob: body)
                } else if written.insert(body).inserted {
                    // A body that occurs again needs no frame: receivers have it from the file before.
                    var base: UpdateItem?
                    if body.byteCount <= UpdateList.maxBaseBytes,
                        let candidate = try candidates([item]).first,
                        let best = predecessors.best(for: candidate)
                    {
                        base = bases[best]
                    }
                    if let base, let blob = base.body {
                        file.base = UpdateList.Base(url: base.url, blob: blob)
                        report.patched += 1
                    }
                    file.frame = try frames.add(item, base: base)
                }
                guard body.byteCount <= UpdateLimits.maxBodyBytes else {
                    throw UpdateError(
                        .input,
                        "\(item.url) has over \(UpdateLimits.maxBodyBytes) bytes; leave it out of the release"
                    )
                }
            }
            files.append(file)
        }
        progress?(changed.count, changed.count)
        return files
    }

    /// Reads the bodies of items, for the search for similar ones.
    private func candidates(_ items: [UpdateItem]) throws(UpdateError) -> [Predecessors.Candidate] {
        var candidates: [Predecessors.Candidate] = []
        for item in items {
            guard !interruption.isRequested else { throw .interrupted }
            var sketcher = BodySketcher()
            try item.load().eachPieceOrThrow { sketcher.update($0) }
            candidates.append(
                Predecessors.Candidate(
                    name: item.url, byteCount: item.body?.byteCount ?? 0, sketch: sketcher.finish()))
        }
        return candidates
    }

    // MARK: Assembling

    /// Writes the entries to a new file, and returns its size.
    private static func assemble(
        _ path: String, _ list: [UInt8], _ signature: String?, _ manifest: [UInt8],
        _ files: [UpdateList.File],
        _ frames: FrameFile
    ) throws(UpdateError) -> Int64 {
        do throws(SystemError) {
            let output = try EntryWriter(path)
            try output.writeEntry(UpdateArchive.listName, list)
            if let signature { try output.writeEntry(UpdateArchive.signatureName, Array(signature.utf8)) }
            try output.writeEntry(UpdateArchive.sumsName, UpdateArchive.sums(list, signature: signature))
            try output.writeEntry(UpdateArchive.manifestName, manifest)
            var offset: Int64 = 0
            for (index, entry) in files.enumerated() {
                guard let frame = entry.frame else { continue }
                try output.write(UpdateArchive.header(UpdateList.frameName(ofFile: index), frame.byteCount))
                try frames.eachPiece(from: offset, frame.byteCount) { (piece) throws(SystemError) in
                    try output.write(piece)
                }
                offset += Int64(frame.byteCount)
                try output.writeZeros(TarHeader.padding(after: frame.byteCount))
            }
            try output.writeZeros(UpdateArchive.endBytes)
            try output.sync()
            return output.byteCount
        } catch {
            throw UpdateError(error)
        }
    }
}

/// Writes the entries of an update file.
private final class EntryWriter {
    private let file: File
    private(set) var byteCount: Int64 = 0

    init(_ path: String) throws(SystemError) {
        file = try File(path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o644, doing: "write")
    }

    func write(_ bytes: [UInt8]) throws(SystemError) {
        try file.write(bytes)
        byteCount += Int64(bytes.count)
    }

    func writeZeros(_ count: Int) throws(SystemError) {
        if count > 0 { try write([UInt8](repeating: 0, count: count)) }
    }

    func writeEntry(_ name: String, _ content: [UInt8]) throws(SystemError) {
        try write(UpdateArchive.header(name, content.count))
        try write(content)
        try writeZeros(TarHeader.padding(after: content.count))
    }

    /// Throws if the file could not be written to the disk. NFS reports some errors of `write` only here.
    func sync() throws(SystemError) { try file.sync() }
}

/// A temporary file with the frames of an update, one after the other.
private final class FrameFile {
    private let file: File
    private var byteCount: Int64 = 0

    init(beside target: String) throws(UpdateError) {
        let folder = target.lastIndex(of: "/").map { String(target[..<$0]) } ?? "."
        file = try UpdateError.wrapping { () throws(SystemError) in
            let file = try File(temporaryIn: folder.isEmpty ? "/" : folder, named: ".larder-frames")
            // It disappears when it is closed, or the process is killed.
            unlink(file.path)
            return file
        }
    }

    /// Compresses a body, and returns the size and the digest of its frame.
    func add(_ item: UpdateItem, base: UpdateItem?) throws(UpdateError) -> UpdateList.Blob {
        let start = byteCount
        func write(_ bytes: UnsafeRawBufferPointer) throws(UpdateError) {
            do throws(SystemError) { try file.write(bytes) } catch { throw UpdateError(error) }
            byteCount += Int64(bytes.count)
        }
        let size = item.body?.byteCount ?? 0
        // A larger body has no base, and is not loaded into memory.
        if size <= UpdateList.maxBaseBytes {
            let frameBase = try base.map { (base) throws(UpdateError) in try base.frameBase() }
            guard try PatchFrame.compress(item.frameBase(), base: frameBase, write) else {
                throw Self.noMemory
            }
        } else {
            guard let encoder = ZstdEncoder(level: 9) else { throw Self.noMemory }
            let content = try item.load()
            var sha256 = DigestStream(.sha256)
            var failure: UpdateError?
            _ = try UpdateError.storing { () throws(StoreError) in
                try content.eachPieceWhile { piece in
                    sha256.update(piece)
                    do throws(UpdateError) {
                        try piece.withUnsafeBytes { (piece) throws(UpdateError) in
                            try encoder.compress(piece, write)
                        }
                    } catch {
                        failure = error
                    }
                    return failure == nil
                }
            }
            if let failure { throw failure }
            guard sha256.finish() == item.body?.sha256 else { throw item.changedError }
            try encoder.finish(write)
        }
        return try blob(from: start)
    }

    /// The size and the digest of the bytes from an offset on.
    private func blob(from start: Int64) throws(UpdateError) -> UpdateList.Blob {
        var sha256 = DigestStream(.sha256)
        do throws(SystemError) {
            try eachPiece(from: start, Int(byteCount - start)) { sha256.update($0.span) }
        } catch {
            throw UpdateError(error)
        }
        return UpdateList.Blob(byteCount: Int(byteCount - start), sha256: sha256.finish())
    }

    private static let noMemory = UpdateError(
        .machine, "cannot compress the update: memory has run out; free some and try again")

    /// Passes a range of the file to `take` in pieces.
    func eachPiece(
        from start: Int64, _ byteCount: Int, _ take: ([UInt8]) throws(SystemError) -> Void
    ) throws(SystemError) {
        var done = 0
        while done < byteCount {
            let piece = try file.read(from: start + Int64(done), byteCount: min(byteCount - done, 1 << 20))
            guard !piece.isEmpty else { throw SystemError(EIO, doing: "read", "the frames of an update") }
            try take(piece)
            done += piece.count
        }
    }
}

extension UpdateItem {
    /// Returns the body. Throws if it is lost or has another size than `body`.
    fileprivate func load() throws(UpdateError) -> BodyContent {
        let loaded = try UpdateError.storing { () throws(StoreError) -> BodyContent? in try content() }
        guard let loaded, loaded.byteCount == body?.byteCount else { throw changedError }
        return loaded
    }

    /// Loads the body into memory. Throws if it does not have its digest: every receiver would refuse a frame that was made
    /// from other bytes.
    fileprivate func frameBase() throws(UpdateError) -> FrameBase {
        let base = FrameBase(byteCount: body?.byteCount ?? 0)
        var sha256 = DigestStream(.sha256)
        try load().eachPieceOrThrow { piece in
            base.append(piece)
            sha256.update(piece)
        }
        guard base.isFull, sha256.finish() == body?.sha256 else { throw changedError }
        return base
    }

    fileprivate var changedError: UpdateError {
        UpdateError(.input, "\(url) was changed or lost while the update was made; make it again")
    }
}

extension BodyContent {
    /// Passes the body to `take` in pieces, like `eachPiece`, with the errors of this module.
    func eachPieceOrThrow(_ take: (Span<UInt8>) -> Void) throws(UpdateError) {
        try UpdateError.storing { () throws(StoreError) in try eachPiece(take) }
    }
}
