internal import Glibc
package import Store
internal import Synchronization
package import System
internal import Web

/// The files of the portal's jobs: uploaded archives until they are imported, and exports until they are
/// downloaded. Each file has a folder of its own, named after its upload or job.
///
/// One server owns the folder and removes files that belong to no job (`removeUnusedFiles`). It may do so only with the
/// complete list of jobs, so other servers of the same store get no `PortalFiles`. Any thread may use it: the only
/// mutable value, the set of active uploads, has a mutex.
package final class PortalFiles: Sendable {
    /// The folder of all files.
    private let path: String
    /// The folder of the store, which is on the same disk.
    private let storePath: String
    /// The folders of uploads that belong to no job yet.
    private let activeUploads = Mutex<Set<String>>([])
    /// The disk space that uploads leave free. Uploads that would need it are refused.
    static let minFreeBytes: Int64 = 256 << 20
    /// The maximum number of simultaneous uploads. Further ones get a 503.
    static let maxUploads = 4
    /// The age at which exports are removed, in seconds.
    package static let lifetime: Int64 = 7 * 86_400

    package init(_ folder: StoreFolder) { (path, storePath) = (folder.portalFiles, folder.path) }

    // MARK: - Uploads

    /// A file that is being uploaded. It belongs to no job until `finish` is called. In the meantime, `removeUnusedFiles`
    /// spares it, because its number is in `activeUploads`.
    struct PendingUpload: ~Copyable {
        /// The random name of the upload: 128 bits, as hexadecimal digits.
        let number: String
        let name: String
        fileprivate let file: File
        private let files: PortalFiles

        fileprivate init(_ files: PortalFiles, named name: String) throws(SystemError) {
            let number = PortalFiles.makeUploadID()
            (self.number, self.files, self.name) = (number, files, name)
            let folder = files.uploadFolder(number)
            // Before the folder exists, so that `removeUnusedFiles` never sees it unprotected.
            files.activeUploads.withLock { _ = $0.insert(PortalFiles.uploadFolderName(number)) }
            do throws(SystemError) {
                try Folder.make(folder)
                file = try File("\(folder)/\(name)", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, doing: "create")
            } catch {
                files.discardUpload(number)
                throw error
            }
        }

        func write(_ bytes: [UInt8]) throws(SystemError) { try file.write(bytes) }

        /// Ends the upload: a job owns the file from now on, or it is removed.
        func finish(isWanted: Bool) {
            if !isWanted { Folder.remove(files.uploadFolder(number)) }
            files.activeUploads.withLock { _ = $0.remove(PortalFiles.uploadFolderName(number)) }
        }
    }

    /// Creates the file of a new upload.
    ///
    /// - Parameter name: the client's name for the file.
    func beginUpload(named name: String) throws(SystemError) -> PendingUpload {
        try PendingUpload(self, named: Self.safeName(name) ?? "archive")
    }

    /// The number of uploads that are not finished.
    var uploadCount: Int { activeUploads.withLock(\.count) }

    /// Removes the folder of an upload that could not begin.
    private func discardUpload(_ number: String) {
        Folder.remove(uploadFolder(number))
        activeUploads.withLock { _ = $0.remove(Self.uploadFolderName(number)) }
    }

    /// Whether the disk has space for this many more bytes and `minFreeBytes`. True if the system cannot tell.
    package func hasSpace(for byteCount: Int64 = 0) -> Bool {
        guard let freeBytes = Folder.freeBytes(in: storePath) else { return true }
        return freeBytes - Self.minFreeBytes > byteCount
    }

    /// Returns the path of an uploaded file; nil if it no longer exists. The arguments can come from a form or from the
    /// saved list of jobs, so they are checked before they become a path.
    package func uploadPath(_ number: String, named name: String) -> String? {
        guard Self.isUploadID(number), Self.safeName(name) == name else { return nil }
        let file = "\(uploadFolder(number))/\(name)"
        return access(file, R_OK) == 0 ? file : nil
    }

    // MARK: - Exports

    /// Creates an empty folder for the file of a job and returns the path of the file.
    package func makeResultPath(ofJob number: Int, named name: String) throws(SystemError) -> String {
        let folder = "\(path)/\(Self.jobFolderName(number))"
        Folder.remove(folder)
        try Folder.make(folder)
        return "\(folder)/\(Self.safeName(name) ?? "archive")"
    }

    /// A file that a job made.
    struct ResultFile: Equatable {
        let path: String
        let name: String
        let byteCount: Int64
    }

    /// Returns the file that a job made; nil if there is none.
    func resultFile(ofJob number: Int) -> ResultFile? {
        let folder = "\(path)/\(Self.jobFolderName(number))"
        for name in Folder.names(in: folder) ?? [] {
            let name = String(decoding: name, as: UTF8.self)
            var status = stat()
            guard lstat("\(folder)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                continue
            }
            return ResultFile(path: "\(folder)/\(name)", name: name, byteCount: Int64(status.st_size))
        }
        return nil
    }

    // MARK: - Cleanup

    /// Removes files that belong to no job and are not being uploaded.
    ///
    /// - Parameters:
    ///   - jobs: returns all jobs. It is called after the active uploads were listed: a job is added before its upload
    ///     leaves that list, so each file is in at least one of the two.
    ///   - now: seconds since 1970.
    func removeUnusedFiles(_ jobs: () -> [PortalJob], now: Int64) {
        var needed = activeUploads.withLock { $0 }
        for job in jobs() {
            switch job.command {
            case .importArchive(let upload, _, _, _), .save(let upload, _):
                // A later job may retry an interrupted import.
                let isWanted = !job.isOver || job.state == .ended(.interrupted)
                let name = Self.uploadFolderName(upload)
                if isWanted { needed.insert(name) } else { needed.remove(name) }
            case .export:
                let isThere = job.state == .ended(.done) || job.state == .ended(.withProblems)
                if !job.isOver || isThere && now - job.addedAt < Self.lifetime {
                    needed.insert(Self.jobFolderName(job.number))
                }
            case .prefetch, .update, .fetch, .check, .checkLinks, .pin, .unpin, .drop, .undo, .rollBack,
                .remove,
                .forecast,
                .collect, .changeSettings, .installTimer:
                break
            }
        }
        for name in Folder.names(in: path) ?? [] {
            let name = String(decoding: name, as: UTF8.self)
            if !needed.contains(name) { Folder.remove("\(path)/\(name)") }
        }
    }

    /// The last component of a client's file name, made safe for this folder; nil if nothing remains.
    static func safeName(_ name: String) -> String? {
        let parts = name.utf8.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        guard let last = parts.last else { return nil }
        let bytes = last.filter { $0 >= 0x20 && $0 != 0x7f }
        // Keeps the end of the name, which shows the format.
        var text = String(decoding: bytes.suffix(120), as: UTF8.self)
        while let first = text.first, first == "." || first == "-" || first == " " || first == "\u{FFFD}" {
            text.removeFirst()
        }
        return text.isEmpty ? nil : text
    }

    /// Whether the text has the form of an upload's number.
    static func isUploadID(_ text: String) -> Bool {
        text.utf8.count == 32
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    private static func makeUploadID() -> String {
        var source = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let word = String(UInt64.random(in: 0 ... .max, using: &source), radix: 16)
            return String(repeating: "0", count: 16 - word.utf8.count) + word
        }.joined()
    }

    private static func uploadFolderName(_ number: String) -> String { "upload-\(number)" }
    private static func jobFolderName(_ number: Int) -> String { "job-\(number)" }
    private func uploadFolder(_ number: String) -> String { "\(path)/\(Self.uploadFolderName(number))" }
}
