import Glibc
import System
import TestOrigin
import Testing

@Suite struct ScratchFolderTests {
    private let home: TemporaryFolder

    init() throws { home = try TemporaryFolder() }

    private var names: [String] { home.names(in: "").sorted() }

    @Test func `it goes with its owner, and is locked as long`() throws {
        var scratch: ScratchFolder? = try ScratchFolder(beside: home.file("out"), mode: 0o755)
        let path = try #require(scratch?.path)
        #expect(path == home.file("out.\(getpid()).part") && Folder.isThere(path))
        ScratchFolder.sweepDrafts(of: home.file("out"))
        #expect(Folder.isThere(path))
        try home.write("x", to: "out.\(getpid()).part/x")
        scratch = nil
        #expect(names == [])
    }

    @Test func `what the killed have left goes, and nothing else`() throws {
        try home.write("x", to: "out.12.part")
        mkdir(home.file("out.13.part"), 0o700)
        try home.write("x", to: "out.13.part/deep")
        let others = ["other.12.part", "out", "out.1x.part", "out.part", "out.12.part.x", "out..part"]
        for name in others { try home.write("x", to: name) }
        #expect(symlink(home.file("out"), home.file("out.14.part")) == 0)
        try home.write("x", to: "out.15.part")
        let held = open(home.file("out.15.part"), O_RDWR)
        defer { close(held) }
        #expect(flock(held, LOCK_EX) == 0)
        ScratchFolder.sweepDrafts(of: home.file("out"))
        #expect(names == (others + ["out.14.part", "out.15.part"]).sorted())
    }

    @Test func `one that had the same number leaves nothing in it`() throws {
        mkdir(home.file("out.\(getpid()).part"), 0o700)
        try home.write("x", to: "out.\(getpid()).part/old")
        let scratch = try ScratchFolder(beside: home.file("out"), mode: 0o755)
        #expect(Folder.names(in: scratch.path) == [])
    }

    @Test func `one with a drawn name is nobody else's`() throws {
        // Folders of other tests have another beginning: those that nobody has locked would go.
        let name = "larder-scratch"
        let (one, two) = (try ScratchFolder(named: name), try ScratchFolder(named: name))
        #expect(one.path != two.path && Folder.isThere(one.path) && Folder.isThere(two.path))
    }
}
