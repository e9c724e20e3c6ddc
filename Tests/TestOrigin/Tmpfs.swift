import Glibc

/// A small file system in memory, which a test may fill to the last byte. Root alone can have one.
package final class Tmpfs: Sendable {
    private let folder: TemporaryFolder
    package var path: String { folder.path }

    package init(byteCount: Int) throws(TestError) {
        folder = try TemporaryFolder()
        guard mount("tmpfs", folder.path, "tmpfs", 0, "size=\(byteCount)") == 0 else {
            throw TestError("mounting a tmpfs")
        }
    }

    deinit {
        umount2(folder.path, Int32(MNT_DETACH))
    }

    package func resize(byteCount: Int) throws(TestError) {
        guard mount("tmpfs", folder.path, "tmpfs", UInt(MS_REMOUNT), "size=\(byteCount)") == 0 else {
            throw TestError("resizing a tmpfs")
        }
    }

    /// Leaves not a byte free.
    package func fill() throws(TestError) {
        let file = open(folder.path + "/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw TestError("filling a tmpfs") }
        defer { close(file) }
        let zeros = [UInt8](repeating: 0, count: 65536)
        var size = zeros.count
        while size > 0 {
            if write(file, zeros, size) <= 0 { size /= 2 }
        }
    }

    package static let isPossible: Bool = {
        do {
            _ = try Tmpfs(byteCount: 65536)
            return true
        } catch {
            return false
        }
    }()
}
