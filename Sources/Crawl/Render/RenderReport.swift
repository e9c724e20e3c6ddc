internal import Markup
package import Web

/// The results of rendering pages.
public struct RenderReport: Sendable, Equatable {
    /// The mode of the run.
    public package(set) var mode = RenderMode.never
    /// The version of the browser, such as `Chrome/150.0.1`; nil if none was started.
    public package(set) var browser: String?
    /// Why no browser was started although there were pages to render; nil if there is no such reason.
    public package(set) var failure: String?
    /// The results by URL pattern.
    public package(set) var patterns: [Pattern] = []
    /// The number of stored responses to requests that pages sent (POST), which are found again by the
    /// request body.
    public package(set) var recorded = 0
    /// The first 100 pages whose rendering did not complete, with the reasons.
    public package(set) var unfinished: [Unfinished] = []
    /// How often pages did something that is not part of loading, by kind.
    public package(set) var notices: [String: Int] = [:]

    /// Pages with URLs of the same pattern, of which at least one had a reason to be rendered.
    public struct Pattern: Sendable, Equatable {
        /// The URL pattern.
        public let pattern: String
        /// The number of pages.
        public let pages: Int
        /// The number of rendered pages.
        public let rendered: Int
        /// The number of assets that only rendering found.
        public let foundAssets: Int
        /// The number of linked pages that only rendering found.
        public let foundPages: Int
        /// The number of rendered pages that did not complete.
        public let unfinished: Int
        /// The reasons for rendering: the parts of the pages that a scan could not read.
        public let reasons: [String]
        /// Whether one of the reasons is strong.
        package let isStrong: Bool
    }

    /// A page whose rendering did not complete.
    public struct Unfinished: Sendable, Equatable {
        /// The URL of the page.
        public let url: String
        /// How its rendering ended.
        public let ending: RenderEnding
        /// Details of a failure; nil if there are none.
        public let detail: String?
    }

    /// The patterns that the next run renders from the start; nil if no page was rendered.
    package internal(set) var fruitfulPatterns: [String]?
    /// The patterns that were rendered in this run or an earlier one.
    package internal(set) var renderedPatternTexts: [String] = []

    /// The number of WebSockets that pages opened.
    package var sockets: Int { notices["web-socket"] ?? 0 }

    /// Whether rendered pages did something that a scan had not found, or for a strong reason may do so offline.
    package var isWorthRehearsing: Bool {
        mode == .always || recorded > 0 || !notices.isEmpty
            || patterns.contains { $0.rendered > 0 && ($0.foundAssets + $0.foundPages > 0 || $0.isStrong) }
    }

    /// The number of rendered pages.
    public var rendered: Int { patterns.reduce(0) { $0 + $1.rendered } }

    /// The maximum number of pages in `unfinished`. Further ones only count in `patterns`.
    private static let maxUnfinished = 100
    /// The maximum number of stored patterns. Pages of further ones are rendered again by the next run.
    private static let maxRenderedPatterns = 1000

    /// Adds the result of a rendered page.
    mutating func add(_ page: RenderedPage, of url: WebURL) {
        for (notice, count) in page.notices { notices[notice, default: 0] += count }
        guard page.ending != .complete, unfinished.count < Self.maxUnfinished else { return }
        unfinished.append(.init(url: url.href, ending: page.ending, detail: page.detail))
    }

    /// Counts the patterns of the scheduler at the end of the run.
    mutating func count(_ scheduler: RenderScheduler) {
        mode = scheduler.mode
        if scheduler.patterns.contains(where: { $0.renderedCount > 0 }) {
            fruitfulPatterns = scheduler.patterns.filter { $0.isFruitful || $0.wasFruitful }.map(\.text)
                .sorted()
        }
        // If pages were left out, it is not known which patterns have been rendered sufficiently.
        if failure == nil, !scheduler.hasUnrenderedPages {
            renderedPatternTexts = scheduler.patterns.lazy.filter(\.wasEverRendered).prefix(
                Self.maxRenderedPatterns
            )
            .map(
                \.text
            )
            .sorted()
        }
        patterns = scheduler.patterns.filter { $0.renderedCount > 0 || !$0.reasons.strong.isEmpty }.map {
            pattern in
            Pattern(
                pattern: pattern.text, pages: pattern.pageCount, rendered: pattern.renderedCount,
                foundAssets: pattern.foundAssetCount, foundPages: pattern.foundPageCount,
                unfinished: pattern.unfinishedCount,
                reasons: pattern.reasons.words, isStrong: !pattern.reasons.strong.isEmpty)
        }
    }
}

extension RenderReasons {
    /// The reasons in words, for reports.
    var words: [String] {
        let all: [(RenderReasons, String)] = [
            (.littleText, "hardly any text"), (.uninterpretedLoader, "a module loader"),
            (.composedURL, "URLs put together by a script"),
            (.indirectFetch, "a fetch whose URL is set elsewhere"),
            (.sendsRequests, "scripts that send requests"),
        ]
        return all.filter { contains($0.0) }.map(\.1)
    }
}

extension RenderReport: JSONObject {
    package var members: JSONMembers {
        [
            "mode": mode.rawValue, "browser": IfAny(browser), "failure": IfAny(failure), "rendered": rendered,
            "recorded": recorded, "patterns": patterns, "unfinished": unfinished,
            "notices": notices.sorted { $0.key < $1.key }.map {
                ["notice": $0.key, "count": $0.value] as JSONMembers
            },
        ]
    }
}

extension RenderReport.Pattern: JSONObject {
    package var members: JSONMembers {
        [
            "pattern": pattern, "pages": pages, "rendered": rendered, "foundAssets": foundAssets,
            "foundPages": foundPages, "unfinished": unfinished, "reasons": reasons,
        ]
    }
}

extension RenderReport.Unfinished: JSONObject {
    package var members: JSONMembers { ["url": url, "ending": ending.rawValue, "detail": IfAny(detail)] }
}
