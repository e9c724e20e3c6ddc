internal import Glibc
internal import LarderKit
internal import Reports

/// `larder search WORDS...`: prints the stored pages with these words, the best first. Pages that are not
/// indexed yet are indexed first, for at most `maxIndexingTime`.
///
/// Hits go to standard output, suggestions to standard error. Exit status 0: at least one hit. 1: none, as
/// with grep. 2: a wrong option. 3: the store cannot be read.
enum SearchCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            var options = SearchOptions()
            let (larder, query) = (try arguments.larder, query(arguments.operands))
            options.type = try arguments.typeFilter
            if let site = arguments.text(.inSite) {
                let parts = try await larder.splitSnapshotName(site)
                (options.site, options.snapshot) = (parts.site, parts.snapshot)
            }
            if let snapshot = try await arguments.snapshotOption(larder, target: options.site) {
                options.site = options.site ?? snapshot.site
                options.snapshot = snapshot.name
            }
            options.limit = try arguments.number(.limit, in: 1...1000)
            var report = try await larder.search(query, options: options)
            let isUnindexed = report.texts == nil || report.unread > 0
            if isUnindexed, await indexUnreadPages(report.unread, larder, terminal) {
                report = try await larder.search(query, options: options)
            }
            if arguments.has(.json) {
                terminal.report(report.json)
            } else {
                let isColored = Screen.ofStandardOutput().isColored
                for (place, hit) in report.hits.enumerated() {
                    if place == report.completeHitCount {
                        let others = Wording.count(report.hits.count - place, "page")
                        terminal.show([StyledText("\n\(others) with only some of these words:\n\n", .plain)])
                    }
                    terminal.show(text(of: hit, isColored: isColored))
                }
                var unquoted: String?
                if report.hits.isEmpty, query.contains("\"") {
                    let words = query.replacing("\"", with: " ")
                    // Without the quotation marks, there may be no words left.
                    let other = try? await larder.search(words, options: options)
                    if other?.hits.isEmpty == false { unquoted = words }
                }
                for line in remarks(report, unquoted, arguments) { terminal.fail(line) }
            }
            return report.hits.isEmpty ? .incomplete : .done
        }
    }

    /// Indexes, for a limited time, pages that a prefetch did not index. Returns true if the index or the number of
    /// unread pages has changed, so that a second search can find more.
    private static func indexUnreadPages(_ unread: Int, _ larder: Larder, _ terminal: Terminal) async -> Bool
    {
        if unread > minAnnouncedPages {
            terminal.fail("indexing \(Wording.count(unread, "page")) first; this is done only once")
        }
        do throws(LarderError) {
            let report = try await larder.index(within: maxIndexingTime)
            // A run for one site may have indexed pages that an interrupted run had counted as unread.
            return report.texts + report.others > 0 || report.left != unread
        } catch {
            // If the index cannot be written, the pages indexed before can still be searched.
            return false
        }
    }

    /// The time after which indexing stops, and the search continues with the pages indexed so far.
    private static let maxIndexingTime = Duration.seconds(20)
    /// The number of pages above which indexing takes long enough to be announced.
    private static let minAnnouncedPages = 1000

    /// Returns the query that the operands form. An operand with several words was quoted in the shell, and is a phrase.
    static func query(_ operands: [String]) -> String {
        guard operands.count > 1 else { return operands.joined() }
        return operands.map { word in
            word.utf8.contains(UInt8(ascii: " ")) && !word.utf8.contains(UInt8(ascii: "\""))
                ? "\"\(word)\"" : word
        }.joined(separator: " ")
    }

    /// A hit on three lines: title, URL, and an excerpt of the text.
    private static func text(of hit: SearchReport.Hit, isColored: Bool) -> [StyledText] {
        let heading = hit.headingAfterTitle.isEmpty ? "" : " · \(hit.headingAfterTitle)"
        let title = hit.title.isEmpty ? hit.url : hit.title + heading
        func line(_ text: String) -> String { text.replacing("\n", with: " ") }
        var pieces = [
            StyledText(line(title) + "\n", isColored ? .strong : .plain),
            StyledText("  \(hit.address)\n", .plain),
        ]
        guard !hit.snippet.parts.isEmpty else { return pieces }
        pieces.append(StyledText("  ", .plain))
        for part in hit.snippet.parts {
            pieces.append(StyledText(line(part.text), part.isMarked && isColored ? .marked : .plain))
        }
        pieces.append(StyledText("\n", .plain))
        return pieces
    }

    /// The lines on standard error: why there are no hits, pages without an index, and similar words.
    ///
    /// - Parameter unquoted: the query without quotation marks, if only that has hits.
    private static func remarks(
        _ report: SearchReport, _ unquoted: String?, _ arguments: Arguments
    ) -> [String] {
        var lines: [String] = []
        guard report.texts != nil else {
            return ["no page is indexed yet; to index the stored pages: \(arguments.command("index"))"]
        }
        if let unquoted {
            let command = arguments.command("search", unquoted.split(separator: " ").map(String.init))
            lines.append("no page has this phrase; without quotation marks: \(command)")
        } else if report.hits.isEmpty {
            lines.append("nothing found: no page has these words")
        } else if report.isRelaxed {
            lines.append("no page has all of these words; the results have some of them")
        }
        if report.unread > 0 {
            let unread = Wording.count(report.unread, "page")
            lines.append("\(unread) not indexed yet; to do that: \(arguments.command("index"))")
        }
        for proposal in report.proposals {
            lines.append("did you mean: \(arguments.command("search", [proposal]))")
        }
        return lines
    }
}

/// `larder index [SITE]`: adds pages to the search index, and prints the counts. Exit status 0: done. 2: an
/// unknown site. 3: the index cannot be written. 130: interrupted; the next run continues.
enum IndexCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let larder = try arguments.larder
            let display = try ProgressDisplay(arguments, terminal)
            let progress = display.progress("Indexing pages")
            let site = arguments.operands.first
            let report = try await display.run(orContinueWith: arguments.commandLine) {
                try await larder.index(site, progress: progress)
            }
            terminal.report(arguments.has(.json) ? report.json : text(of: report))
            return report.isInterrupted ? .interrupted : .done
        }
    }

    /// The counts of an index run, on one line. `import` prints it too.
    static func text(of report: IndexReport) -> String {
        var parts = ["\(Wording.count(report.texts, "page")) indexed in \(Wording.time(report.elapsed))"]
        if report.known > 0 { parts.append("\(Wording.number(report.known)) already indexed") }
        if report.forgotten > 0 {
            parts.append("\(Wording.number(report.forgotten)) removed from the index")
        }
        if report.left > 0 { parts.append("\(Wording.number(report.left)) left for the next run") }
        return parts.joined(separator: ", ")
    }
}

/// A piece of text with its style on a terminal.
struct StyledText: Equatable {
    /// The style of a piece of text.
    enum TextStyle {
        case plain, strong, marked
    }

    let text: String
    let style: TextStyle

    init(_ text: String, _ style: TextStyle) {
        self.text = text
        self.style = style
    }

    /// The text with the escape sequences of its style. Control characters in the text itself are escaped.
    var escaped: String {
        switch style {
        case .plain: text.printable
        case .strong: "\u{1B}[1m\(text.printable)\u{1B}[0m"
        case .marked: "\u{1B}[1;33m\(text.printable)\u{1B}[0m"
        }
    }
}

extension Terminal {
    /// Writes styled text, unless `--quiet` is given.
    func show(_ pieces: [StyledText]) {
        guard !isQuiet else { return }
        _ = writePart(Array(pieces.map(\.escaped).joined().utf8).span)
    }
}
