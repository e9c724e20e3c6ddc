internal import Glibc

/// A temporary folder that is locked while its owner is alive and removed with it.
///
/// The lock tells folders in use from those that a killed process left. Each new scratch folder removes the
/// unlocked ones of the same kind beside it.
package final class ScratchFolder: Sendable {
    package let path: String
    private let lock: Int32

    /// Creates a folder in TMPDIR, or in /tmp if TMPDIR is not set. Only this user can access it.
    package init(named beginning: String) throws(SystemError) {
        let made = try Self.locked { () throws(SystemError) in try Folder.makeTemporary(named: beginning) }
        (path, lock) = made
        Self.sweep(beside: path) { $0.starts(with: "\(beginning)-".utf8) }
    }

    /// Creates a folder beside `place`, so that results can be renamed to `place` without copying. Its name
    /// is `draft(of: place)`.
    package init(beside place: String, mode: UInt32) throws(SystemError) {
        let path = Self.draft(of: place)
        let made = try Self.locked { () throws(SystemError) in
            guard mkdir(path, mode) == 0 || errno == EEXIST else {
                throw SystemError(errno, doing: "create the folder", path)
            }
            return path
        }
        (self.path, lock) = made
        Self.sweepDrafts(of: place)
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

    /// The path at which something is written before it is complete and renamed to `place`.
    package static func draft(of place: String) -> String { "\(place).\(getpid()).part" }

    /// Removes the drafts of `place` that killed processes left.
    package static func sweepDrafts(of place: String) {
        let name = Array(place.utf8.suffix(while: { $0 != UInt8(ascii: "/") }))
        sweep(beside: place) { other in
            guard other.starts(with: name + [UInt8(ascii: ".")]), other.suffix(5).elementsEqual(".part".utf8)
            else { return false }
            let number = other.dropFirst(name.count + 1).dropLast(5)
            return !number.isEmpty && number.allSatisfy { (0x30...0x39).contains($0) }
        }
    }

    /// Removes this user's files and folders beside `place` that match and that no process has locked.
    private static func sweep(beside place: String, _ isOne: ([UInt8]) -> Bool) {
        let slash = place.lastIndex(of: "/")
        let parent = slash.map { place[..<$0].isEmpty ? "/" : String(place[..<$0]) } ?? "."
        for name in Folder.names(in: parent) ?? [] where isOne(name) {
            let path = parent + "/" + String(decoding: name, as: UTF8.self)
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

    /// Creates a folder and locks it. Tries again if another process swept the folder away before it was
    /// locked.
    private static func locked(
        _ make: () throws(SystemError) -> String
    ) throws(SystemError) -> (path: String, lock: Int32) {
        for _ in 0..<8 {
            let path = try make()
            let lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
            guard lock >= 0 else {
                if errno == ENOENT { continue }
                throw SystemError(errno, doing: "open", path)
            }
            var (held, found) = (stat(), stat())
            if flock(lock, LOCK_EX | LOCK_NB) == 0, fstat(lock, &held) == 0, stat(path, &found) == 0,
                held.st_ino == found.st_ino, held.st_dev == found.st_dev
            {
                return (path, lock)
            }
            close(lock)
        }
        throw SystemError(EBUSY, doing: "lock", "a folder", advice: "try again")
    }
}

extension BidirectionalCollection {
    /// The longest suffix whose elements all satisfy the predicate.
    fileprivate func suffix(while holds: (Element) -> Bool) -> SubSequence {
        var start = endIndex
        while start > startIndex, holds(self[index(before: start)]) { start = index(before: start) }
        return self[start...]
    }
}
