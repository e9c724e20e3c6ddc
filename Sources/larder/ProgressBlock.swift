internal import Glibc
internal import LarderKit
internal import Reports

/// The lines of the progress display on a terminal: a pure function of the figures, their age and the size
/// of the terminal. At 80 columns, a prefetch looks like this:
///
/// ```text
/// Prefetching https://example.com/                                        0:42
///   pages       120 done, 340 queued
///   assets      800 done, 25 queued
///   received    12.5 MB at 1.2 MB/s, 300 unchanged
///   hosts       example.com 20/s, 4 of 16 open, 340 queued, and 2 more hosts
///   waiting for 4 responses
///   time left   about 3 minutes
/// ```
///
/// Below `minColumnsForLabels`, labels are short and only one host is shown. Texts that do not fit a line
/// are left out from its end. `ProgressDisplay` draws the lines.
enum ProgressBlock: Equatable {
    /// The block of a prefetch, update or preload.
    case prefetch(PrefetchProgress)
    /// The title and the figures of other work, on one line. The phase is for the lines of JSON.
    case work(String, phase: String? = nil, WorkProgress)

    /// The minimum width in columns for full labels and the title. Narrower terminals get short ones.
    private static let minColumnsForLabels = 60
    /// The width of the labels in columns.
    private static let labelColumns = 12
    /// The maximum number of hosts with a line. The others are counted.
    private static let maxHosts = 3

    /// The lines that fit the terminal.
    ///
    /// - Parameters:
    ///   - age: the age of the figures.
    ///   - notice: a message below the figures, such as that the work is stopping.
    func lines(width: Int, height: Int, age: Duration, isColored: Bool, notice: String? = nil) -> [String] {
        // Some terminals wrap when the last column is written.
        let room = max(1, width - 1)
        var lines =
            switch self {
            case .prefetch(let progress): Self.lines(of: progress, room: room, height: height, age: age)
            case .work(let title, _, let progress): [Self.line(of: progress, title)]
            }
        if let notice {
            var line = BlockLine("", [notice])
            line.fragments[0].style = .warning
            lines.append(line)
        }
        return lines.prefix(max(1, height - 1)).map { $0.text(width: room, isColored: isColored) }
    }

    /// The line of work other than a prefetch: title, count, percentage and bytes, as far as they are known.
    private static func line(of progress: WorkProgress, _ title: String) -> BlockLine {
        let noun =
            switch progress.unit {
            case .bodies: "bodies"
            case .bundles: "bundles"
            case .files: "files"
            case .pages: "pages"
            case .responses: "responses"
            case .diskSpace: ""
            }
        let count = progress.total.map {
            "\(Wording.number(progress.done)) of \(Wording.number($0)) \(noun)"
        }
        let percent = progress.total.flatMap { $0 > 0 ? "\(min(100, progress.done * 100 / $0)) %" : nil }
        let bytes = progress.byteCount > 0 ? Wording.bytes(progress.byteCount) : nil
        if progress.unit == .diskSpace { return BlockLine("", [title, bytes.map { "\($0) in use" }]) }
        return BlockLine("", [title, count ?? "\(Wording.number(progress.done)) \(noun)", percent, bytes])
    }

    /// The lines of a prefetch. A terminal with few lines gets the most useful ones.
    private static func lines(
        of progress: PrefetchProgress, room: Int, height: Int, age: Duration
    ) -> [BlockLine] {
        let hasLabels = room >= minColumnsForLabels
        func line(_ label: String, short: String, _ texts: [String?]) -> BlockLine {
            BlockLine(hasLabels ? "  " + label.padded(Self.labelColumns) : short, texts)
        }
        var lines = [heading(progress, room, age)]
        lines.append(line("pages", short: "pages ", countTexts(progress.pages)))
        lines.append(line(hasLabels ? "assets" : "", short: "assets ", countTexts(progress.assets)))
        lines.append(line("received", short: "", byteTexts(progress)))
        if progress.failed > 0 {
            var failed = line("failed", short: "failed ", ["\(Wording.number(progress.failed)) so far"])
            failed.fragments[0].style = .warning
            lines.append(failed)
        }
        lines += hostLines(progress, hasLabels, room)
        lines.append(line("waiting for", short: "waiting: ", waitTexts(progress)))
        lines.append(line("time left", short: "left: ", [timeLeft(progress)]))
        // On a terminal with few lines, the heading, the counts and the time left are the most useful.
        return height > lines.count ? lines : Array(lines.prefix(4)) + lines.suffix(1)
    }

    /// The name of the site on the left, the elapsed time on the right.
    private static func heading(_ progress: PrefetchProgress, _ room: Int, _ age: Duration) -> BlockLine {
        let time = Wording.clock(progress.elapsed + age)
        let name = Fitting.replaceNonASCII(progress.site)
        let title = room >= minColumnsForLabels ? "Prefetching \(name)" : name
        let space = max(1, room - time.utf8.count - 1)
        var line = BlockLine("", [Fitting.shorten(title, to: space).padded(space), time], separator: " ")
        line.fragments[0].style = .strong
        return line
    }

