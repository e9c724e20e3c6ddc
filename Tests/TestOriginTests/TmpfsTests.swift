import Glibc
import TestOrigin
import Testing

@Suite(.enabled(if: Tmpfs.isPossible, "only root can mount a tmpfs"))
struct TmpfsTests {
    @Test func `a disk becomes read-only while a file on it is open for writing`() throws {
        let disk = try Tmpfs(byteCount: 65536)
        let path = disk.path + "/file"
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        try disk.makeReadOnly()
        #expect(open(path, O_WRONLY | O_CLOEXEC) == -1)
        #expect(errno == EROFS)
    }

    @Test func `the file system is unmounted at the end`() throws {
        let path: String
        do {
            let disk = try Tmpfs(byteCount: 65536)
            path = disk.path
            try disk.makeReadOnly()
        }
        #expect(access(path, F_OK) == -1)
    }
}
