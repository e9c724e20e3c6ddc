import Glibc
import Store
import Synchronization

/// A process that tests kill. After each step it prints a letter to standard output.
///
/// With the last argument `@d2` the process stops itself (SIGSTOP) after it has printed `d` for the second time, with `@d`
/// after each `d`, and with `@` never. A test can kill it there at any time, or let it continue with SIGCONT.
///
///     StoreFaults stock FOLDER SITE SNAPSHOTS   stores snapshots of a site, drops old ones, and collects
///     StoreFaults collect FOLDER LIMIT          collects, and evicts content down to the limit in bytes
///     StoreFaults open FOLDER                   opens the store for writing, which migrates it
///     StoreFaults read FOLDER                   opens the store for reading, as a user other than the owner
///     StoreFaults copy FOLDER PLACE             copies the store slowly
///     StoreFaults private FOLDER MASK           creates a store under this umask, and leaves its write-ahead logs
///     StoreFaults note FOLDER URL               records 20 times that the URL with this id was served
@main enum StoreFaults {
    static func main() {
        var words = Array(CommandLine.arguments.dropFirst())
        if let mark = words.last, mark.hasPrefix("@") {
            stop = Stop(letter: String(mark.dropFirst().prefix(1)), count: Int(mark.dropFirst(2)))
            words.removeLast()
        }
        do throws(StoreError) {
            switch (words.first, words.count) {
            case ("stock", 4):
                try Stocking(StoreFolder(words[1]), site: words[2]).run(snapshots: Int(words[3]) ?? 0)
            case ("collect", 3):
                let writer = try StoreWriter(StoreFolder(words[1]))
                report("s")
                let options = CollectionOptions(limit: Int64(words[2]), allowsIncomplete: true)
                _ = try writer.collect(options) { _ in report("r") }
            case ("open", 2):
                report("s")
                _ = try StoreWriter(StoreFolder(words[1]))
            case ("read", 2):
                // 65534 is the user without privileges on Debian. A process that does not run as root keeps its user.
                if getuid() == 0 { _ = setuid(65534) }
                _ = try StoreReader(StoreFolder(words[1])).sites()
            case ("private", 3):
                umask(mode_t(words[2], radix: 8) ?? 0)
                let folder = StoreFolder(words[1])
                try Stocking(folder, site: "s").run(snapshots: 1)
                let (writer, activity) = (try StoreWriter(folder), try ActivityDatabase(folder))
                try writer.invalidate(["/"])
                try activity.recordServed([(1, 1)])
                _exit(0)
            case ("copy", 3):
                let (from, to) = (StoreFolder(words[1]), StoreFolder(words[2]))
                _ = try StoreCopy.run(from: from, to: to) { _ in
                    // A copy commits after some time, so that the delay leads to several commits.
                    usleep(100_000)
                    report("b")
                }
            case ("note", 3):
                let activity = try ActivityDatabase(StoreFolder(words[1]))
                for time in 0..<20 as Range<Int64> {
                    try activity.recordServed([(Int64(words[2]) ?? 0, time)])
                }
            default:
                complain("unknown arguments: \(words)")
                exit(2)
            }
        } catch {
            complain("\(error)")
            exit(1)
        }
        report("e")
    }

    private static func complain(_ text: String) {
        _ = write(2, text, text.utf8.count)
    }

    static func report(_ letter: String) {
        _ = write(1, letter, 1)
        guard letter == stop.letter else { return }
        let count = reportCount.add(1, ordering: .relaxed).newValue
        if count == stop.count ?? count { raise(SIGSTOP) }
    }

    /// The letter after which the process stops itself: after every one, or only after the `count`th.
    private struct Stop {
        var letter: String?
        var count: Int?
    }

    // Set once, before the first report.
    nonisolated(unsafe) private static var stop = Stop()
    private static let reportCount = Atomic(0)
}
