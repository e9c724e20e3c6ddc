import Testing
import Web

@testable import Crawl

/// The meaning of gitweb's URLs, and the branches whose files are fetched.
@Suite struct RepositoryPageTests {
    private static let hash = String(repeating: "0123456789", count: 4)

    private func page(_ query: String) throws -> RepositoryPage? {
        RepositoryPage(try #require(WebURL("http://a.test/git?" + query)))
    }

    private static let kinds: [(String, RepositoryPage.Kind)] = [
        ("p=a.git;a=summary", .content), ("a=shortlog&p=a.git", .content), ("p=a.git;a=log;pg=3", .content),
        ("p=a.git;a=shortlog;h=HEAD", .content), ("p=a.git;a=shortlog;h=HEAD;pg=1", .other),
        ("p=a.git;a=shortlog;h=refs/heads/b", .content), ("p=a.git;a=shortlog;h=refs/heads/b;pg=1", .other),
        ("p=a.git;a=log;h=refs/heads/b", .copy), ("p=a.git;a=shortlog;h=refs/tags/v1", .copy),
        ("p=a.git;a=shortlog;h=\(hash)", .copy), ("p=a.git;a=shortlog;h=HEAD;hp=\(hash)", .other),
        ("p=a.git;a=commit", .content), ("p=a.git;a=commit;h=\(hash)", .content),
        ("p=a.git;a=commit;h=refs/heads/b", .copy), ("p=a.git;a=commit;h=0123456", .other),
        ("p=a.git;a=tag;h=\(hash)", .content), ("p=a.git;a=tag;h=refs/tags/v1", .other),
        ("p=a.git;a=tree", .file(branch: "HEAD")), ("p=a.git;a=tree;f=src;hb=HEAD", .file(branch: "HEAD")),
        ("p=a.git;a=tree;h=\(hash);hb=HEAD", .file(branch: "HEAD")),
        ("p=a.git;a=tree;h=refs/heads/b", .file(branch: "refs/heads/b")),
        ("p=a.git;a=tree;h=refs/heads/b;hb=refs/heads/b", .file(branch: "refs/heads/b")),
        ("p=a.git;a=tree;h=\(hash);hb=\(hash)", .copy), ("p=a.git;a=tree;h=refs/tags/v1", .copy),
        ("p=a.git;a=tree;h=\(hash)", .other),
        ("p=a.git;a=blob;f=b.c;h=\(hash);hb=HEAD", .file(branch: "HEAD")),
        ("p=a.git;a=blob;f=b.c;hb=HEAD", .other), ("p=a.git;a=blob;h=\(hash)", .other),
        ("p=a.git;a=blob;f=b.c;h=\(hash);hb=refs/heads/b", .file(branch: "refs/heads/b")),
        ("p=a.git;a=blob;f=b.c;h=\(hash);hb=\(hash)", .copy),
        ("p=a.git;a=blobdiff;f=b.c;h=\(hash);hb=HEAD", .other), ("p=a.git;a=blob;f=b.c;hb=HEAD;x=1", .other),
    ]

    @Test(arguments: kinds)
    func `a query says what gitweb shows`(query: String, kind: RepositoryPage.Kind) throws {
        let page = try #require(try page(query))
        #expect(page.kind == kind)
        #expect(page.repository == "http://a.test/git?p=a.git")
    }

    @Test(arguments: ["a=tree", "p=3", "p=&a=tree", "action=view&id=1", ""])
    func `other queries are not those of gitweb`(query: String) throws {
        #expect(try page(query) == nil)
    }

    private static let substitutes: [([String], [String], String)] = [
        (["refs/heads/b", "refs/heads/main"], [], "refs/heads/main"),
        (["refs/heads/trunk", "refs/heads/master"], [], "refs/heads/master"),
        (["refs/heads/c", "refs/heads/b"], [], "refs/heads/b"),
        (["refs/heads/c", "refs/heads/main"], ["refs/heads/c"], "refs/heads/c"),
        (["refs/heads/c", "refs/heads/main"], ["refs/heads/gone"], "refs/heads/main"),
    ]

    @Test(arguments: substitutes)
    func `the branch in place of a missing one is chosen by its name or by the earlier run`(
        names: [String], known: [String], chosen: String
    ) {
        for names in [names, names.reversed()] {
            var branches = RepositoryBranches(known: known.isEmpty ? [:] : ["r": known])
            #expect(branches.admit(0, "r", branch: "HEAD") == .fetch)
            for (number, name) in names.enumerated() {
                #expect(branches.admit(UInt32(number + 1), "r", branch: name) == .wait)
            }
            #expect(branches.isWaiting)
            let decided = branches.decide { _ in false }
            #expect(decided.fetched.map { names[Int($0) - 1] } == [chosen])
            #expect(decided.leftOut.count == names.count - 1 && !branches.isWaiting)
            #expect(branches.record == ["r": [chosen], "*": []])
            for name in names {
                #expect(branches.admit(9, "r", branch: name) == (name == chosen ? .fetch : .leaveOut))
            }
        }
    }

    @Test func `no other branch is fetched if the default branch has files`() {
        var branches = RepositoryBranches(known: ["r": ["refs/heads/b"]])
        #expect(branches.record.isEmpty)
        #expect(branches.admit(1, "r", branch: "refs/heads/b") == .wait)
        #expect(branches.admit(2, "r", branch: "HEAD") == .fetch)
        let decided = branches.decide { $0 == 2 }
        #expect(decided.fetched.isEmpty && decided.leftOut == [1])
        #expect(branches.record == ["*": []])
    }
}