    private static func countTexts(_ count: PrefetchProgress.Count) -> [String] {
        ["\(Wording.number(count.done)) done", "\(Wording.number(count.queued)) queued"]
    }

    /// The received bytes, their rate, and what revalidation saved.
    private static func byteTexts(_ progress: PrefetchProgress) -> [String?] {
        [
            Wording.bytes(progress.byteCount)
                + (progress.phase == .fetching ? " at \(Wording.bytes(progress.bytesPerSecond))/s" : ""),
            progress.confirmed > 0 ? "\(Wording.number(progress.confirmed)) unchanged" : nil,
            progress.savedByteCount > 0 ? "\(Wording.bytes(progress.savedByteCount)) not sent again" : nil,
        ]
    }

    /// A line for each of the busiest hosts. Only the first one has the label.
    private static func hostLines(_ progress: PrefetchProgress, _ hasLabels: Bool, _ room: Int) -> [BlockLine]
    {
        let shown = progress.hosts.prefix(hasLabels ? maxHosts : 1)
        let width = shown.map(\.name.utf8.count).max().map { min($0, room / 3) } ?? 0
        var lines: [BlockLine] = []
        for (place, host) in shown.enumerated() {
            let name = Fitting.shorten(
                Fitting.replaceNonASCII(host.name), to: hasLabels ? width : max(8, room - 18))
            let state =
                host.pause.map { "paused for \(Wording.clock($0))" }
                // After the limit was lowered, more requests than allowed may still be running.
                ?? (host.running > host.limit
                    ? "\(host.running) open" : "\(host.running) of \(host.limit) open")
            let texts = [
                (hasLabels ? name.padded(width) : name) + " \(Wording.rate(host.requestsPerSecond))/s", state,
                "\(Wording.number(host.queued)) queued",
            ]
            let label = place == 0 ? "hosts" : ""
            lines.append(BlockLine(hasLabels ? "  " + label.padded(Self.labelColumns) : "", texts))
        }
        let more = progress.hostCount - shown.count
        if more > 0, !lines.isEmpty {
            lines[lines.count - 1].fragments.append(
                BlockLine.Fragment(text: "and \(Wording.count(more, "more host"))", style: .quiet))
        }
        return lines
    }

    /// The events that the crawl is waiting for; "nothing" if there are none.
    private static func waitTexts(_ progress: PrefetchProgress) -> [String?] {
        let waiting = progress.waiting
        let texts = [
            progress.phase == .storing ? "the store" : nil,
            progress.phase == .indexing
                ? "the search index (\(Wording.count(progress.indexed, "page")) so far)" : nil,
            progress.running > 0 ? Wording.count(progress.running, "response") : nil,
            waiting.robots > 0 ? "robots.txt (\(Wording.count(waiting.robots, "page")))" : nil,
            waiting.retries > 0 ? Wording.count(waiting.retries, "retry", plural: "retries") : nil,
            waiting.scans > 0 ? Wording.count(waiting.scans, "scan") : nil,
        ]
        return texts.allSatisfy { $0 == nil } ? ["nothing"] : texts
    }

    /// The estimated time left, in rough words.
    private static func timeLeft(_ progress: PrefetchProgress) -> String {
        if progress.phase != .fetching { return "almost done" }
        guard let remaining = progress.remaining else { return "unknown (more may be found)" }
        return "about \(Wording.roughTime(remaining))"
    }
}

/// One line of a block: a label, followed by as many fragments as fit.
struct BlockLine: Equatable {
    enum FragmentStyle: Equatable {
        case plain, strong, quiet, warning
    }

    /// A piece of text that is shown whole or left out.
    struct Fragment: Equatable {
        let text: String
        var style = FragmentStyle.plain
    }

    var label = ""
    var fragments: [Fragment]
    var separator = ", "

    init(_ label: String, _ texts: [String?], separator: String = ", ") {
        self.label = label
        fragments = texts.compactMap { $0.map { Fragment(text: $0) } }
        self.separator = separator
    }

    /// The line, at most `width` columns wide: fragments that do not fit are left out, and the first one is
    /// shortened in the middle.
    func text(width: Int, isColored: Bool) -> String {
        var room = max(0, width)
        let head = Fitting.shorten(label, to: room)
        room -= head.unicodeScalars.count
        var line = Self.addStyle(head, .quiet, isColored)
        for (place, fragment) in fragments.enumerated() {
            let space = place == 0 ? "" : separator
            let needed = space.unicodeScalars.count + fragment.text.unicodeScalars.count
            if needed <= room {
                line += space + Self.addStyle(fragment.text, fragment.style, isColored)
                room -= needed
            } else if place == 0 {
                line += Self.addStyle(Fitting.shorten(fragment.text, to: room), fragment.style, isColored)
                break
            } else {
                break
            }
        }
        return line
    }

