import TestOrigin
import Testing
import Web

@testable import Crawl

/// Crawls of repository browsers that show all pages at one path, as gitweb does.
@Suite struct RepositoryCrawlTests {
    private static let folders = [
        "": ["src", "README.md"], "src": ["src/engine", "src/tools"],
        "src/engine": (1...9).map { "src/engine/\($0).py" },
        "src/tools": (1...9).map { "src/tools/\($0).py" },
    ]
    private static let commits = (10...29).map { "0123456789abcdef0123456789abcdef012345\($0)" }
    private static let branches = ["feature", "main"]
    /// With a slash, as if they were paths of documents, and without one.
    private static let repositories = ["beans/.git", "roaster"]

    /// A word that depends on the numbers.
    private static func word(_ numbers: Int...) -> String {
        var value = UInt64(numbers.reduce(7) { $0 &* 1009 &+ $1 }) &* 0x9E37_79B9_7F4A_7C15
        value ^= value >> 29
        return String(
            decoding: (0..<6).map { (place: UInt64) -> UInt8 in
                let letter: UInt64 = (value >> (8 * place)) % 26
                return UInt8(ascii: "a") + UInt8(letter)
            }, as: UTF8.self)
    }

    private static func hash(of file: String) -> String {
        let text = String(file.utf8.reduce(7) { ($0 &* 31 &+ Int($1)) % 999_983 })
        return String(repeating: "f", count: 40 - text.utf8.count) + text
    }

    private static func message(_ commit: Int) -> String {
        "Add the \(word(commit, 1)) \(word(commit, 2)) for \(word(commit, 3)) \(word(commit, 4))"
    }

    private static func link(_ query: String, _ text: String) -> String { "<a href='/?\(query)'>\(text)</a>" }

    /// The pages of a repository, with links of the forms that gitweb gives them.
    private struct Pages {
        let repository: String
        let number: Int
        let values: [String: String]

        /// The page of a query; nil if there is no such repository.
        init?(_ query: String) {
            let items = query.split(separator: ";").map {
                $0.split(separator: "=", maxSplits: 1).map(String.init)
            }
            values = Dictionary(items.map { ($0[0], $0.count > 1 ? $0[1] : "") }) { first, _ in first }
            guard let repository = values["p"], let number = repositories.firstIndex(of: repository) else {
                return nil
            }
            self.repository = repository
            self.number = number
        }

        private func link(_ rest: String, _ text: String) -> String {
            RepositoryCrawlTests.link("p=\(repository);\(rest)", text)
        }

        /// Links to the kinds of pages, for a revision if there is one.
        private var head: String {
            let revision = values["hb"] ?? values["h"]
            let end = revision.map { ";h=\($0)" } ?? ""
            let tabs =
                ["summary", "rss", "atom"].map { link("a=\($0)", $0) }
                + ["shortlog", "log", "commit", "commitdiff"].map { link("a=\($0)\(end)", $0) }
            return "<h1>\(repository)</h1>" + tabs.joined(separator: " | ")
                + link("a=tree" + (revision.map { "\(end);hb=\($0)" } ?? ""), "tree")
        }

        /// The branches, which have the same files.
        private var heads: String {
            branches.map { "refs/heads/\($0)" }.map { branch in
                link("a=shortlog;h=\(branch)", branch) + link("a=log;h=\(branch)", "log")
                    + link("a=tree;h=\(branch);hb=\(branch)", "tree")
            }.joined()
        }

        private var log: String {
            let since = values["h"].flatMap(commits.firstIndex(of:)) ?? 0
            return commits.indices.dropFirst(since).map { place in
                let hash = commits[place]
                let links = ["commit", "commitdiff", "snapshot", "log", "shortlog"].map {
                    link("a=\($0);h=\(hash)", $0)
                }
                return "<p>\(message(number * 100 + place))</p>\(links.joined())"
                    + link("a=tree;h=\(hash);hb=\(hash)", "tree")
            }.joined()
        }

        private var commit: String {
            let place = values["h"].flatMap(commits.firstIndex(of:)) ?? 0
            let revision = values["h"] ?? "HEAD"
            let file = "f=README.md;h=\(hash(of: "README.md"))"
            let older = commits[min(place + 1, commits.count - 1)]
            return "<table><td>author<td>Anna<td>committer</table> \(message(number * 100 + place))"
                + link("a=search;h=\(revision);s=Anna;st=author", "Anna")
                + link("a=commit;h=\(older)", "parent")
                + link("a=tree;h=\(hash(of: ""));hb=\(revision)", "tree")
                + link("a=blob;\(file);hb=\(revision)", "blob")
                + link("a=blobdiff;\(file);hp=\(older);hb=\(revision);hpb=\(older)", "diff")
                + link("a=history;f=README.md;hb=\(revision)", "history") + heads
        }

