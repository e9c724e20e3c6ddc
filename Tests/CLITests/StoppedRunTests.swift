import TestOrigin
import Testing

/// A run that the machine stops says what is there of it.
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

    @Test func `a disk that fills up: so many addresses are kept, and are not asked for again`() throws {
        for page in 1...80 {
            // A second for the first ones to be committed in.
            let text = String(repeating: "\(page) is not like the others. ", count: 3000)
            let answer = OriginAnswer.page(text)
            origin.on("/\(page)", page <= 5 ? answer : answer.delayed(.milliseconds(60)))
        }
        let full = try larder("prefetch", origin.url("/"), "--per-host", "2")
        #expect(full.status == 3, "\(full)")
        #expect(full.errors.contains("No space left on device") || full.errors.contains("full"), "\(full)")
        let listed = try larder("list").output.split(separator: "\n").count
        #expect(listed > 1)
        #expect(
            full.errors.contains(
                "; the \(listed) addresses that this visit has are kept, and not asked for again"),
            "\(full), \(listed) are listed")
        try disk.resize(byteCount: 30_000_000)
        origin.forgetRequests()
        #expect(try larder("prefetch", origin.url("/")).status == 0)
        let asked = origin.requests.count { $0.target != "/robots.txt" }
        #expect(asked == 81 - listed)
    }

    @Test func `a disk that was full before: nothing is said to be kept`() throws {
        try disk.resize(byteCount: 1_000_000)
        origin.on("/", .file([UInt8](repeating: 1, count: 900_000), type: "text/html"))
        let full = try larder("prefetch", origin.url("/"))
        #expect(full.status == 3)
        #expect(full.errors.contains("no room on the disk"), "\(full)")
        #expect(!full.errors.contains("so far") && !full.errors.contains("that this visit has"), "\(full)")
    }
}
