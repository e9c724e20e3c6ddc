internal import LarderKit
internal import Reports
internal import Synchronization

/// `larder list [SITE]`: prints a line for each stored URL, in the order of the URLs; the count goes to
/// standard error. With `--sites`, prints the names of the sites.
///
/// Exit status 0, also for an empty list. 2: an unknown site or a wrong filter. 3: the store cannot be
/// read, or the list could not be written.
enum ListCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        if arguments.has(.sites) { return await SitesCommand.run(arguments, terminal) }
        return await terminal.attempt {
            var options = ListOptions()
            let larder = try arguments.larder
            if let site = arguments.operands.first {
                let parts = try await larder.splitSnapshotName(site)
                (options.site, options.snapshot) = (parts.site, parts.snapshot)
            }
            options.status = try arguments.numberIfGiven(.status, in: 100...999)
            options.type = try arguments.typeFilter
            // Many of the URLs that scripts seem to name do not exist. They would bury the others.
            let hidesMissing = options.status == nil && !arguments.has(.json)
            let writer = ListWriter(terminal, isJSON: arguments.has(.json), hidesMissing: hidesMissing)
            let report = try await larder.list(options) { writer.add($0) }
            let hidden = writer.finish()
            terminal.note(
                "\(Wording.count(report.urls - hidden, "URL")), \(Wording.bytes(report.byteCount))")
            if hidden > 0 {
                let urls = hidden == 1 ? "1 URL was" : "\(Wording.number(hidden)) URLs were"
                terminal.note("\(urls) not found on the live site; to list them: --status 404")
            }
            return .done
        }
    }
}

/// Prints URLs in batches as they are listed, so that a long list needs little memory.
final class ListWriter: Sendable {
    private let terminal: Terminal
    private let isJSON: Bool
    /// The output that is not printed yet, and the number of URLs. The listing thread adds to it; the command
    /// prints the rest at the end.
    private let state: Mutex<(bytes: [UInt8], count: Int, hiddenCount: Int)>
    /// Whether URLs that do not exist on the live site are counted only.
    private let hidesMissing: Bool

    /// The size of waiting output in bytes at which it is written.
    private static let minWriteBytes = 32 * 1024

    /// - Parameter hidesMissing: whether URLs that do not exist on the live site are counted only.
    init(_ terminal: Terminal, isJSON: Bool, hidesMissing: Bool = false) {
        self.hidesMissing = hidesMissing
        self.terminal = terminal
        self.isJSON = isJSON
        state = Mutex((isJSON ? Array("[".utf8) : [], 0, 0))
    }

    /// Adds a URL. Returns false if the output has failed, so that the listing can stop.
    func add(_ url: ListedURL) -> Bool {
        if hidesMissing, url.isMissing {
            state.withLock { $0.hiddenCount += 1 }
            return true
        }
        let piece = state.withLock { state -> [UInt8] in
            if isJSON {
                state.bytes += "\(state.count == 0 ? "" : ",")\n  \(url.json.printable)".utf8
            } else {
                state.bytes += "\(Self.line(for: url).printable)\n".utf8
            }
            state.count += 1
            return state.bytes.count < Self.minWriteBytes ? [] : Self.take(&state.bytes)
        }
        return piece.isEmpty || terminal.writePart(piece.span)
    }

    /// Prints the rest. Returns the number of URLs that were hidden.
    @discardableResult
    func finish() -> Int {
        let rest = state.withLock { state in
            if isJSON { state.bytes += state.count == 0 ? "]\n".utf8 : "\n]\n".utf8 }
            return Self.take(&state.bytes)
        }
        _ = terminal.writePart(rest.span)
        return state.withLock { $0.hiddenCount }
    }

    /// Returns the bytes, and empties the array.
    private static func take(_ bytes: inout [UInt8]) -> [UInt8] {
        defer { bytes.removeAll() }
        return bytes
    }

    /// The line of a URL: status, media type, size and URL, in columns.
    private static func line(for url: ListedURL) -> String {
        let type = (url.type ?? "-").padded(22)
        let size = url.byteCount.map { Wording.bytes($0) } ?? "-"
        return "\(url.status) \(type) \(size.padded(8, left: true)) \(url.url)"
    }
}

/// `larder misses`: prints the requests that servers and proxies could not answer; `--clear` deletes the
/// list after that. Exit status 0, also if there are none.
enum MissesCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let larder = try arguments.larder
            let report = try await larder.misses()
            terminal.report(arguments.has(.json) ? report.json : text(of: report))
            if arguments.has(.clear) {
                try await larder.forgetMisses()
                let count = report.misses.count
                if count > 0, !arguments.has(.json) {
                    terminal.say("Cleared \(Wording.count(count, "miss", plural: "misses"))")
                }
            }
            return .done
        }
    }

    /// The report as text: a line for each missed URL, with the number of requests and the page that requested
    /// it.
    static func text(of report: MissesReport) -> String {
        guard !report.misses.isEmpty else { return "no misses are recorded" }
        return report.misses.map { miss in
            let requester = miss.referrer.map { ", requested by \($0)" } ?? ""
            let method = miss.method == "GET" ? "" : "\(miss.method) "
            let times = miss.count == 1 ? "once" : "\(Wording.number(miss.count)) times"
            return "\(method)\(miss.url): \(miss.isPage ? "a page" : "an asset"), \(times)\(requester)"
        }.joined(separator: "\n")
    }
}
