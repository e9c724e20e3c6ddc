internal import Glibc

/// A folder that is somebody's for a while, and locked as long. It goes with its owner; what one who was
/// killed has left goes when the next one is made.
package final class ScratchFolder: Sendable {
    package let path: String
    private let lock: Int32

    /// One where TMPDIR says, into which nobody else gets.
    package init(named beginning: String) throws(SystemError) {
        let made = try Self.locked { () throws(SystemError) in try Folder.makeTemporary(named: beginning) }
        (path, lock) = made
        Self.sweep(beside: path) { $0.starts(with: "\(beginning)-".utf8) }
    }

    /// One beside the place of what is made in it, so that it can be moved there.
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
        // One of ours that was killed had our number.
        for name in Folder.names(in: path) ?? [] {
            Folder.remove(path + "/" + String(decoding: name, as: UTF8.self))
        }
    }

    deinit {
        Folder.remove(path)
        close(lock)
    }

    // MARK: - Drafts

    /// Under which name something is written until it is whole.
    package static func draft(of place: String) -> String { "\(place).\(getpid()).part" }

    /// Removes what others have left that were killed while they wrote something for this place.
    package static func sweepDrafts(of place: String) {
        let name = Array(place.utf8.suffix(while: { $0 != UInt8(ascii: "/") }))
        sweep(beside: place) { other in
            guard other.starts(with: name + [UInt8(ascii: ".")]), other.suffix(5).elementsEqual(".part".utf8)
            else { return false }
            let number = other.dropFirst(name.count + 1).dropLast(5)
            return !number.isEmpty && number.allSatisfy { (0x30...0x39).contains($0) }
        }
    }

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

    /// Locks what is there, whoever looks for folders that were left meanwhile.
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
    /// The elements at the end for which it holds, one after the other.
    fileprivate func suffix(while holds: (Element) -> Bool) -> SubSequence {
        var start = endIndex
        while start > startIndex, holds(self[index(before: start)]) { start = index(before: start) }
        return self[start...]
    }
}
