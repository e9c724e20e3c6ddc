internal import Glibc
package import Web

/// An estimate of a prefetch, in ranges.
public struct PlanEstimate: Sendable, Equatable {
    /// A range; `high` is nil if there is no upper bound.
    public struct Bounds: Sendable, Equatable {
        /// The lower bound.
        public package(set) var low: Int
        /// The upper bound; nil if there is none.
        public package(set) var high: Int?

        /// The upper bound divided by the lower one; nil without an upper bound.
        var ratio: Double? { high.map { Double(max(1, $0)) / Double(max(1, low)) } }
    }

    /// Pages whose URLs are alike.
    public struct Group: Sendable, Equatable {
        /// The pattern of the URLs, such as `example.com/blog/**/*` or `example.com/files/*.pdf`.
        public let pattern: String
        /// The number of its pages in the sample.
        public let sampled: Int
        /// The estimated number of pages.
        public let pages: Bounds
        /// The estimated size of the pages, without assets.
        public let byteCount: Bounds
    }

    /// How far the estimate can be trusted.
    public enum Confidence: String, Sendable {
        case low, medium, high
    }

    /// The groups of pages, the largest first.
    public let groups: [Group]
    /// The estimated number of all pages.
    public let pages: Bounds
    /// The estimated size of pages and assets.
    public let byteCount: Bounds
    /// The estimated duration of a prefetch, in seconds.
    public let seconds: Bounds
    /// High if the bounds differ by less than a factor of two, low from a factor of three on.
    public let confidence: Confidence
    /// Sentences about the data of the estimate, and about the causes of a wide range.
    public let reasons: [String]
    /// Whether the start URL shows a login page, so that the site behind it is not part of the estimate.
    public let hasLoginPage: Bool
    /// The number of requests of a larger sample, which would narrow the ranges; nil if none would.
    public let largerSample: Int?
    /// The URL patterns that the frontier took for traps.
    package let traps: [TrapReason]
}

extension PlanEstimate.Group: JSONObject {
    package var members: JSONMembers {
        ["pattern": pattern, "sampled": sampled, "pages": pages, "bytes": byteCount]
    }
}

extension PlanEstimate.Bounds: JSONObject {
    package var members: JSONMembers { ["low": low, "high": high] }
}

extension PlanSample {
    /// The way in which the whole site would be fetched.
    struct RequestRate: Sendable {
        /// The number of concurrent requests to a host.
        var connections: Int
        /// The delay between requests that robots.txt asks for; zero for none.
        var distance = Duration.zero
    }

    /// Estimates the whole site from the results so far. `traps` are passed on to the estimate.
    func estimate(_ rate: RequestRate, traps: [TrapReason] = []) -> PlanEstimate {
        var sample = self
        sample.groupAgain(ifGrownBy: 1)
        if sample.stage == .exploring { sample.endExploring() }
        return SiteModel(sample).estimate(rate, traps)
    }
}

