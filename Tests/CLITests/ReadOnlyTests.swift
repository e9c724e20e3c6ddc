import Glibc
import Store
import TestOrigin
import Testing

/// Tests commands with a store that their user may not write to.
@Suite struct ReadOnlyTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on("/", .page("<a href=/a>a</a>"))
        origin.on("/a", .page("a"))
    }

    /// Runs the command as an unprivileged user if the tests run as root.
    private func larder(_ arguments: String...) throws -> Command.Ending {
        let becoming = geteuid() == 0 ? "exec setpriv --reuid=65534 --regid=65534 --clear-groups" : "exec"
        return try Command(
            arguments + ["--store", home.file("store")], home: home, shell: "\(becoming) \"$0\" \"$@\""
        ).wait()
    }

    private static let canBecomeAnother = geteuid() != 0 || access("/usr/bin/setpriv", X_OK) == 0

    @Test(.enabled(if: canBecomeAnother, "setpriv is not there"))
    func `misses are listed without those whose URL is now stored`() throws {
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
    func `an unreadable store is not mistaken for a missing one`() throws {
        let store = home.file("store")
        #expect(try Command.run("prefetch", origin.url("/"), "--store", store, home: home).status == 0)
        // The other folders of the path are accessible.
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
