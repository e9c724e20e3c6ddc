import TestOrigin
import Testing

/// Tests reports of runs that a full disk stops.
@Suite(.enabled(if: Tmpfs.isPossible, "only root can mount a tmpfs"))
struct StoppedRunTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin
    private let disk: Tmpfs

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        disk = try Tmpfs(byteCount: 3_000_000)
        origin.on("/", .page((1...80).map { "<a href=/\($0)>\($0)</a>" }.joined()))
    }

    private func larder(_ arguments: String...) throws -> Command.Ending {
        try Command(arguments + ["--store", disk.path + "/store"], home: home).wait()
    }

    @Test
    func `if the disk fills up, the number of stored URLs is reported, and they are not requested again`()
        throws
    {
        for page in 1...80 {
            let text = String(repeating: "\(page) is not like the others. ", count: 3000)
            origin.on("/\(page)", .page(text))
            // The other pages are withheld until the first ones have been committed.
            if page > 5 { origin.hold("/\(page)") }
        }
        let run = try Command(
            ["prefetch", origin.url("/"), "--per-host", "2", "--store", disk.path + "/store"], home: home)
        let end = ContinuousClock.now + .seconds(120)
        while try larder("list").output.split(separator: "\n").count < 2 {
            try #require(!run.hasEnded && ContinuousClock.now < end, "nothing was committed")
        }
        for page in 6...80 { origin.release("/\(page)") }
        let full = run.wait()
        #expect(full.status == 3, "\(full)")
        #expect(full.errors.contains("No space left on device") || full.errors.contains("full"), "\(full)")
        let listed = try larder("list").output.split(separator: "\n").count
        #expect(listed > 1)
        #expect(
            full.errors.contains(
                "; the \(listed) URLs that this snapshot has are stored and will not be requested again"),
            "\(full), \(listed) are listed")
        try disk.resize(byteCount: 30_000_000)
        origin.forgetRequests()
        #expect(try larder("prefetch", origin.url("/")).status == 0)
        let asked = origin.requests.count { $0.target != "/robots.txt" }
        #expect(asked == 81 - listed)
    }

    @Test func `if the disk was full before, no URLs are reported as stored`() throws {
        try disk.resize(byteCount: 1_000_000)
        origin.on("/", .file([UInt8](repeating: 1, count: 900_000), type: "text/html"))
        let full = try larder("prefetch", origin.url("/"))
        #expect(full.status == 3)
        #expect(full.errors.contains("disk full"), "\(full)")
        #expect(!full.errors.contains("so far") && !full.errors.contains("that this snapshot has"), "\(full)")
    }

    @Test func `a response that a full disk cannot store is sent to its client and reported`() throws {
        try disk.resize(byteCount: 8_000_000)
        var urls: [String] = []
        for (name, count) in [("/a", 3_600_000), ("/b", 2_600_000), ("/c", 1_700_000), ("/d", 400_000)] {
            origin.on(
                name, .file((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }, type: "image/x"))
            urls.append(origin.url(name))
        }
        let sizes = urls.flatMap { ["-o", "/dev/null", $0] }
        let words = ["curl", "-sS", "-w", "%{http_code} %{size_download}\n"] + sizes
        let ending = try Command(
            ["record", "--store", disk.path + "/store", "--"] + words, home: home
        ).wait()
        #expect(ending.status == 0, "\(ending)")
        #expect(ending.output == "200 3600000\n200 2600000\n200 1700000\n200 400000\n", "\(ending)")
        #expect(ending.errors.contains("could not be stored"), "\(ending)")
        #expect(ending.errors.contains(origin.url("/")), "\(ending)")
    }
}