/// The computation of an estimate from a sample.
///
/// The number of undiscovered pages is that of a branching process: the pages that were known when sampling
/// began link to new pages, and these to further ones. A page that several others link to must count only
/// once. The share of such pages is estimated from the new pages to which several sampled pages link, as in
/// capture and recapture. Where many pages link to each, the number of new links per page falls while the
/// site is being explored.
///
/// For example, 200 pages were known when sampling began, and 20 of them were sampled. They have 60 links to pages that were
/// not known, so that all 200 pages have about 600 such links. If the 60 links were to 60 different pages, there are about
/// 600 undiscovered pages of the first generation. If they were to 30 pages, two links each, many of the 600 links must
/// have the same targets, and there are far fewer. Sampled pages that were discovered late show how many pages the next
/// generation has.
///
/// The computation goes through these steps: `undiscovered` (pages per group), `totals` (pages and bytes), `estimate`
/// (ranges around them).
///
/// The constants were chosen with twelve sites, and tested with others.
private struct SiteModel {
    /// The statistics of the pages of a group, whose URLs are alike (`PageGroups`).
    struct GroupSample {
        /// The number of pages that were found to exist, and of all pages that were requested.
        var found = 0, requested = 0
        /// The number of known pages that were not requested.
        var waiting = 0
        /// Pages known at the start of sampling that were not explored: the population of the random sample.
        var population = 0
        /// Outcomes of the random sample to these pages, and to pages discovered later.
        var early: [Outcome] = [], late: [Outcome] = []
        /// The sizes in the random sample.
        var sizes: [Double] = []
        /// The number of assets that each page of the random sample needed and no page before it.
        var newAssets: [Double] = []
        /// For each page unknown at the start: how many of the early outcomes link to it.
        var links: [Int: Int] = [:]
        /// How many new pages of each group its outcomes link to.
        var targets: [Int: Int] = [:]
        /// The same for the new links of late outcomes and, if there were none, of early ones.
        var lateTargets: [Int: Int] = [:]
        /// Whether its pages seem to have no end.
        var isEndless = false
    }

    typealias Outcome = PlanSample.Outcome

    let sample: PlanSample
    var groups: [GroupSample]

    init(_ sample: PlanSample) {
        self.sample = sample
        groups = [GroupSample](repeating: GroupSample(), count: sample.groups.patterns.count)
        for (index, page) in sample.known.enumerated() {
            if index < sample.knownAtStart { groups[page.group].population += 1 }
            groups[page.group].waiting += 1
        }
        for outcome in sample.outcomes { add(outcome) }
        for group in groups.indices { groups[group].isEndless = isEndless(group) }
    }

    private mutating func add(_ outcome: Outcome) {
        let group = sample.known[outcome.page].group
        let isEarly = outcome.page < sample.knownAtStart
        groups[group].requested += 1
        groups[group].waiting -= 1
        if outcome.isPage { groups[group].found += 1 }
        guard outcome.stage != .exploring else {
            if isEarly { groups[group].population -= 1 }
            return
        }
        if let size = outcome.byteCount { groups[group].sizes.append(Double(size)) }
        guard sample.groups.mayLink[group] else { return }
        groups[group].newAssets.append(Double(outcome.newAssets))
        if isEarly {
            groups[group].early.append(outcome)
            for page in outcome.links where page >= sample.knownAtStart {
                groups[group].links[page, default: 0] += 1
                if groups[group].links[page] == 1 {
                    groups[group].targets[sample.known[page].group, default: 0] += 1
                }
            }
        } else {
            groups[group].late.append(outcome)
        }
        for page in outcome.new { groups[group].lateTargets[sample.known[page].group, default: 0] += 1 }
    }

    /// Whether a group seems to have no end: each of its latest pages leads to a new one of the group, so that
    /// the number of known pages grows as fast as they are fetched.
    private func isEndless(_ group: Int) -> Bool {
        let outcomes = sample.outcomes.filter { sample.known[$0.page].group == group }
        guard outcomes.count >= Self.minEndlessOutcomes, groups[group].waiting <= outcomes.count else {
            return false
        }
        return outcomes.suffix(Self.minEndlessOutcomes).allSatisfy { outcome in
            outcome.new.contains { sample.known[$0].group == group }
        }
    }

    /// The minimum number of a group's latest pages that must lead to a new one each.
    private static let minEndlessOutcomes = 6

    // MARK: - Undiscovered pages

    /// The assumed number of further links to a page, with the weight of this assumption in pairs of links.
    private static let (assumedOverlap, overlapWeight) = (2.0, 2.0)
    /// Pages with few links are more numerous than the average over links suggests.
    private static let overlapExponent = 0.7
    /// The maximum number of generations of undiscovered pages, and of pages in all of them. The computation ends there.
    private static let maxGenerations = 30
    private static let maxPages = 1e8