    /// Returns the text between the escape sequences of its style, if colours are wanted.
    private static func addStyle(_ text: String, _ style: FragmentStyle, _ isColored: Bool) -> String {
        guard isColored, !text.isEmpty else { return text }
        return switch style {
        case .plain: text
        case .strong: "\u{1b}[1m\(text)\u{1b}[0m"
        case .quiet: "\u{1b}[2m\(text)\u{1b}[0m"
        case .warning: "\u{1b}[33m\(text)\u{1b}[0m"
        }
    }
}

/// Fits text into a number of columns, and removes characters that would control the terminal.
enum Fitting {
    /// Shortens text to the width by replacing its middle with two dots, because the ends of a URL are the
    /// most informative parts.
    static func shorten(_ text: String, to width: Int) -> String {
        let scalars = Array(text.unicodeScalars)
        guard scalars.count > width else { return text }
        guard width > 2 else { return String(repeating: ".", count: max(0, width)) }
        let room = width - 2
        let head = room - room / 2
        return string(scalars[..<head]) + ".." + string(scalars[(scalars.count - room / 2)...])
    }

    /// Replaces everything but printable ASCII by question marks: host names from servers could control the
    /// terminal, and the width of other characters is unknown.
    static func replaceNonASCII(_ text: String) -> String {
        String(decoding: text.utf8.map { (0x20..<0x7f).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }

    private static func string(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }
}

/// The line of `--verbose` for one finished request.
enum FetchLine {
    /// The line in columns: status, size, time, kind, URL and failure. The status of a request without a response
    /// is `---`.
    static func text(of url: PrefetchedURL) -> String {
        let status = url.status.map { "\($0)" } ?? "---"
        let size = Wording.bytes(url.byteCount).padded(9, left: true)
        let time = Wording.time(url.elapsed).padded(8, left: true)
        let failure = url.failure.map { ": \($0)" } ?? ""
        return
            "\(status) \(size) \(time)  \(url.kind.rawValue.padded(9)) \(Fitting.replaceNonASCII(url.url + failure))"
    }
}

/// The lines that are on the screen. It computes the terminal output that replaces them by new ones, and
/// does no I/O.
///
/// The cursor is always below the block. To redraw, it moves up by the rows of the old block, overwrites
/// each line, and erases the rest. Escape sequences: `ESC [ n A` moves up n rows, `ESC [ K` erases to the
/// end of the line, `ESC [ J` to the end of the screen.
struct Canvas: Equatable {
    /// The width in columns of each line that is shown.
    private var widths: [Int] = []

    /// Returns output that writes `text`, which consists of whole lines, and the new block below it. The
    /// cursor ends below the block.
    mutating func draw(_ lines: [String], above text: String = "", width: Int) -> String {
        // A terminal that became narrower has wrapped the shown lines.
        let rows = widths.reduce(0) { $0 + max(1, ($1 + max(1, width) - 1) / max(1, width)) }
        var output = rows > 0 ? "\r\u{1b}[\(rows)A" : ""
        if !text.isEmpty || lines.isEmpty {
            if rows > 0 { output += "\u{1b}[J" }
            output += text
        }
        for line in lines { output += line + "\u{1b}[K\n" }
        if !lines.isEmpty, rows > 0 { output += "\u{1b}[J" }
        widths = lines.map(Self.width)
        return output
    }

    /// The width of a line without its escape sequences.
    private static func width(_ line: String) -> Int {
        var (width, isEscape) = (0, false)
        for scalar in line.unicodeScalars {
            if scalar == "\u{1b}" { isEscape = true }
            if !isEscape { width += 1 } else if scalar == "m" { isEscape = false }
        }
        return width
    }
}

/// The size and abilities of the terminal of standard error.
struct Screen: Equatable {
    var width = 80
    var height = 24
    /// Whether it is a terminal that can move its cursor.
    var isDrawable = false
    var isColored = false

    init() {}

    /// Reads the abilities of a terminal from the environment.
    init(isTerminal: Bool, environment: (String) -> String?) {
        let kind = environment("TERM") ?? ""
        isDrawable = isTerminal && !kind.isEmpty && kind != "dumb"
        // https://no-color.org: set and not empty.
        isColored = isDrawable && (environment("NO_COLOR") ?? "").isEmpty
    }

    /// The terminal of standard error, with its current size.
    static func ofStandardError() -> Screen {
        var screen = Screen(isTerminal: isatty(STDERR_FILENO) == 1) { name in
            getenv(name).map { String(cString: $0) }
        }
        screen.measure()
        return screen
    }

    /// The terminal of standard output, to decide on colours. Its size is not read.
    static func ofStandardOutput() -> Screen {
        Screen(isTerminal: isatty(STDOUT_FILENO) == 1) { name in getenv(name).map { String(cString: $0) } }
    }

    /// Updates the size, which can change at any time.
    mutating func measure() {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return
        }
        width = Int(size.ws_col)
        height = Int(size.ws_row)
    }
}
