import Glibc
import TestOrigin
import Testing

@testable import Store

/// File modes of a store. The umask belongs to the whole process, so that each case runs in a child process.
@Suite(.requiresFolderStore) struct ModeTests {
    private static func mode(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    /// The files in a folder that other users can access, each with its mode.
    private static func accessibleFiles(_ path: String) -> [String] {
        var wide: [String] = []
        if let mode = mode(path), mode & 0o077 != 0 { wide.append("\(path) \(String(mode, radix: 8))") }
        guard let entries = opendir(path) else { return wide }
        defer { closedir(entries) }
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { wide += Self.accessibleFiles(path + "/" + name) }
        }
        return wide
    }

    @Test(arguments: ["0", "22", "77"])
    func `only the owner can access a new store, whatever the umask`(mask: String) throws {
        let store = try StockedFolder("a%b?c#d&e/store")
        let ending = try Child("private", store.place, mask).wait()
        #expect(ending.status == 0, "\(ending)")
        #expect(Self.accessibleFiles(store.scratch.file("a%b?c#d&e")) == [])
        let names = [
            "bodies", "incoming", "journal", "larder.db", "larder.db-shm", "larder.db-wal", "larder.lock",
            "notes.db", "notes.db-shm", "notes.db-wal", "packs", "reserve", "secret-key",
        ]
        #expect(store.scratch.names(in: "a%b?c#d&e/store").sorted() == names)
    }

    private func widen(_ folder: StoreFolder) {
        for name in ["larder.db", "larder.lock"] { chmod("\(folder.path)/\(name)", 0o664) }
        for name in ["", "/bodies", "/incoming", "/packs"] { chmod(folder.path + name, 0o775) }
    }

    /// A store whose files have the modes of an earlier version.
    private func makeEarlierStore() throws -> StockedFolder {
        let store = try StockedFolder()
        try store.snapshot([store.response("/", bytes: [UInt8](repeating: 1, count: 100_000))])
        #expect(truncate(store.folder.locks, 0) == 0)
        widen(store.folder)
        return store
    }

    @Test func `a store of an earlier version is closed to other users when it is first written to`() throws {
        let store = try makeEarlierStore()
        _ = try StoreReader(store.folder)
        #expect(Self.mode(store.folder.path) == 0o775)
        _ = try StoreWriter(store.folder)
        #expect(Self.accessibleFiles(store.folder.path) == [])
        #expect(Self.mode(store.folder.path) == 0o700 && Self.mode(store.folder.database) == 0o600)
    }

    @Test func `modes that the owner widened afterwards are preserved`() throws {
        let store = try makeEarlierStore()
        _ = try StoreWriter(store.folder)
        widen(store.folder)
        _ = try StoreWriter(store.folder)
        #expect(Self.mode(store.folder.path) == 0o775 && Self.mode(store.folder.database) == 0o664)
    }

    @Test func `no file gets a wider mode than it had`() throws {
        let store = try makeEarlierStore()
        for name in ["", "/bodies"] { chmod(store.folder.path + name, 0o2710) }
        chmod(store.folder.locks, 0o600)
        _ = try StoreWriter(store.folder)
        #expect(Self.mode(store.folder.path) == 0o2700 && Self.mode(store.folder.bodies) == 0o2700)
        #expect(Self.mode(store.folder.locks) == 0o600)
    }

    @Test func `a folder with other files keeps its mode, and the files of the store are closed to others`()
        throws
    {
        let store = try makeEarlierStore()
        try store.scratch.write("mine", to: "store/readme")
        chmod(store.scratch.file("store/readme"), 0o644)
        _ = try StoreWriter(store.folder)
        #expect(Self.mode(store.folder.path) == 0o775)
        #expect(Self.mode(store.scratch.file("store/readme")) == 0o644)
        #expect(Self.mode(store.folder.database) == 0o600 && Self.mode(store.folder.packs) == 0o700)
    }

    @Test(.enabled(if: getuid() == 0, "only root can give files away"))
    func `files of another user keep their modes, and are refused while others can write to them`() throws {
        let store = try makeEarlierStore()
        chown(store.folder.path, 65534, 65534)
        #expect(throws: StoreError.self) { try StoreWriter(store.folder) }
        #expect(Self.mode(store.folder.path) == 0o775 && Self.mode(store.folder.database) == 0o664)
        chmod(store.folder.path, 0o755)
        _ = try StoreWriter(store.folder)
        #expect(Self.mode(store.folder.path) == 0o755)
        #expect(Self.mode(store.folder.database) == 0o600)
    }
}