    /// The number of undiscovered pages of each group.
    ///
    /// - Parameters:
    ///   - errors: by how many standard errors the numbers of new links are changed: 0 for the likely value, 1 and -1 for
    ///     the ends of its range.
    ///   - overlapFactor: by how much the number of pages with several links is changed.
    private func undiscoveredCounts(errors: Double = 0, overlapFactor: Double = 1) -> [Double] {
        let count = groups.count
        // The links of all pages of each group to pages that were not known at the start.
        var links = [Double](repeating: 0, count: count)
        // The pairs of sampled links to the same page, and how many there would be if one further link led to each page.
        var pairs = links
        var expectedPairs = links
        // The share of the group's pages that were sampled.
        var share = links
        for (index, group) in groups.enumerated() where !group.early.isEmpty && group.population > 0 {
            let newLinks = group.early.map { Double($0.links.count { $0 >= sample.knownAtStart }) }
            let (mean, deviation) = PlanSample.spread(newLinks)
            let error = (deviation + 0.2) / Double(newLinks.count).squareRoot()
            share[index] = Double(newLinks.count) / Double(group.population)
            links[index] = max(0, mean + errors * error) * Double(group.population)
            pairs[index] =
                overlapFactor * group.links.values.reduce(0.0) { $0 + Double($1 * ($1 - 1) / 2) }
            expectedPairs[index] = links[index] * share[index] * share[index] / 2
        }
        let overlap =
            (pairs.reduce(0, +) + Self.overlapWeight * Self.assumedOverlap * overlapFactor)
            / (expectedPairs.reduce(0, +) + Self.overlapWeight)
        // The first generation: the distinct targets of these links. Links of other groups to the same pages count too.
        var first = [Double](repeating: 0, count: count)
        for (index, group) in groups.enumerated() where links[index] > 0 && !group.links.isEmpty {
            var furtherLinks = (pairs[index] + overlap) / (expectedPairs[index] + 1)
            for other in groups.indices where other != index && links[other] > 0 {
                // Iterates over the smaller dictionary only.
                let (few, many) =
                    group.links.count < groups[other].links.count
                    ? (group.links, groups[other].links) : (groups[other].links, group.links)
                let common = overlapFactor * few.reduce(0.0) { $0 + Double($1.value * (many[$1.key] ?? 0)) }
                guard common > 0 else { continue }
                furtherLinks += common * common / (common + 1) / (share[index] * share[other]) / links[index]
            }
            let distinct = max(
                links[index] / pow(1 + furtherLinks, Self.overlapExponent), Double(group.links.count))
            distribute(distinct, group.targets, &first)
        }
        let new = newLinksOfLatePages(errors)
        let population = Double(max(1, groups.reduce(0) { $0 + $1.population }))
        // The more pages there are, the more of them link to the same pages.
        func damping(_ undiscovered: Double) -> Double {
            pow(1 + overlap * (Double(sample.knownAtStart) + undiscovered) / population, Self.overlapExponent)
        }
        // The damping depends on the number of undiscovered pages, and this number on the damping. The result falls with
        // the assumed number, so bisection finds the number that reproduces itself.
        var (low, high) = (0.0, Self.maxPages)
        for _ in 0..<48 {
            let middle = (low + high) / 2
            if grow(first, new, damping(middle)).reduce(0, +) > middle { low = middle } else { high = middle }
        }
        let all = grow(first, new, damping(high))
        let sum = all.reduce(0, +)
        // Some of these pages were discovered while the sample was taken.
        let rest = max(0, sum - Double(sample.known.count - sample.knownAtStart))
        return all.map { sum > 0 ? rest * $0 / sum : 0 }
    }

