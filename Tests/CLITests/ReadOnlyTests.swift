import Glibc
import Store
import TestOrigin
import Testing

/// A larder that whoever looks may not write to.
@Suite struct ReadOnlyTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on("/", .page("<a href=/a>a</a>"))
        origin.on("/a", .page("a"))
    }

    /// Who may write everywhere runs the command as somebody who may not.
    private func larder(_ arguments: String...) throws -> Command.Ending {
        let becoming = geteuid() == 0 ? "exec setpriv --reuid=65534 --regid=65534 --clear-groups" : "exec"
        return try Command(
            arguments + ["--store", home.file("store")], home: home, shell: "\(becoming) \"$0\" \"$@\""
        ).wait()
    }

    private static let canBecomeAnother = geteuid() != 0 || access("/usr/bin/setpriv", X_OK) == 0

    @Test(.enabled(if: canBecomeAnother, "setpriv is not there"))
    func `what was missed is listed, and what is held by now is left out`() throws {
        let store = home.file("store")
        #expect(try Command.run("prefetch", origin.url("/"), "--store", store, home: home).status == 0)
        let misses = ["/a", "/b"].map { Miss(href: origin.url($0), isPage: false, first: 1, last: 1) }
        try ActivityDatabase(StoreFolder(store)).recordMisses(misses)
        let all = try Command([], home: home, shell: "chmod -R a-w,a+rX \"$HOME\" && chmod a+X \"$HOME\"")
            .wait()
        #expect(all.status == 0, "\(all)")
        defer { _ = try? Command([], home: home, shell: "chmod -R u+w \"$HOME\"").wait() }
        let listed = try larder("misses")
        #expect(listed.status == 0, "\(listed)")
        #expect(listed.output == "\(origin.url("/b")): an asset, once\n", "\(listed)")
        #expect(try larder("status").status == 0)
        let cleared = try larder("misses", "--clear")
        #expect(cleared.status == 3 && cleared.errors.contains("cannot"), "\(cleared)")
    }

    @Test(.enabled(if: canBecomeAnother, "setpriv is not there"))
    func `a larder that may not be looked into is not taken for none`() throws {
        let store = home.file("store")
        #expect(try Command.run("prefetch", origin.url("/"), "--store", store, home: home).status == 0)
        // The rest of the way is open.
        #expect(chmod(home.path, 0o755) == 0)
        if geteuid() != 0 { #expect(chmod(store, 0) == 0) }
        defer { chmod(store, 0o700) }
        for words in [
            ["list"], ["status"], ["store", "status"], ["check", "--offline", "x.test"],
            ["export", "x.test", "/tmp/x.zim"],
        ] {
            let ending = try Command(
                words + ["--store", store], home: home,
                shell: (geteuid() == 0 ? "exec setpriv --reuid=65534 --regid=65534 --clear-groups" : "exec")
                    + " \"$0\" \"$@\""
            ).wait()
            #expect(ending.status == 3 && ending.errors.contains("Permission denied"), "\(words): \(ending)")
            #expect(!ending.errors.contains("the store does not exist"), "\(words): \(ending)")
        }
    }
}
