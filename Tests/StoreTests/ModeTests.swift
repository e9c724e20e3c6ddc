import Glibc
import TestOrigin
import Testing

@testable import Store

/// Who may look into a store. The mask that a process gives its files is everybody's in it, so that each case
/// has a process of its own.
@Suite(.ofFiles) struct ModeTests {
    private static func mode(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    /// Everything below a folder, with its mode, for who should be alone with it.
    private static func wide(_ path: String) -> [String] {
        var wide: [String] = []
        if let mode = mode(path), mode & 0o077 != 0 { wide.append("\(path) \(String(mode, radix: 8))") }
        guard let entries = opendir(path) else { return wide }
        defer { closedir(entries) }
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { wide += Self.wide(path + "/" + name) }
        }
        return wide
    }

    @Test(arguments: ["0", "22", "77"])
    func `only the owner can access a new store, whatever the umask`(mask: String) throws {
        let store = try StockedFolder("a%b?c#d&e/store")
        let ending = try Child("private", store.place, mask).wait()
        #expect(ending.status == 0, "\(ending)")
        #expect(Self.wide(store.scratch.file("a%b?c#d&e")) == [])
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

    /// A store with the modes of an earlier version.
    private func earlier() throws -> StockedFolder {
        let store = try StockedFolder()
        try store.snapshot([store.response("/", bytes: [UInt8](repeating: 1, count: 100_000))])
        #expect(truncate(store.folder.locks, 0) == 0)
        widen(store.folder)
        return store
    }

    @Test func `a store of an earlier version is closed to other users when it is first written to`() throws {
        let store = try earlier()
        _ = try StoreReader(store.folder)
        #expect(Self.mode(store.folder.path) == 0o775)
        _ = try StoreWriter(store.folder)
        #expect(Self.wide(store.folder.path) == [])
        #expect(Self.mode(store.folder.path) == 0o700 && Self.mode(store.folder.database) == 0o600)
    }

    @Test func `modes that the owner widened afterwards are preserved`() throws {
        let store = try earlier()
        _ = try StoreWriter(store.folder)
        widen(store.folder)
        _ = try StoreWriter(store.folder)
        #expect(Self.mode(store.folder.path) == 0o775 && Self.mode(store.folder.database) == 0o664)
    }

    @Test func `no file gets a wider mode than it had`() throws {
        let store = try earlier()
        for name in ["", "/bodies"] { chmod(store.folder.path + name, 0o2710) }
        chmod(store.folder.locks, 0o600)
        _ = try StoreWriter(store.folder)
        #expect(Self.mode(store.folder.path) == 0o2700 && Self.mode(store.folder.bodies) == 0o2700)
        #expect(Self.mode(store.folder.locks) == 0o600)
    }

    @Test func `a folder with other files keeps its mode, and the files of the store are closed to others`()
        throws
    {
        let store = try earlier()
        try store.scratch.write("mine", to: "store/readme")
        chmod(store.scratch.file("store/readme"), 0o644)
        _ = try StoreWriter(store.folder)
        #expect(Self.mode(store.folder.path) == 0o775)
        #expect(Self.mode(store.scratch.file("store/readme")) == 0o644)
        #expect(Self.mode(store.folder.database) == 0o600 && Self.mode(store.folder.packs) == 0o700)
    }

    @Test(.enabled(if: getuid() == 0, "only root can give files away"))
    func `files of another user keep their modes, and are refused while others can write to them`() throws {
        let store = try earlier()
        chown(store.folder.path, 65534, 65534)
        #expect(throws: StoreError.self) { try StoreWriter(store.folder) }
        #expect(Self.mode(store.folder.path) == 0o775 && Self.mode(store.folder.database) == 0o664)
        chmod(store.folder.path, 0o755)
        _ = try StoreWriter(store.folder)
        #expect(Self.mode(store.folder.path) == 0o755)
        #expect(Self.mode(store.folder.database) == 0o600)
    }
}
