import Glibc
import Store
import Synchronization

/// A process for tests to kill. It says on its standard output, a letter each, what it has just done.
///
/// A last word `@d2` makes it stop itself (SIGSTOP) right after it has said `d` for the second time, and `@d` after each
/// `d`. A test can kill it there without being fast, and SIGCONT lets it go on.
///
///     StoreFaults stock FOLDER SITE VISITS    so many snapshots of a site, dropping and collecting what is old
///     StoreFaults collect FOLDER LIMIT        makes the store as small as that
///     StoreFaults open FOLDER                 opens the store to write, which brings it up to date
///     StoreFaults read FOLDER                 opens the store to read, as a user who owns nothing
///     StoreFaults copy FOLDER PLACE           copies the store, in no haste
///     StoreFaults private FOLDER MASK         makes a store and notes of it under this mask, and leaves
///     their logs there StoreFaults note FOLDER URL             notes twenty times when the URL of this
///     number was served
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
                say("s")
                let options = CollectionOptions(limit: Int64(words[2]), allowsIncomplete: true)
                _ = try writer.collect(options) { _ in say("r") }
            case ("open", 2):
                say("s")
                _ = try StoreWriter(StoreFolder(words[1]))
            case ("read", 2):
                // Nobody's number; a user who is not root is nobody enough.
                if getuid() == 0 { _ = setuid(65534) }
                _ = try StoreReader(StoreFolder(words[1])).sites()
            case ("private", 3):
                umask(mode_t(words[2], radix: 8) ?? 0)
                let folder = StoreFolder(words[1])
                try Stocking(folder, site: "s").run(snapshots: 1)
                let (writer, book) = (try StoreWriter(folder), try ActivityDatabase(folder))
                try writer.invalidate(["/"])
                try book.recordServed([(1, 1)])
                _exit(0)
            case ("copy", 3):
                let (from, to) = (StoreFolder(words[1]), StoreFolder(words[2]))
                _ = try StoreCopy.run(from: from, to: to) { _ in
                    // A copy commits what it has been at for a while.
                    usleep(100_000)
                    say("b")
                }
            case ("note", 3):
                let book = try ActivityDatabase(StoreFolder(words[1]))
                for time in 0..<20 as Range<Int64> { try book.recordServed([(Int64(words[2]) ?? 0, time)]) }
            default:
                complain("unknown words: \(words)")
                exit(2)
            }
        } catch {
            complain("\(error)")
            exit(1)
        }
        say("e")
    }

    private static func complain(_ text: String) {
        _ = write(2, text, text.utf8.count)
    }

    static func say(_ letter: String) {
        _ = write(1, letter, 1)
        guard letter == stop.letter else { return }
        let said = timesSaid.add(1, ordering: .relaxed).newValue
        if said == stop.count ?? said { raise(SIGSTOP) }
    }

    /// The letter after which the process stops itself: after every one, or only after the `count`th.
    private struct Stop {
        var letter: String?
        var count: Int?
    }

    // Set once, before anything is said.
    nonisolated(unsafe) private static var stop = Stop()
    private static let timesSaid = Atomic(0)
}
