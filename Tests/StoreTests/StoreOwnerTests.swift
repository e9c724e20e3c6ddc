import Glibc
import TestOrigin
import Testing

@testable import Store

@Suite struct StoreOwnerTests {
    @Test(
        arguments: [
            (1000, 0o700, 1000, StoreOwner.Verdict.trusted), (1000, 0o777, 1000, .trusted),
            (0, 0o755, 1000, .trusted), (0, 0o775, 1000, .open), (0, 0o1777, 1000, .open),
            (1001, 0o755, 1000, .foreign), (1001, 0o700, 0, .foreign), (1001, 0o775, 1000, .open),
            (1001, 0o757, 0, .open), (0, 0o777, 0, .trusted),
        ] as [(UInt32, UInt32, UInt32, StoreOwner.Verdict)])
    func `a store of another user is not trusted, and refused if further users can write to it`(
        owner: UInt32, mode: UInt32, user: UInt32, verdict: StoreOwner.Verdict
    ) {
        #expect(StoreOwner.verdict(owner: owner, mode: mode, user: user) == verdict)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func `a store that changed its owner is used with a warning, until others can write to it`() throws {
        let store = try StockedFolder()
        try store.snapshot([store.response("http://a.test/")])
        guard store.folder.server == nil else { return }
        #expect(store.folder.ownerWarning == nil)
        for path in [store.folder.path, store.folder.database] { #expect(chown(path, 12345, 12345) == 0) }
        #expect(store.folder.ownerWarning?.contains("belongs to user 12345") == true)
        #expect(try store.text("http://a.test/") == "text")
        for path in [store.folder.path, store.folder.database] {
            var status = stat()
            #expect(stat(path, &status) == 0)
            #expect(chmod(path, status.st_mode & 0o7777 | 0o020) == 0)
            let read = #expect(throws: StoreError.self) { try store.reader() }
            #expect(read?.description.contains("chmod -R go-w") == true)
            #expect(throws: StoreError.self) { try StoreWriter(store.folder) }
            #expect(chmod(path, status.st_mode & 0o7777) == 0)
        }
        #expect(try store.text("http://a.test/") == "text")
    }
}
