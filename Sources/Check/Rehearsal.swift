internal import Reports
package import Web

/// The result of opening pages offline and comparing them with the same pages online, by kind.
public struct Rehearsal: Sendable, Equatable {
    /// The pages of one host that have the same scripts.
    public struct PageKind: Sendable, Equatable {
        /// The result of opening pages of a kind.
        public enum Result: Sendable, Equatable {
            /// The compared pages have the same text offline as online, except for single words such as a clock,
            /// and all their requests were answered.
            case equal
            /// The same is true, and `pages` pages of the kind are served as frozen copies, without their scripts.
            /// `replayed` other pages of it are served with recorded messages. The reason is nil except in the report
            /// of the prefetch that chose the copies.
            case frozen(pages: Int, replayed: Int = 0, reason: String? = nil)
            /// The same is true, and `pages` pages of the kind are served with the messages that their sockets and event
            /// streams got online.
            case replayed(pages: Int)
            /// A page shows something else, or requested something that is missing.
            case different(page: String, detail: String)
            /// No page of the kind was compared, for this reason.
            case unknown(String)
        }

        /// The URL of a page of the kind.
        public let example: String
        /// The number of pages of the kind.
        public let pages: Int
        /// The number of pages that were opened.
        public let opened: Int
        /// The number of opened pages whose text was compared with the text that they showed online.
        public let compared: Int
        /// The result for the kind.
        public let result: Result

        package init(example: String, pages: Int, opened: Int, compared: Int, _ result: Result) {
            (self.example, self.pages, self.opened) = (example, pages, opened)
            (self.compared, self.result) = (compared, result)
        }
    }

    /// How much must be proved for a check to succeed.
    public enum Level: String, Sendable, CaseIterable {
        /// All links that a scan of the bodies found have stored and undamaged responses.
        case read
        /// Also, each kind of pages with scripts was opened offline and is the same as online.
        case rehearsed
    }

    /// The kinds of pages that have scripts. Those that were not opened or differ come first.
    public let kinds: [PageKind]
    /// Whether the user interrupted it before every kind was proved.
    public let isInterrupted: Bool

    package init(_ kinds: [PageKind], isInterrupted: Bool = false) {
        self.isInterrupted = isInterrupted
        self.kinds = kinds.sorted { Self.rank($0.result) < Self.rank($1.result) }
    }

    private static func rank(_ result: PageKind.Result) -> Int {
        switch result {
        case .different: 0
        case .unknown: 1
        case .equal, .frozen, .replayed: 2
        }
    }

    /// The result with the reasons for frozen copies, which are the differences in an earlier result.
    package func addingReasonsForCopies(from earlier: Rehearsal?) -> Rehearsal {
        let earlierKinds = earlier?.kinds ?? []
        return Rehearsal(
            kinds.map { kind in
                guard case .frozen(let pages, let replayed, nil) = kind.result,
                    let before = earlierKinds.first(where: { $0.example == kind.example }),
                    case .different(_, let detail) = before.result
                else { return kind }
                return PageKind(
                    example: kind.example, pages: kind.pages, opened: kind.opened, compared: kind.compared,
                    .frozen(pages: pages, replayed: replayed, reason: detail))
            }, isInterrupted: isInterrupted)
    }

    /// The reason for kinds of which nothing is known, because the user interrupted the rehearsal.
    package static let interruptionReason = "the rehearsal was interrupted"

    /// The result if the user interrupts the rehearsal now. Kinds that differed become unknown: missing files may have been
    /// fetched, but no page was opened again. A rehearsal that has proved every kind stays as it is.
    package var interrupted: Rehearsal {
        guard !isProved else { return self }
        return Rehearsal(
            kinds.map { kind in
                switch kind.result {
                case .equal, .frozen, .replayed, .unknown: kind
                case .different:
                    PageKind(
                        example: kind.example, pages: kind.pages, opened: kind.opened,
                        compared: kind.compared, .unknown(Self.interruptionReason))
                }
            }, isInterrupted: true)
    }