    /// The number of new links of a page that was discovered after the start of sampling.
    private func newLinksOfLatePages(_ errors: Double) -> [Double] {
        let all = groups.flatMap { $0.late.map { Double($0.new.count) } }
        let mean = all.isEmpty ? 0.3 : all.reduce(0, +) / Double(all.count)
        return groups.indices.map { index in
            guard sample.groups.mayLink[index] else { return 0 }
            let late = groups[index].late
            let new = late.reduce(0.0) { $0 + Double($1.new.count) }
            let expected = (new + 0.5 * mean) / (Double(late.count) + 0.5)
            guard errors != 0 else { return expected }
            return max(0, expected + errors * ((expected + 0.1) / Double(late.count + 1)).squareRoot())
        }
    }

    /// All generations of undiscovered pages, from the first one.
    private func grow(_ first: [Double], _ new: [Double], _ damping: Double) -> [Double] {
        var sum = first
        var generation = first
        for _ in 0..<Self.maxGenerations {
            var next = [Double](repeating: 0, count: first.count)
            for (index, pages) in generation.enumerated() where pages > 0 {
                distribute(pages * new[index] / damping, groups[index].lateTargets, &next)
            }
            generation = next
            for index in sum.indices { sum[index] += next[index] }
            if next.reduce(0, +) < 0.5 || sum.reduce(0, +) > Self.maxPages { break }
        }
        return sum
    }

    /// Adds pages to the sums of groups, in proportion to the groups of known targets.
    private func distribute(_ pages: Double, _ targets: [Int: Int], _ sums: inout [Double]) {
        let all = Double(targets.values.reduce(0, +))
        guard all > 0 else { return }
        for (group, count) in targets { sums[group] += pages * Double(count) / all }
    }

    // MARK: - Pages and bytes

    /// Pages and their size, of each group.
    private struct Totals {
        /// The number of pages of each group.
        var pages: [Double] = []
        /// Their size in bytes, with assets.
        var bytes: [Double] = []
        /// The standard error of the size relative to the size.
        var error = 0.0

        var pageCount: Double { pages.reduce(0, +) }
    }

    /// The pages and bytes of the site, with this number of undiscovered pages for each group.
    private func totals(_ undiscovered: [Double]) -> Totals {
        let found = Double(groups.reduce(0) { $0 + $1.found })
        let requested = Double(groups.reduce(0) { $0 + $1.requested })
        let existingShare = (found + 0.5) / (requested + 0.5)
        let sizes = groups.flatMap(\.sizes)
        let fallback = sizes.isEmpty ? sample.outcomes.compactMap(\.byteCount).map(Double.init) : sizes
        let meanOfAll = PlanSample.spread(fallback).mean
        let meanOfAssets = assetBytes / Double(max(1, sample.assets.count))
        var totals = Totals()
        totals.bytes = [Double](repeating: 0, count: groups.count)
        for outcome in sample.outcomes {
            totals.bytes[sample.known[outcome.page].group] += Double(outcome.byteCount ?? 0)
        }
        var variance = 0.0
        for (index, group) in groups.enumerated() {
            // Groups with few requests are drawn towards the share of all groups.
            let rate = (Double(group.found) + existingShare * 0.5) / (Double(group.requested) + 0.5)
            let further = (Double(group.waiting) + undiscovered[index]) * rate
            totals.pages.append(Double(group.found) + further)
            let count = Double(group.sizes.count)
            let mean = (group.sizes.reduce(0, +) + meanOfAll * 0.3) / (count + 0.3)
            totals.bytes[index] += further * (mean + furtherAssets(group) * meanOfAssets)
            let minDeviation = min(0.3, 1 / max(1, count)) * mean
            let deviation = count > 2 ? max(PlanSample.spread(group.sizes).deviation, minDeviation) : mean
            let error = further * deviation / max(1, count).squareRoot()
            variance += error * error
        }
        totals.error = variance.squareRoot() / max(1, totals.bytes.reduce(0, +))
        return totals
    }

