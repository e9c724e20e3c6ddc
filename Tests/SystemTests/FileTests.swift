import Glibc
import System
import TestOrigin
import Testing

/// `File`, `WholeFile` and `Folder` against the real file system.
@Suite struct FileTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func mode(_ path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    @Test func `a file is read completely, up to a limit, or from an offset`() throws {
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let path = try folder.write(bytes, to: "file")
        #expect(try WholeFile.read(path, atMost: 300_000) == bytes)
        #expect(try WholeFile.beginning(of: path, 70_000) == Array(bytes[..<70_000]))
        let file = try File(path, O_RDONLY)
        #expect(file.byteCount == 300_000)
        #expect(try file.read(from: 299_990, byteCount: 20) == Array(bytes[299_990...]))
        #expect(try file.read(from: 400_000, byteCount: 20).isEmpty)
        var pieces: [UInt8] = []
        let isWhole = try file.eachPiece(of: 1000) { piece in
            piece.withUnsafeBufferPointer { pieces += $0 }
            return pieces.count < 5000
        }
        #expect(!isWhole)
        #expect(pieces == Array(bytes[..<5000]))
    }

    @Test func `reading a file that is too large or missing throws an error with the reason`() throws {
        let path = try folder.write("0123456789", to: "file")
        let large = #expect(throws: SystemError.self) { try WholeFile.read(path, atMost: 9) }
        #expect(large?.description == "cannot read \(path): it is over 9 bytes")
        let missing = #expect(throws: SystemError.self) { try WholeFile.read(path + "x", atMost: 9) }
        #expect(missing?.code == ENOENT)
        #expect(missing?.description == "cannot read \(path)x: No such file or directory")
    }

    @Test func `a replaced file has the new content, and only its owner can access it`() throws {
        let path = try folder.write("before", to: "file")
        try WholeFile.replace(path, with: "after")
        #expect(try WholeFile.read(path, atMost: 100) == Array("after".utf8))
        #expect(mode(path) == 0o600)
        #expect(folder.names() == ["file"])
        // A folder cannot be replaced by a file.
        mkdir(folder.file("taken"), 0o700)
        let error = #expect(throws: SystemError.self) { try WholeFile.write("x", to: folder.file("taken/")) }
        #expect(error?.advice == "name a file in a writable folder")
        #expect(Set(folder.names()) == ["file", "taken"])
    }

    @Test func `a device is written to, not replaced`() throws {
        try WholeFile.write("x", to: "/dev/null")
        #expect(!WholeFile.exists("/dev/null"))
    }

    @Test func `bytes written at an offset replace the bytes there`() throws {
        let path = folder.file("new")
        let file = try File(path, O_RDWR | O_CREAT | O_EXCL)
        try file.write(Array("0123456789".utf8))
        try file.write(Array("ab".utf8), at: 3)
        try file.syncData()
        try file.close()
        #expect(try WholeFile.read(path, atMost: 100) == Array("012ab56789".utf8))
        #expect(throws: SystemError.self) { _ = try File(path, O_RDWR | O_CREAT | O_EXCL) }
    }

    @Test func `each temporary file has a unique name`() throws {
        let (one, other) = (
            try WholeFile.makeTemporary(in: folder.path, named: "body", [1, 2]),
            try WholeFile.makeTemporary(in: folder.path, named: "body", [3])
        )
        #expect(one != other)
        #expect(one.hasPrefix(folder.path + "/body-"))
        #expect(try WholeFile.read(one, atMost: 9) == [1, 2])
        #expect(mode(other) == 0o600)
    }

    @Test func `a folder is created with its missing parents and removed with its contents`() throws {
        let path = folder.file("a/b/c")
        try Folder.make(path)
        try Folder.make(path)
        #expect(mode(path) == 0o700)
        try folder.write("x", to: "a/b/file")
        symlink(folder.path, folder.file("a/link"))
        #expect(Set(Folder.names(in: folder.file("a")) ?? []) == [Array("b".utf8), Array("link".utf8)])
        Folder.remove(folder.file("a"))
        #expect(folder.names().isEmpty)
        #expect(Folder.names(in: folder.file("a")) == nil)
        let file = try folder.write("x", to: "file")
        let error = #expect(throws: SystemError.self) { try Folder.make(file + "/below") }
        #expect(error?.code == ENOTDIR)
    }
}
