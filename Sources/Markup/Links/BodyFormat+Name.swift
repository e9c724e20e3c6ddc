extension BodyFormat {
    /// The word that a store keeps.
    package var name: String { "\(self)" }

    /// Nil for a word of which this larder knows nothing.
    package init?(name: String) {
        guard let format = Self.byName[name] else { return nil }
        self = format
    }

    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })
}
