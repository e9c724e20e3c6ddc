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
        // The first call removes the mount of `makeReadOnly`, if there is one.
        while umount2(folder.path, Int32(MNT_DETACH)) == 0 {}
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

    /// Makes the file system read-only for all files that are opened from now on.
    ///
    /// A second, read-only mount covers the first one. The first one could not be made read-only while a file in it is open for
    /// writing, and a process that another test starts at this moment may have inherited such a file.
    package func makeReadOnly() throws(TestError) {
        let path = folder.path
        guard mount(path, path, nil, UInt(MS_BIND), nil) == 0,
            mount(nil, path, nil, UInt(MS_BIND | MS_REMOUNT | MS_RDONLY), nil) == 0
        else { throw TestError("making a tmpfs read-only") }
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