    /// The number of new assets of each further page. If it falls while pages are fetched, it will fall further.
    private func furtherAssets(_ group: GroupSample) -> Double {
        let (early, late) = (
            PlanSample.spread(Array(group.newAssets.prefix(group.newAssets.count / 2))).mean,
            PlanSample.spread(Array(group.newAssets.suffix((group.newAssets.count + 1) / 2))).mean
        )
        return late >= early * 0.8 ? late : late / 2
    }

    /// The size of the known assets, from the weighed ones of the same kind.
    private var assetBytes: Double {
        var sizes: [String: [Double]] = [:]
        for asset in sample.assets where asset.isTaken {
            sizes[asset.kind, default: []].append(Double(asset.byteCount ?? 0))
        }
        let mean = PlanSample.spread(sizes.values.flatMap { $0 }).mean
        return sample.assets.reduce(0) { sum, asset in
            if asset.isTaken { return sum + Double(asset.byteCount ?? 0) }
            return sum + (sizes[asset.kind].map { PlanSample.spread($0).mean } ?? mean)
        }
    }

    // MARK: - Ranges

    /// The maximum number of undiscovered pages per known page. A larger number is replaced by the geometric mean of itself
    /// and this limit, since a small sample easily suggests too many.
    private static let maxCrediblePerKnown = 3.0

    /// The maximum number of outcomes that leave a doubt whether all pages are known. After more without new links, the
    /// number of pages is exact.
    private static let maxUncertainOutcomes = 6

