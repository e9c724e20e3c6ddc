import Glibc
import TestOrigin

/// A small file system in memory, which a test may fill to the last byte. Root alone can have one.
final class Tmpfs: Sendable {
    let folder: TemporaryFolder
    var path: String { folder.path }

    init(byteCount: Int) throws(SystemError) {
        folder = try TemporaryFolder()
        guard mount("tmpfs", folder.path, "tmpfs", 0, "size=\(byteCount)") == 0 else {
            throw SystemError("mounting a tmpfs")
        }
    }

    deinit {
        umount2(folder.path, Int32(MNT_DETACH))
    }

    func resize(byteCount: Int) throws(SystemError) {
        guard mount("tmpfs", folder.path, "tmpfs", UInt(MS_REMOUNT), "size=\(byteCount)") == 0 else {
            throw SystemError("resizing a tmpfs")
        }
    }

    static let isPossible: Bool = {
        do {
            _ = try Tmpfs(byteCount: 65536)
            return true
        } catch {
            return false
        }
    }()
}
