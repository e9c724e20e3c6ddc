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
    private static let repositories = ["beans", "roaster"]

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

    /// A page of the repository; nil if there is no such page.
    private static func page(_ query: String) -> String? {
        let items = query.split(separator: ";").map {
            $0.split(separator: "=", maxSplits: 1).map(String.init)
        }
        let values = Dictionary(items.map { ($0[0], $0.count > 1 ? $0[1] : "") }) { first, _ in first }
        guard let repository = values["p"], let number = repositories.firstIndex(of: repository) else {
            return nil
        }
        let of = { (rest: String) in "p=\(repository);\(rest)" }
        let tabs = ["summary", "shortlog", "log", "commit", "commitdiff", "tree"]
            .map { link(of("a=\($0)"), $0) }.joined(separator: " | ")
        let head = "<h1>\(repository)</h1>\(tabs)"
        let since = values["h"].flatMap(commits.firstIndex(of:)) ?? 0
        switch values["a"] {
        case "summary":
            return head + "The \(repository) project"
                + link(of("a=commit;h=\(commits[0])"), message(number * 100))
        case "log", "shortlog":
            let rows = commits.indices.dropFirst(since).map { place in
                let hash = commits[place]
                let links = ["commit", "commitdiff", "snapshot", "log", "shortlog"].map {
                    link(of("a=\($0);h=\(hash)"), $0)
                }
                return "<p>\(message(number * 100 + place))</p>\(links.joined())"
                    + link(of("a=tree;h=\(hash);hb=\(hash)"), "tree")
            }
            return head + "Anna " + rows.joined()
        case "commit":
            return head + "<table><td>author<td>Anna<td>committer</table> \(message(number * 100 + since))"
                + link(of("a=search;h=\(commits[since]);s=Anna;st=author"), "Anna")
                + link(of("a=blob;f=README.md;h=\(hash(of: "README.md"));hb=\(commits[since])"), "blob")
        case "tree":
            guard let names = folders[values["f"] ?? ""] else { return nil }
            let rows = names.map { name in
                let kind = folders[name] == nil ? "blob" : "tree"
                let file = "f=\(name);h=\(hash(of: name));hb=HEAD"
                return link(of("a=\(kind);\(file)"), String(name.split(separator: "/").last ?? ""))
                    + ["history", "blame", "blob_plain"].map { link(of("a=\($0);\(file)"), $0) }.joined()
            }
            return head + rows.joined()
        case "blob":
            guard let file = values["f"] else { return nil }
            let folder = file.split(separator: "/").dropLast().joined(separator: "/")
            let text = (1...40).map { word(number, file.utf8.reduce(7) { ($0 &* 31 &+ Int($1)) % 9973 }, $0) }
            return head + link(of("a=tree;f=\(folder);hb=HEAD"), folder)
                + link(of("a=blob;f=\(file);hb=HEAD"), "HEAD") + "<pre>\(text.joined(separator: " "))</pre>"
        default:
            return nil
        }
    }

    @Test func `files, folders and commits are fetched, but no histories and raw files`() throws {
        let bench = try CrawlBench()
        bench.origin.otherwise { request in
            guard let query = WebURL("http://a.test" + request.target)?.query else {
                return request.target == "/"
                    ? .page(Self.repositories.map { Self.link("p=\($0);a=summary", $0) }.joined())
                    : .failure(404)
            }
            return Self.page(query).map { .page($0) } ?? .failure(404)
        }
        let report = try bench.crawl()
        let targets = Set(bench.origin.requests.map(\.target))
        for repository in Self.repositories {
            for name in ["summary", "log", "shortlog", "tree"] {
                #expect(targets.contains("/?p=\(repository);a=\(name)"))
            }
            for name in Self.folders.values.joined() {
                let kind = Self.folders[name] == nil ? "blob" : "tree"
                let target = "/?p=\(repository);a=\(kind);f=\(name);h=\(Self.hash(of: name));hb=HEAD"
                #expect(targets.contains(target), "\(target)")
            }
            for commit in Self.commits { #expect(targets.contains("/?p=\(repository);a=commit;h=\(commit)")) }
        }
        for name in ["commitdiff", "history", "blame", "blob_plain", "snapshot", "search"] {
            #expect(!targets.contains { $0.contains("a=\(name);") }, "\(name)")
        }
        #expect(!targets.contains { $0.contains("hb=0123") })
        #expect(targets.count < 150, "\(targets.sorted())")
        #expect(report.skipped.contains { $0.cause == .sidePage(.history) })
        #expect(report.skipped.contains { $0.cause == .view })
    }
}
