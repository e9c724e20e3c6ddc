import Glibc
import System
import TestOrigin
import Testing

@Suite struct ScratchFolderTests {
    private let home: TemporaryFolder

    init() throws { home = try TemporaryFolder() }

    private var names: [String] { home.names(in: "").sorted() }

    @Test func `a scratch folder survives a sweep while its owner exists and is removed with it`() throws {
        var scratch: ScratchFolder? = try ScratchFolder(beside: home.file("out"), mode: 0o755)
        let path = try #require(scratch?.path)
        #expect(path == home.file("out.\(getpid()).part") && Folder.exists(path))
        ScratchFolder.sweepDrafts(of: home.file("out"))
        #expect(Folder.exists(path))
        try home.write("x", to: "out.\(getpid()).part/x")
        scratch = nil
        #expect(names == [])
    }

    @Test func `a sweep removes only unlocked drafts of the same target`() throws {
        try home.write("x", to: "out.12.part")
        mkdir(home.file("out.13.part"), 0o700)
        try home.write("x", to: "out.13.part/deep")
        let others = ["other.12.part", "out", "out.1x.part", "out.part", "out.12.part.x", "out..part"]
        for name in others { try home.write("x", to: name) }
        #expect(symlink(home.file("out"), home.file("out.14.part")) == 0)
        try home.write("x", to: "out.15.part")
        let lockedFile = open(home.file("out.15.part"), O_RDWR)
        defer { close(lockedFile) }
        #expect(flock(lockedFile, LOCK_EX) == 0)
        ScratchFolder.sweepDrafts(of: home.file("out"))
        #expect(names == (others + ["out.14.part", "out.15.part"]).sorted())
    }

    @Test func `a folder left by a killed process with the same process ID is emptied`() throws {
        mkdir(home.file("out.\(getpid()).part"), 0o700)
        try home.write("x", to: "out.\(getpid()).part/old")
        let scratch = try ScratchFolder(beside: home.file("out"), mode: 0o755)
        #expect(Folder.names(in: scratch.path) == [])
    }

    @Test func `two scratch folders with the same prefix have different paths`() throws {
        // A prefix of its own, since creating a folder removes the unlocked folders with the same prefix.
        let name = "larder-scratch"
        let (one, two) = (try ScratchFolder(named: name), try ScratchFolder(named: name))
        #expect(one.path != two.path && Folder.exists(one.path) && Folder.exists(two.path))
    }
}
