internal import Glibc

/// A temporary folder that exists as long as this object.
///
/// A killed process cannot remove its folders, so the next one must find them and must not remove folders that
/// are in use. Therefore each folder is locked (`flock`) while its object exists; the kernel releases the lock when
/// the process ends in any way. Each new scratch folder removes the unlocked ones with the same name prefix beside it.
package final class ScratchFolder: Sendable {
    package let path: String
    /// A descriptor of the folder that has the lock.
    private let lock: Int32

    /// Creates a folder in TMPDIR, or in /tmp if TMPDIR is not set. Only this user can access it.
    package init(named prefix: String) throws(SystemError) {
        let created = try Self.makeLocked { () throws(SystemError) in try Folder.makeTemporary(named: prefix)
        }
        (path, lock) = created
        Self.sweep(beside: path) { $0.starts(with: "\(prefix)-".utf8) }
    }

    /// Creates a folder beside `target`, in the same file system, so that results can be renamed to `target`
    /// without copying. Its path is `draft(of: target)`.
    package init(beside target: String, mode: UInt32) throws(SystemError) {
        let path = Self.draft(of: target)
        let created = try Self.makeLocked { () throws(SystemError) in
            guard mkdir(path, mode) == 0 || errno == EEXIST else {
                throw SystemError(errno, doing: "create the folder", path)
            }
            return path
        }
        (self.path, lock) = created
        Self.sweepDrafts(of: target)
        // The folder is not empty if a killed process with the same process ID left it.
        for name in Folder.names(in: path) ?? [] {
            Folder.remove(path + "/" + String(decoding: name, as: UTF8.self))
        }
    }

    deinit {
        Folder.remove(path)
        close(lock)
    }

    // MARK: - Drafts

    /// The path of the draft of a file or folder: an incomplete version that is renamed to `target` once it is
    /// complete. For example "site.zip.4711.part", where 4711 is the process ID.
    package static func draft(of target: String) -> String { "\(target).\(getpid()).part" }

    /// Removes the drafts of `target` that killed processes left.
    package static func sweepDrafts(of target: String) {
        let targetName = Array(target.utf8.suffix(while: { $0 != UInt8(ascii: "/") }))
        sweep(beside: target) { name in
            guard name.starts(with: targetName + [UInt8(ascii: ".")]),
                name.suffix(5).elementsEqual(".part".utf8)
            else { return false }
            let processID = name.dropFirst(targetName.count + 1).dropLast(5)
            return !processID.isEmpty && processID.allSatisfy { (0x30...0x39).contains($0) }
        }
    }

    /// Removes this user's files and folders beside `sibling` whose names match and that no process has locked.
    private static func sweep(beside sibling: String, _ matches: ([UInt8]) -> Bool) {
        let slash = sibling.lastIndex(of: "/")
        let parent = slash.map { sibling[..<$0].isEmpty ? "/" : String(sibling[..<$0]) } ?? "."
        for name in Folder.names(in: parent) ?? [] where matches(name) {
            let path = parent + "/" + String(decoding: name, as: UTF8.self)
            // O_NONBLOCK: opening a named pipe would otherwise wait for a writer.
            let lock = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard lock >= 0 else { continue }
            var status = stat()
            let isOurs = fstat(lock, &status) == 0 && status.st_uid == geteuid()
            let kind = status.st_mode & S_IFMT
            if isOurs, kind == S_IFDIR || kind == S_IFREG, flock(lock, LOCK_EX | LOCK_NB) == 0 {
                Folder.remove(path)
            }
            close(lock)
        }
    }

    // MARK: - The lock

    /// Creates a folder and locks it. Tries again, at most `maxLockAttempts` times, if another process removed
    /// the folder in `sweep` before it was locked.
    private static func makeLocked(
        _ make: () throws(SystemError) -> String
    ) throws(SystemError) -> (path: String, lock: Int32) {
        for _ in 0..<maxLockAttempts {
            let path = try make()
            let lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
            guard lock >= 0 else {
                if errno == ENOENT { continue }
                throw SystemError(errno, doing: "open", path)
            }
            // The path may belong to a new folder by now, so the lock counts only if it is on that folder.
            var (locked, current) = (stat(), stat())
            if flock(lock, LOCK_EX | LOCK_NB) == 0, fstat(lock, &locked) == 0, stat(path, &current) == 0,
                locked.st_ino == current.st_ino, locked.st_dev == current.st_dev
            {
                return (path, lock)
            }
            close(lock)
        }
        throw SystemError(EBUSY, doing: "lock", "a folder", advice: "try again")
    }

    /// Throws after this many folders were removed before they could be locked.
    private static let maxLockAttempts = 8
}

extension BidirectionalCollection {
    /// The longest suffix whose elements all satisfy the predicate.
    fileprivate func suffix(while predicate: (Element) -> Bool) -> SubSequence {
        var start = endIndex
        while start > startIndex, predicate(self[index(before: start)]) { start = index(before: start) }
        return self[start...]
    }
}
