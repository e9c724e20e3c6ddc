internal import Database
internal import Glibc
internal import System

/// A storage in a folder that machines share. Files are written under temporary names, synced and renamed.
final class FolderBodyStorage: ExternalBodyStorage {
    let name: String
    private let path: String
    private var incoming: String { path + "/incoming" }

    init(_ path: String) {
        name = path
        self.path = path
    }

    func create() throws(StoreError) {
        try StoreFolder.makeFolders(path)
    }

    func byteCounts(_ names: [String]) throws(StoreError) -> [Int?] {
        var counts: [Int?] = []
        for name in names {
            var status = stat()
            if stat(path + "/" + name, &status) == 0 {
                counts.append(Int(clamping: status.st_size))
            } else {
                guard errno == ENOENT else {
                    throw StoreError(errno, doing: "access", path: path + "/" + name)
                }
                counts.append(nil)
            }
        }
        return counts
    }

    func put(_ bodies: [BodyUpload]) throws(StoreError) {
        try StoreFolder.makeFolders(incoming)
        var pending: [(draft: String, target: String)] = []
        // Files that were renamed no longer exist under their draft names.
        defer { for (draft, _) in pending { unlink(draft) } }
        for body in bodies {
            let draft =
                switch body.content {
                case .bytes(let bytes): try BodyFiles.write(bytes, in: incoming)
                case .file(let source): try BodyFiles.copy(source, in: incoming)
                }
            pending.append((draft, path + "/" + body.name))
        }
        for (draft, _) in pending { try BodyFiles.syncFile(draft) }
        var folders: Set<String> = []
        for (draft, target) in pending {
            let folder = String(target[..<(target.lastIndex(of: "/") ?? target.endIndex)])
            if folders.insert(folder).inserted { try StoreFolder.makeFolders(folder) }
            guard rename(draft, target) == 0 else {
                throw StoreError(errno, doing: "move a body to", path: target)
            }
        }
        for folder in folders { try BodyFiles.syncFile(folder) }
        if !folders.isSubset(of: [path]) { try BodyFiles.syncFile(path) }
    }

    func read(_ name: String, from start: Int, byteCount: Int) throws(StoreError) -> [UInt8]? {
        do throws(SystemError) {
            return try File(path + "/" + name, O_RDONLY).read(from: Int64(start), byteCount: byteCount)
        } catch {
            if error.code == ENOENT { return nil }
            throw StoreError(error)
        }
    }

    func file(_ name: String, in folder: String) throws(StoreError) -> BodyStorageFile? {
        try byteCounts([name])[0].map { _ in .original(path: path + "/" + name) }
    }

    /// Each call returns all files of one subfolder.
    func list(after name: String) throws(StoreError) -> [BodyStorageEntry] {
        let now = try time()
        let first = String(name.prefix { $0 != "/" })
        for folder in try names(in: path) where folder >= first && folder.utf8.count == 2 {
            var entries: [BodyStorageEntry] = []
            for file in try names(in: path + "/" + folder) where folder + "/" + file > name {
                var status = stat()
                guard stat("\(path)/\(folder)/\(file)", &status) == 0 else { continue }
                entries.append(
                    BodyStorageEntry(
                        name: folder + "/" + file, byteCount: Int(clamping: status.st_size),
                        ageSeconds: now - Int64(status.st_mtim.tv_sec)))
            }
            if !entries.isEmpty { return entries }
        }
        return []
    }

    func remove(_ names: [String]) throws(StoreError) {
        for name in names where unlink(path + "/" + name) != 0 && errno != ENOENT {
            throw StoreError(errno, doing: "remove", path: path + "/" + name)
        }
        try removeAbandonedDrafts()
    }

    /// Removes the drafts that killed writers left, after `Limits.maxDraftAgeSeconds`.
    private func removeAbandonedDrafts() throws(StoreError) {
        let now = try time()
        for name in StoreFolder.names(in: incoming) {
            var status = stat()
            guard stat(incoming + "/" + name, &status) == 0 else { continue }
            if now - Int64(status.st_mtim.tv_sec) > Limits.maxDraftAgeSeconds {
                unlink(incoming + "/" + name)
            }
        }
    }

    private func names(in folder: String) throws(StoreError) -> [String] {
        guard let names = Folder.names(in: folder) else {
            throw StoreError(errno, doing: "read", path: folder)
        }
        return names.map { String(decoding: $0, as: UTF8.self) }.sorted()
    }

    /// The time by the clock of the machine that has the disk; by the local clock if the folder is not
    /// writable.
    private func time() throws(StoreError) -> Int64 {
        let probe: String
        do throws(StoreError) {
            try StoreFolder.makeFolders(incoming)
            probe = try BodyFiles.write([], in: incoming)
        } catch  where error.reason == .denied {
            return SystemClock.secondsSinceEpoch()
        }
        defer { unlink(probe) }
        var status = stat()
        guard stat(probe, &status) == 0 else { throw StoreError(errno, doing: "access", path: probe) }
        return Int64(status.st_mtim.tv_sec)
    }
}
