extension BodyFormat {
    /// The word that a store keeps.
    package var name: String { "\(self)" }
}