    /// Computes the estimate. The likely number of pages is surrounded by a range that grows with the share of undiscovered
    /// pages, with the spread of the sizes, and with the doubt which share of the links lead to pages.
    func estimate(_ rate: PlanSample.RequestRate, _ traps: [TrapReason]) -> PlanEstimate {
        let zero = [Double](repeating: 0, count: groups.count)
        let isExact =
            sample.isKnownByFirst
            && (sample.outcomes.count > Self.maxUncertainOutcomes || groups.allSatisfy { $0.waiting <= 0 })
        var undiscoveredPages = isExact ? zero : undiscoveredCounts()
        let known = totals(zero)
        let unlimited = totals(undiscoveredPages).pageCount
        let limit = Self.maxCrediblePerKnown * known.pageCount
        if unlimited - known.pageCount > limit {
            let factor = (limit / (unlimited - known.pageCount)).squareRoot()
            undiscoveredPages = undiscoveredPages.map { $0 * factor }
        }
        let likely = totals(undiscoveredPages)
        let unknownShare = likely.pageCount > 0 ? 1 - known.pageCount / likely.pageCount : 0
        let newLinks = sample.outcomes.filter { $0.stage == .sampling && sample.known[$0.page].mayLink }
            .map { Double($0.new.count) }
        let meanNewLinks = PlanSample.spread(newLinks).mean
        // Logarithms of the factors between the likely value and the bounds.
        var (below, above) = (0.0, 0.0)
        if !isExact {
            let maxPages = totals(undiscoveredCounts(errors: 1, overlapFactor: 0.5)).pageCount
            let minPages = totals(undiscoveredCounts(errors: -1, overlapFactor: 2)).pageCount
            below = min(0.02 + 1.3 * unknownShare, log(max(1, unlimited / max(1, minPages))) + 0.2, 0.8)
            above = 0.7 * unknownShare + (meanNewLinks == 0 ? 0.04 : meanNewLinks < 0.1 ? 0.32 : 0.4)
            if meanNewLinks > 0 { above = min(above, log(max(1, maxPages / max(1, unlimited))) + 0.35, 0.72) }
        }
        // The share of links that lead to a page is known from the sample only.
        let (found, requested) = groups.reduce((0.0, 0.0)) {
            ($0.0 + Double($1.found), $0.1 + Double($1.requested))
        }
        let share = found / max(1, requested)
        let doubtOfShare =
            share > 0 && share < 1
            ? 3 * (share * (1 - share) / requested).squareRoot() / share
                * (1 - requested / max(requested, Double(sample.known.count)))
            : 0
        (below, above) = (hypot(below, doubtOfShare), hypot(above, doubtOfShare))
        let requestedShare = Double(sample.outcomes.count) / max(1, likely.pageCount)
        let doubt = 2 * likely.error + 0.12 * (1 - min(1, requestedShare))
        let isEndless = groups.contains(where: \.isEndless)
        func bounds(_ value: Double, _ below: Double, _ above: Double, atLeast: Double) -> PlanEstimate.Bounds
        {
            let low = max(atLeast, value * exp(-below)).rounded()
            return PlanEstimate.Bounds(
                low: Int(low), high: isEndless ? nil : Int(max(low, (value * exp(above)).rounded())))
        }
        let certain = known.pageCount * (isExact ? 1 : 0.98) * exp(-doubtOfShare)
        let pages = bounds(likely.pageCount, below, above, atLeast: certain)
        let (bytesBelow, bytesAbove) = (hypot(below, doubt), hypot(above, doubt))
        let received = Double(sample.outcomes.reduce(0) { $0 + ($1.byteCount ?? 0) })
        let allBytes = likely.bytes.reduce(0, +) + assetBytes
        let bytes = bounds(allBytes, bytesBelow, bytesAbove, atLeast: received)
        var rows: [PlanEstimate.Group] = []
        let host =
            Set(sample.known.map { $0.name.folders.first }).count == 1
            ? sample.known[0].name.folders.first : nil
        for (index, group) in groups.enumerated() where group.requested + group.waiting > 0 {
            let minPages = known.pages[index] * (isExact ? 1 : 0.98) * exp(-doubtOfShare)
            rows.append(
                PlanEstimate.Group(
                    pattern: Self.pattern(sample.groups.patterns[index], on: host), sampled: group.requested,
                    pages: bounds(likely.pages[index], below, above, atLeast: minPages),
                    byteCount: bounds(likely.bytes[index], bytesBelow, bytesAbove, atLeast: 0)))
        }
        rows.sort { ($0.pages.low, $1.pattern) > ($1.pages.low, $0.pattern) }
        let hasPages = groups.contains { $0.found > 0 }
        let isHidden = sample.loginPage != nil || shellCount * 2 > Int(found)
        let confidence = isHidden ? .low : self.confidence(pages, bytes)
        return PlanEstimate(
            groups: hasPages ? rows : [], pages: pages, byteCount: bytes,
            seconds: seconds(pages, bytes, rate), confidence: confidence,
            reasons: hasPages ? reasons(likely, known, meanNewLinks, isEndless) : [],
            hasLoginPage: sample.loginPage != nil,
            largerSample: confidence == .high || isEndless || !hasPages ? nil : largerSample, traps: traps)
    }

    /// The pattern of a group that was not divided by host begins with `**/`. The host, if it is the only one, says more.
    private static func pattern(_ pattern: String, on host: String?) -> String {
        host.map { pattern.hasPrefix("**/") ? "\($0)/\(pattern)" : pattern } ?? pattern
    }

    /// The number of sampled pages that have hardly any text before their scripts run.
    private var shellCount: Int { sample.outcomes.count(where: \.isShell) }

    /// The confidence in the widest of these ranges.
    private func confidence(_ all: PlanEstimate.Bounds...) -> PlanEstimate.Confidence {
        let ratio = all.map { $0.ratio ?? .infinity }.max() ?? 1
        return ratio < 2 ? .high : ratio < 3 ? .medium : .low
    }

    /// How many times as large the suggested sample is, and the maximum number of its requests.
    private static let (sampleGrowth, maxSampleRequests) = (5, 10_000)

    /// The number of requests of a larger sample; nil if this one ended before its limit.
    private var largerSample: Int? {
        let hasMore = groups.contains { $0.waiting > 0 } || sample.assets.contains { !$0.isTaken }
        let requests = sample.outcomes.count + sample.assets.count(where: \.isTaken)
        guard hasMore, requests > sample.maxRequests / 2, sample.maxRequests < Self.maxSampleRequests else {
            return nil
        }
        return min(sample.maxRequests * Self.sampleGrowth, Self.maxSampleRequests)
    }

