import Glibc
import Store
import TestOrigin
import Testing
import Web

@testable import Crawl

/// Crawls with a program that downloads the videos of players that cannot be mirrored.
@Suite struct MediaCommandTests {
    private let bench: CrawlBench
    private var origin: TestOrigin { bench.origin }

    init() throws {
        bench = try CrawlBench()
        origin.on("/", .page("<iframe src='/embed/1?a=b&amp;c'></iframe><iframe src=/other></iframe>"))
        origin.on("/embed/1?a=b&c", .page("a player"))
        origin.on("/other", .page("other"))
    }

    /// Writes a program that makes files, and returns the command with it.
    private func command(_ script: String) throws -> MediaCommand {
        let path = bench.scratch.file("fake downloader")
        let file = try #require(fopen(path, "w"))
        fputs("#!/bin/sh\n\(script)\n", file)
        fclose(file)
        chmod(path, 0o700)
        return try MediaCommand("'\(path)' -P %o %u", for: ["/embed/**"])
    }

    private func crawl(_ command: MediaCommand?) throws -> CrawlReport {
        try bench.crawl { $0.mediaCommand = command }
    }

    @Test func `the files of the program are stored, and a page with them takes the place of the player`()
        throws
    {
        let script = """
            test "$#" = 3 || exit 9
            printf '%s' "$3" > "$2/talk.mp4"; printf p > "$2/talk.jpg"; printf WEBVTT > "$2/talk.de.vtt"
            printf x > "$2/talk.info.json"; ln -s /etc/passwd "$2/evil.mp4"
            """
        let report = try crawl(try command(script))
        #expect(report.missing.isEmpty)
        #expect(Set(origin.requests.map(\.target)) == ["/", "/other"])
        let page = try #require(try bench.text("/embed/1?a=b&c"))
        #expect(page.contains("<video controls") && page.contains("srclang=\"de\"") && !page.contains("evil"))
        let path = try #require(page.split(separator: "src=\"").dropFirst().first?.prefix { $0 != "\"" })
        #expect(path.hasPrefix("/embed/1/larder-media/") && path.hasSuffix("/video.mp4"))
        // The URL was one argument, as it is.
        #expect(try bench.text(String(path)) == origin.url("/embed/1?a=b&c"))
        // An update keeps them, also without the program.
        _ = try crawl(nil)
        #expect(Set(origin.requests.map(\.target)) == ["/", "/other"])
        #expect(try bench.text("/embed/1?a=b&c") == page)
        #expect(try bench.text(String(path)) != nil)
    }

    @Test func `a program that fails or makes no video is reported`() throws {
        for script in ["echo no such video >&2; exit 3", "exit 0"] {
            let report = try CrawlBench(emptied: bench).crawl { $0.mediaCommand = try command(script) }
            #expect(report.missing.map(\.address.path) == ["/embed/1"])
        }
    }

    @Test(arguments: [
        "", "yt-dlp %u", "yt-dlp -P %o", "yt-dlp -P %o --url=%u", "yt-dlp '-P %o %u", "%u %o",
        "yt-dlp %o %u %u",
    ])
    func `a command without its places is refused`(text: String) {
        #expect(throws: MediaCommand.Mistake.self) { try MediaCommand(text, for: ["/embed/**"]) }
    }

    @Test func `quotes keep the words of a command together`() {
        #expect(MediaCommand.words(of: "a  'b c'd \"\" \"e'f\"") == ["a", "b cd", "", "e'f"])
    }
}