    /// Whether every kind is the same offline as online, if need be with replayed messages, or is served as frozen copies.
    public var isProved: Bool { !isInterrupted && kinds.allSatisfy { Self.rank($0.result) == 2 } }

    /// The level that was reached, provided that all links have stored responses.
    public var level: Level { isProved ? .rehearsed : .read }
}

extension Rehearsal {
    /// The result in sentences, as the command prints it.
    public var lines: [String] { differences + summary }

    /// A line for each kind that differs.
    private var differences: [String] {
        kinds.compactMap { kind in
            guard case .different(let page, let detail) = kind.result else { return nil }
            let others = kind.pages - 1
            let like =
                others == 0
                ? ""
                : others == 1
                    ? " (and 1 more page of its kind)" : " (and \(others) more pages of its kind)"
            return "differs offline: \(page)\(like): \(detail)"
        }
    }

    /// The sentences about the kinds that do not differ.
    package var summary: [String] {
        var lines: [String] = []
        var unknown: [(reason: String, pages: Int, example: String)] = []
        for kind in kinds {
            switch kind.result {
            case .equal, .different: continue
            case .replayed(let count):
                lines.append("\(Self.replayedPages(count)), such as \(kind.example)")
            case .frozen(let count, let replayed, let reason):
                if replayed > 0 { lines.append(Self.replayedPages(replayed)) }
                let pages = Wording.count(count, "page")
                let why = reason.map { " (with scripts: \($0))" } ?? ""
                lines.append(
                    "served as frozen copies, without scripts: \(pages), such as \(kind.example)\(why)")
            case .unknown(let reason):
                if let place = unknown.firstIndex(where: { $0.reason == reason }) {
                    unknown[place].pages += kind.pages
                } else {
                    unknown.append((reason, kind.pages, kind.example))
                }
            }
        }
        if isInterrupted, !unknown.contains(where: { $0.reason == Self.interruptionReason }) {
            lines.append(Self.interruptionReason)
        }
        for (reason, pages, example) in unknown {
            let examples = pages == 1 ? example : "such as \(example)"
            lines.append("not compared with the live site: \(Self.pages(pages)), \(examples): \(reason)")
        }
        let equal = kinds.filter { $0.result == .equal }
        let pages = equal.reduce(0) { $0 + $1.pages }
        let opened = equal.reduce(0) { $0 + $1.opened }
        if pages > 0 {
            let sample =
                opened < pages
                ? "\(opened) of \(Self.pages(pages)) opened as a sample" : "\(Self.pages(pages)) opened"
            let compared = equal.reduce(0) { $0 + $1.compared }
            let text =
                compared == opened
                ? "same offline as online"
                : "nothing missing; the text of \(compared) was compared, and is the same offline as online"
            lines.append("\(sample): \(text)")
        }
        return lines
    }

    private static func replayedPages(_ count: Int) -> String {
        "served with the live messages of their first seconds replayed: \(Wording.count(count, "page"))"
    }

    private static func pages(_ count: Int) -> String {
        Wording.count(count, "page") + " with scripts"
    }
}

extension Rehearsal: JSONObject {
    package var members: JSONMembers {
        ["level": level.rawValue, "interrupted": isInterrupted, "kinds": kinds]
    }
}

extension Rehearsal.PageKind: JSONObject {
    package var members: JSONMembers {
        var (word, page, detail): (String, String?, String?) = ("equal", nil, nil)
        var (frozen, replayed): (Int?, Int?)
        switch result {
        case .equal: break
        case .frozen(let count, let others, let why):
            (word, frozen, replayed, detail) = ("frozen", count, others > 0 ? others : nil, why)
        case .replayed(let count): (word, replayed) = ("replayed", count)
        case .different(let differing, let why): (word, page, detail) = ("different", differing, why)
        case .unknown(let why): (word, detail) = ("unknown", why)
        }
        return [
            "example": example, "pages": pages, "opened": opened, "compared": compared, "result": word,
            "page": IfAny(page),
            "frozen": IfAny(frozen), "replayed": IfAny(replayed), "detail": IfAny(detail),
        ]
    }
}
