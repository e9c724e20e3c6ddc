internal import Database

/// The name of a snapshot within its site: `3`, or `3+` for the overlay on snapshot 3. Numbers count from 1.
public struct SnapshotName: Sendable, Hashable {
    /// The number of the snapshot.
    public let number: Int64
    /// Whether it is an overlay: the responses that a server or proxy loaded on top of the snapshot.
    public let isOverlay: Bool

    /// Creates the name of a snapshot, or of the overlay on it.
    public init(_ number: Int64, isOverlay: Bool = false) {
        self.number = number
        self.isOverlay = isOverlay
    }
}

extension SnapshotName: LosslessStringConvertible, ExpressibleByIntegerLiteral {
    public init(integerLiteral number: Int64) { self.init(number) }

    /// Parses `3` or `3+`; nil for any other text.
    public init?(_ description: String) {
        let digits = description.hasSuffix("+") ? description.dropLast() : description[...]
        guard let number = Int64(digits), number > 0 else { return nil }
        self.init(number, isOverlay: digits.endIndex < description.endIndex)
    }

    /// The name as users write it.
    public var description: String { isOverlay ? "\(number)+" : "\(number)" }

    /// Splits `SITE@N`, such as `https://example.com/@3`. The snapshot is nil if the text does not end with one.
    public static func split(_ text: String) -> (site: String, snapshot: SnapshotName?) {
        guard let sign = text.lastIndex(of: "@"),
            let name = SnapshotName(String(text[text.index(after: sign)...]))
        else { return (text, nil) }
        return (String(text[..<sign]), name)
    }
}

extension SnapshotName {
    /// The columns of `snapshot` that `init(_:from:)` reads.
    static let columns = "snapshot.number, snapshot.base IS NOT NULL"

    init(_ row: Row, from column: Int32) {
        self.init(row.integer(column), isOverlay: row.integer(column + 1) != 0)
    }
}