        private var tree: String? {
            guard let names = folders[values["f"] ?? ""] else { return nil }
            let branch = values["hb"] ?? "HEAD"
            return path(values["f"] ?? "", branch)
                + names.map { name in
                    let kind = folders[name] == nil ? "blob" : "tree"
                    let file = "f=\(name);h=\(hash(of: name));hb=\(branch)"
                    return link("a=\(kind);\(file)", String(name.split(separator: "/").last ?? ""))
                        + ["history", "blame", "blob_plain"].map { link("a=\($0);\(file)", $0) }.joined()
                }.joined()
        }

        /// Links to the folders of a file or folder.
        private func path(_ file: String, _ branch: String) -> String {
            let parts = file.split(separator: "/").dropLast()
            let folders = parts.indices.map { parts[...$0].joined(separator: "/") }
            return link("a=tree;hb=\(branch)", "root")
                + folders.map { link("a=tree;f=\($0);hb=\(branch)", $0) }.joined()
        }

        private var blob: String? {
            guard let file = values["f"] else { return nil }
            let seed = file.utf8.reduce(7) { ($0 &* 31 &+ Int($1)) % 9973 }
            let text = (1...40).map { word(number, seed, $0) }
            return path(file, values["hb"] ?? "HEAD") + link("a=blob;f=\(file);hb=HEAD", "HEAD")
                + "<pre>\(text.joined(separator: " "))</pre>"
        }

        /// The page; nil if there is no such page.
        var page: String? {
            let body: String? =
                switch values["a"] {
                case "summary": "The \(repository) project" + log + heads
                case "heads": heads
                case "log", "shortlog": log
                case "commit": commit
                case "tree": tree
                case "blob": blob
                default: nil
                }
            return body.map { head + $0 }
        }
    }

    private static func crawl() throws -> (bench: CrawlBench, report: CrawlReport) {
        let bench = try CrawlBench()
        bench.origin.otherwise { request in
            guard let query = WebURL("http://a.test" + request.target)?.query else {
                return request.target == "/"
                    ? .page(repositories.map { link("p=\($0);a=summary", $0) }.joined()) : .failure(404)
            }
            return Pages(query)?.page.map { .page($0) } ?? .failure(404)
        }
        return (bench, try bench.crawl())
    }

    /// The URL of a file or folder of a branch.
    private static func target(_ repository: String, _ name: String, _ branch: String) -> String {
        let kind = folders[name] == nil ? "blob" : "tree"
        return "/?p=\(repository);a=\(kind);f=\(name);h=\(hash(of: name));hb=\(branch)"
    }

    @Test func `files, folders and commits are fetched, but no histories and raw files`() throws {
        let (bench, report) = try Self.crawl()
        let targets = Set(bench.origin.requests.map(\.target))
        for repository in Self.repositories {
            for name in ["summary", "log", "shortlog", "tree"] {
                #expect(targets.contains("/?p=\(repository);a=\(name)"))
            }
            for name in Self.folders.values.joined() {
                #expect(targets.contains(Self.target(repository, name, "HEAD")), "\(repository) \(name)")
            }
            for commit in Self.commits { #expect(targets.contains("/?p=\(repository);a=commit;h=\(commit)")) }
        }
        for name in ["commitdiff", "blobdiff", "history", "blame", "blob_plain", "snapshot", "search"] {
            #expect(!targets.contains { $0.contains("a=\(name);") }, "\(name)")
        }
        #expect(!targets.contains { $0.contains("hb=0123") })
        #expect(targets.count < 200, "\(targets.sorted())")
        #expect(report.skipped.contains { $0.cause == .sidePage(.history) })
        #expect(report.skipped.contains { $0.cause == .view })
    }

    @Test func `files of branches with the same files are left out as views`() throws {
        let (bench, report) = try Self.crawl()
        let targets = Set(bench.origin.requests.map(\.target))
        let left = try #require(LeftOut(report))
        let files = Self.folders.values.joined().filter { $0.hasSuffix(".py") }
        for repository in Self.repositories {
            let copies = files.flatMap { file in
                Self.branches.map { Self.target(repository, file, "refs/heads/\($0)") }
            }
            #expect(copies.count { targets.contains($0) } <= 8)
            for file in files {
                let first = try #require(WebURL(bench.origin.url(Self.target(repository, file, "HEAD"))))
                #expect(!left.isStoredView(first))
            }
        }
    }
}
