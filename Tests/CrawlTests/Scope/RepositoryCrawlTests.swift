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

        /// Whether the page shows something of the default branch.
        var isOfDefaultBranch: Bool {
            switch values["a"] {
            case "tree", "blob": (values["hb"] ?? "HEAD") == "HEAD"
            case "log", "shortlog", "commit": (values["h"] ?? "HEAD") == "HEAD"
            default: false
            }
        }

        /// The page; nil if there is no such page.
        func page(linksToBranchesFirst: Bool) -> String? {
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
            return body.map { linksToBranchesFirst ? heads + $0 + head : head + $0 }
        }
    }

    /// The repositories on a test origin.
    private struct Site {
        /// Whether `HEAD` names a branch, and not one that does not exist.
        var hasDefaultBranch = true
        /// Whether the summary links to the branches before it links to the default branch.
        var linksToBranchesFirst = false
        var start = "/"

        func serve(_ bench: CrawlBench) {
            bench.origin.otherwise { request in
                guard let query = WebURL("http://a.test" + request.target)?.query else {
                    return request.target == "/"
                        ? .page(repositories.map { link("p=\($0);a=summary", $0) }.joined()) : .failure(404)
                }
                guard let pages = Pages(query), hasDefaultBranch || !pages.isOfDefaultBranch else {
                    return .failure(404)
                }
                return pages.page(linksToBranchesFirst: linksToBranchesFirst).map { .page($0) }
                    ?? .failure(404)
            }
        }

        func crawl(_ bench: CrawlBench, after first: CrawlReport? = nil) throws -> CrawlReport {
            let url = try #require(WebURL(bench.origin.url(start)))
            return try bench.crawl {
                $0.start = [url]
                $0.sitePlan.leftOut = first.flatMap { LeftOut($0) }
            }
        }
    }

    private static func targets(_ bench: CrawlBench, from first: Int = 0) -> Set<String> {
        Set(bench.origin.requests.dropFirst(first).map(\.target))
    }

    /// The URL of a file or folder of a branch.
    private static func target(_ repository: String, _ name: String, _ branch: String) -> String {
        let kind = folders[name] == nil ? "blob" : "tree"
        return "/?p=\(repository);a=\(kind);f=\(name);h=\(hash(of: name));hb=\(branch)"
    }

    /// The URLs of all files and folders of a branch.
    private static func files(_ repository: String, _ branch: String) -> Set<String> {
        Set(folders.values.joined().map { target(repository, $0, branch) })
    }

    @Test func `files, folders and commits are fetched, but no histories and raw files`() throws {
        let bench = try CrawlBench()
        Site().serve(bench)
        let report = try Site().crawl(bench)
        let targets = Self.targets(bench)
        for repository in Self.repositories {
            for name in ["summary", "log", "shortlog", "tree"] {
                #expect(targets.contains("/?p=\(repository);a=\(name)"))
            }
            #expect(targets.isSuperset(of: Self.files(repository, "HEAD")))
            for commit in Self.commits { #expect(targets.contains("/?p=\(repository);a=commit;h=\(commit)")) }
            // The links to the folders of a page.
            for folder in ["src", "src/engine", "src/tools"] {
                #expect(targets.contains("/?p=\(repository);a=tree;f=\(folder);hb=HEAD"))
            }
        }
        for name in ["commitdiff", "blobdiff", "history", "blame", "blob_plain", "snapshot", "search", "rss"]
        {
            #expect(!targets.contains { $0.contains("a=\(name);") }, "\(name)")
        }
        #expect(!targets.contains { $0.contains("hb=0123") || $0.contains("log;h=0123") })
        #expect(bench.origin.requests.count < 150, "\(targets.sorted())")
        #expect(report.missing.isEmpty)
        #expect(report.skipped.contains { $0.cause == .sidePage(.history) })
        #expect(report.skipped.contains { $0.cause == .view })
    }

    @Test(arguments: [false, true])
    func `only the files of the default branch are fetched, whichever branch is linked first`(isLast: Bool)
        throws
    {
        let bench = try CrawlBench()
        let site = Site(linksToBranchesFirst: isLast)
        site.serve(bench)
        let report = try site.crawl(bench)
        let targets = Self.targets(bench)
        let left = try #require(LeftOut(report))
        for repository in Self.repositories {
            #expect(targets.isSuperset(of: Self.files(repository, "HEAD")))
            for branch in Self.branches {
                #expect(targets.contains("/?p=\(repository);a=shortlog;h=refs/heads/\(branch)"))
                for file in Self.files(repository, "refs/heads/\(branch)") {
                    #expect(!targets.contains(file))
                    let url = try #require(WebURL(bench.origin.url(file)))
                    #expect(left.reason(for: url) == SkipReason.sidePage(.history).name)
                }
            }
            for target in Self.files(repository, "HEAD") {
                let url = try #require(WebURL(bench.origin.url(target)))
                #expect(left.reason(for: url) == nil && !left.isView(url))
            }
        }
        #expect(LeftOut(try JSONValue.parse(Array(left.members.text().utf8).span)) == left)
    }

    @Test(arguments: [false, true])
    func `every page that was not fetched is recorded as left out`(hasDefaultBranch: Bool) throws {
        let bench = try CrawlBench()
        let site = Site(hasDefaultBranch: hasDefaultBranch)
        site.serve(bench)
        let report = try site.crawl(bench)
        let targets = Self.targets(bench)
        let left = try #require(LeftOut(report))
        let start = try #require(WebURL(bench.origin.url("/")))
        for skipped in report.skipped {
            #expect(!targets.contains(skipped.address.path + "?" + (skipped.address.query ?? "")))
            guard case .skipped = Scope(start: [start]).pageVerdict(on: skipped.address, depth: 1) else {
                #expect(left.reason(for: skipped.address) != nil, "\(skipped.address.href)")
                continue
            }
        }
    }

    @Test func `the next run fetches the same pages`() throws {
        let bench = try CrawlBench()
        Site().serve(bench)
        let first = try Site().crawl(bench)
        let targets = Self.targets(bench)
        let count = bench.origin.requests.count
        let second = try Site().crawl(bench, after: first)
        #expect(Self.targets(bench, from: count) == targets)
        #expect(second.branches == first.branches)
        #expect(second.views.mapValues { $0.sorted() } == first.views.mapValues { $0.sorted() })
    }

    @Test func `one other branch takes the place of a default branch that does not exist`() throws {
        let bench = try CrawlBench()
        let site = Site(hasDefaultBranch: false)
        site.serve(bench)
        let first = try site.crawl(bench)
        let targets = Self.targets(bench)
        for repository in Self.repositories {
            #expect(targets.isSuperset(of: Self.files(repository, "refs/heads/main")))
            #expect(targets.isDisjoint(with: Self.files(repository, "refs/heads/feature")))
            for commit in Self.commits { #expect(targets.contains("/?p=\(repository);a=commit;h=\(commit)")) }
        }
        let count = bench.origin.requests.count
        _ = try site.crawl(bench, after: first)
        #expect(Self.targets(bench, from: count).isSuperset(of: Self.files("roaster", "refs/heads/main")))
    }

    @Test func `the files of a branch that the start URL names are fetched`() throws {
        let bench = try CrawlBench()
        let site = Site(start: "/?p=roaster;a=tree;h=refs/heads/feature;hb=refs/heads/feature")
        site.serve(bench)
        let report = try site.crawl(bench)
        let targets = Self.targets(bench)
        #expect(targets.isSuperset(of: Self.files("roaster", "refs/heads/feature")))
        #expect(targets.isDisjoint(with: Self.files("roaster", "refs/heads/main")))
        let file = try #require(
            WebURL(bench.origin.url(Self.target("roaster", "README.md", "refs/heads/feature"))))
        #expect(LeftOut(report)?.reason(for: file) == nil)
    }

    @Test func `files of other branches are fetched too if the user includes histories`() throws {
        let bench = try CrawlBench()
        Site().serve(bench)
        let report = try bench.crawl { $0.sitePlan.scope.includesHistory = true }
        let targets = Self.targets(bench)
        #expect(targets.isSuperset(of: Self.files("roaster", "HEAD")))
        // Not necessarily all of them: so many copies can look like an endless URL space (`Traps`).
        for branch in ["refs/heads/feature", "refs/heads/main"] {
            #expect(!targets.isDisjoint(with: Self.files("roaster", branch)))
        }
        #expect(report.branches.isEmpty)
    }
}
