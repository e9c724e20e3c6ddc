extension CheckReport {
    /// A line for each bundle; side by side where there are several places. Of a site only what is not fine.
    var plainText: String {
        let lines =
            switch subject {
            case .site: items.flatMap(siteLines)
            case .manifest: places.count > 1 ? table : items.map(line)
            }
        return (lines + notes.map { "note: \($0)" } + endings).map(\.visible).joined(separator: "\n")
    }

    private func line(of item: Item) -> String {
        let word = item.isRequired ? item.verdict.rawValue : "\(item.verdict.rawValue) (optional)"
        return "\(word) \(item.url)" + (item.finding.explanation.map { ": \($0)" } ?? "")
    }

    private func siteLines(of item: Item) -> [String] {
        guard item.verdict != .verified else { return [] }
        let way = item.chain.isEmpty ? [] : ["  by way of " + item.chain.joined(separator: " > ")]
        return [line(of: item)] + way
    }

    /// A row for each bundle and a column for each place; below a row what there is to say of it.
    private var table: [String] {
        let names = items.map { $0.isRequired ? $0.name : "\($0.name) (optional)" }
        var widths = [(["bundle"] + names).map(\.unicodeScalars.count).max() ?? 0]
        widths += places.map { max($0.unicodeScalars.count, "unverifiable".utf8.count) }
        func row(_ cells: [String]) -> String {
            let padded = zip(cells, widths).map { cell, width in
                cell + String(repeating: " ", count: max(0, width - cell.unicodeScalars.count))
            }
            return String(padded.joined(separator: "  ").trimmingEnd)
        }
        var lines = [row(["bundle"] + places)]
        for (name, item) in zip(names, items) {
            lines.append(row([name] + item.findings.map(\.verdict.rawValue)))
            for finding in item.findings {
                if let detail = finding.explanation { lines.append("  \(finding.url): \(detail)") }
            }
        }
        return lines
    }

    private var endings: [String] {
        if places.count > 1 {
            return zip(places, places.indices).map { place, column in
                let found = Verdict.allCases.compactMap { verdict in
                    let count = items.count { $0.findings[column].verdict == verdict }
                    return count > 0 ? "\(count) \(verdict.rawValue)" : nil
                }
                return "\(place): " + (found.isEmpty ? "no bundles" : found.joined(separator: ", "))
            }
        }
        if case .site = subject, isClean {
            return ["\(name): \(summary); everything that its pages need is held and undamaged"]
        }
        return ["\(name): " + (items.isEmpty ? "no bundles" : summary)]
    }
}

extension String {
    /// Without the spaces at its end.
    fileprivate var trimmingEnd: Substring {
        var rest = self[...]
        while rest.utf8.last == UInt8(ascii: " ") { rest = rest.dropLast() }
        return rest
    }
}
