import Glibc

/// A small file system in memory that a test can fill completely. Only root can mount it.
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

    /// Fills the file system until `free` is called.
    package func fill() throws(TestError) {
        let file = open(filler, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw TestError("filling a tmpfs") }
        defer { close(file) }
        let bytes = [UInt8](repeating: 0x2e, count: 4096)
        while write(file, bytes, bytes.count) == bytes.count {}
        guard errno == ENOSPC else { throw TestError("filling a tmpfs") }
    }

    package func free() throws(TestError) {
        guard unlink(filler) == 0 else { throw TestError("emptying a tmpfs") }
    }

    private var filler: String { path + "/filler" }

    package func makeReadOnly() throws(TestError) {
        guard mount("tmpfs", folder.path, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), nil) == 0 else {
            throw TestError("making a tmpfs read-only")
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
