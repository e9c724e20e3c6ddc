internal import Web

/// The known pages of a sample by pattern, and how many further ones they may lead to.
struct PatternTally {
    struct Row {
        let pattern: String
        var known = 0
        var sizes: [Int] = []
        /// New pages that the later half of its sampled pages led to, by row. The first pages of a site lead to
        /// everything that is in its navigation, and the later ones no more.
        var children: [Int: Int] = [:]

        var sampled: Int { sizes.count }
        var late: Int { sampled - sampled / 2 }
    }

    private(set) var rows: [Row] = []

    /// More patterns are more than anybody reads.
    private static let mostRows = 24
    private static let deepest = 6
    private static let mostGenerations = 64
    /// What grows beyond has no end that could be told.
    private static let mostPages = 10_000_000.0

    init(_ pages: [PlanSample.Page]) {
        let names = pages.map { PatternName(URLShape($0.url)) }
        let newNames = pages.map { page in page.newPages.map { PatternName(URLShape($0)) } }
        for folders in stride(from: Self.deepest, through: 0, by: -1) {
            tally(pages, names, newNames, folders: folders)
            if rows.count <= Self.mostRows { return }
        }
    }

    private mutating func tally(
        _ pages: [PlanSample.Page], _ names: [PatternName], _ newNames: [[PatternName]], folders: Int
    ) {
        rows = []
        var numbers: [String: Int] = [:]
        let linked = Set(pages.flatMap(\.newPages))
        for (name, page) in zip(names, pages) {
            let row = number(name.text(folders: folders), &numbers)
            rows[row].sizes.append(page.byteCount)
            if !linked.contains(page.url) { rows[row].known += 1 }
        }
        var seen = [Int](repeating: 0, count: rows.count)
        for (index, name) in names.enumerated() {
            let row = number(name.text(folders: folders), &numbers)
            seen[row] += 1
            let isLate = seen[row] > rows[row].sampled - rows[row].late
            for new in newNames[index] {
                let child = number(new.text(folders: folders), &numbers)
                rows[child].known += 1
                if isLate { rows[row].children[child, default: 0] += 1 }
            }
        }
    }

    private mutating func number(_ pattern: String, _ numbers: inout [String: Int]) -> Int {
        if let known = numbers[pattern] { return known }
        rows.append(Row(pattern: pattern))
        numbers[pattern] = rows.count - 1
        return rows.count - 1
    }

    /// At least what is known. At most what follows when every page that was not sampled leads to as many new pages as
    /// those of its pattern that were, generation after generation; no end where that has none.
    ///
    /// It is too much rather than too little: the more of a site is known, the fewer of its links are new.
    func bounds() -> [PlanEstimate.Bounds] {
        var totals = rows.map { Double($0.known) }
        var waiting = rows.map { Double($0.known - $0.sampled) }
        for _ in 0..<Self.mostGenerations {
            let next = children(of: waiting)
            for row in rows.indices { totals[row] += next[row] }
            waiting = next
            if totals.contains(where: { $0 > Self.mostPages }) { break }
        }
        return rows.indices.map { row in
            let hasEnd = waiting[row] < 0.5 && totals[row] <= Self.mostPages
            return PlanEstimate.Bounds(low: rows[row].known, high: hasEnd ? Int(totals[row].rounded(.up)) : nil)
        }
    }

    private func children(of waiting: [Double]) -> [Double] {
        var next = [Double](repeating: 0, count: rows.count)
        for (index, row) in rows.enumerated() where waiting[index] > 0 && row.sampled > 0 {
            for (child, count) in row.children {
                next[child] += waiting[index] * Double(count) / Double(row.late)
            }
        }
        return next
    }
}
