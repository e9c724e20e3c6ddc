/// A table for people: columns that are as wide as their widest cell, separated by two spaces.
struct TextTable {
    /// The alignment of a column.
    enum Alignment {
        case left, right
    }

    private let columns: [(title: String, alignment: Alignment)]
    private var rows: [[String]] = []

    init(_ columns: [(title: String, alignment: Alignment)]) { self.columns = columns }

    /// Adds a row. It must have a cell for each column.
    mutating func add(_ cells: [String]) { rows.append(cells) }

    /// The lines of the table, the titles first.
    var lines: [String] {
        let all = [columns.map(\.title)] + rows
        let widths = columns.indices.map { column in all.map { $0[column].unicodeScalars.count }.max() ?? 0 }
        return all.map { row in
            let cells = row.indices.map { column in
                let space = String(repeating: " ", count: widths[column] - row[column].unicodeScalars.count)
                return columns[column].alignment == .right ? space + row[column] : row[column] + space
            }
            let line = cells.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }
}