    /// `1,234`
    private static func groupDigits(_ number: Int) -> String {
        let rest = String(number % 1000)
        guard number >= 1000 else { return rest }
        return groupDigits(number / 1000) + "," + String(repeating: "0", count: 3 - rest.utf8.count) + rest
    }

    /// Sentences about the data of the estimate.
    private func reasons(
        _ likely: Totals, _ known: Totals, _ meanNewLinks: Double, _ isEndless: Bool
    ) -> [String] {
        func count(_ number: Int, _ noun: String) -> String {
            "\(Self.groupDigits(number)) \(noun)\(number == 1 ? "" : "s")"
        }
        var reasons = sample.loginPage.map { [$0.description] } ?? []
        if sample.listedCount > 0 {
            reasons.append("sitemaps and the site's search index list \(count(sample.listedCount, "page"))")
        }
        let links = "\(count(sample.known.count, "page")) seen in links"
        let rest = Int(max(0, likely.pageCount - known.pageCount))
        if isEndless {
            reasons.append("\(links), and pages of one kind link to ever more of the same kind")
        } else if rest * 50 < sample.known.count {
            reasons.append("\(links); sampled pages link to hardly any others")
        } else {
            let news = (meanNewLinks * 10).rounded() / 10
            reasons.append(
                "\(links); a sampled page links to \(news) others that were not seen before, so there are probably about \(Self.groupDigits(rest)) more"
            )
        }
        let missing = groups.reduce(0) { $0 + $1.requested - $1.found }
        if missing > 0 {
            reasons.append("no page was found for \(count(missing, "link")) of \(sample.outcomes.count)")
        }
        if likely.error > 0.15 { reasons.append("the sizes of pages differ much") }
        if shellCount > 0 {
            reasons.append(
                "scripts make the content of \(count(shellCount, "sampled page")); a plan runs no scripts, so there may be more pages"
            )
        }
        return reasons
    }

    /// The work for each response and for each byte: reading links, storing and indexing. The first is the least that was
    /// measured, the second one the most, on busy machines.
    private static let workPerResponse = (min: 0.0005, max: 0.004)
    private static let workPerByte = (min: 0.01e-6, max: 0.08e-6)

    /// The duration of a prefetch without the rendering of pages. The lower bound assumes that all connections are busy, the
    /// upper one that a quarter of them are.
    private func seconds(
        _ pages: PlanEstimate.Bounds, _ bytes: PlanEstimate.Bounds, _ rate: PlanSample.RequestRate
    ) -> PlanEstimate.Bounds {
        let latencies = sample.outcomes.compactMap(\.latency)
        let latency = latencies.reduce(Duration.zero, +) / max(1, latencies.count)
        func requests(_ pages: Int) -> Double { Double(pages + sample.assets.count) }
        func network(_ pages: Int, _ connections: Int) -> (busy: Double, delayed: Double) {
            (
                latency / .seconds(1) * requests(pages) / Double(max(1, connections)),
                rate.distance / .seconds(1) * requests(pages)
            )
        }
        let least = network(pages.low, rate.connections)
        let lowWork =
            requests(pages.low) * Self.workPerResponse.min + Double(bytes.low) * Self.workPerByte.min
        let high = pages.high.map { pages in
            let slow = network(pages, rate.connections / 4)
            let highWork =
                requests(pages) * Self.workPerResponse.max
                + Double(bytes.high ?? bytes.low) * Self.workPerByte.max
            return Int(max(slow.busy + highWork, slow.delayed).rounded(.up))
        }
        return PlanEstimate.Bounds(
            low: Int(max(least.busy, least.delayed, lowWork).rounded(.up)), high: high)
    }
}
