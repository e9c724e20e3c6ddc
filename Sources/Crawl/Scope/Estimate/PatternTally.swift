internal import Web

/// The known pages of a sample by pattern, and how many further ones they may lead to.
struct PatternTally {
    struct Row {
        let pattern: String
        var known = 0
        var sizes: [Int] = []
        /// Whether each of its sampled pages led to a new one of its own.
        var continues: [Bool] = []

        var sampled: Int { sizes.count }

        /// A list whose pages name the next one alone: as fast as it was followed, it grew.
        var isEndless: Bool {
            sampled >= 6 && continues.suffix(6).allSatisfy { $0 } && known - sampled <= sampled
        }
    }

    private(set) var rows: [Row] = []

    /// More patterns are more than anybody reads.
    private static let mostRows = 24
    private static let deepest = 6

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
        for (index, name) in names.enumerated() {
            let row = number(name.text(folders: folders), &numbers)
            var continues = false
            for new in newNames[index] {
                let child = number(new.text(folders: folders), &numbers)
                rows[child].known += 1
                if child == row { continues = true }
            }
            rows[row].continues.append(continues)
        }
    }

    private mutating func number(_ pattern: String, _ numbers: inout [String: Int]) -> Int {
        if let known = numbers[pattern] { return known }
        rows.append(Row(pattern: pattern))
        numbers[pattern] = rows.count - 1
        return rows.count - 1
    }

    var hasEndlessRow: Bool { rows.contains(where: \.isEndless) }

    /// At least what is known. Of what nobody has heard of each pattern gets its share.
    ///
    /// - Parameter unheard: nil where that has no end.
    func bounds(_ unheard: Int?) -> [PlanEstimate.Bounds] {
        let known = rows.reduce(0) { $0 + $1.known }
        guard let unheard, known > 0 else {
            return rows.map { PlanEstimate.Bounds(low: $0.known, high: unheard == nil ? nil : $0.known) }
        }
        var rest = unheard
        var bounds = rows.map { row in
            let share = Int(Double(unheard) * Double(row.known) / Double(known))
            rest -= share
            return PlanEstimate.Bounds(low: row.known, high: row.known + share)
        }
        // What rounding left over.
        let largest = rows.indices.max { rows[$0].known < rows[$1].known }
        if let largest { bounds[largest].high = bounds[largest].high.map { $0 + rest } }
        return bounds
    }
}
