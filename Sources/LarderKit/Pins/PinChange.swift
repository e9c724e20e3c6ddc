internal import Web

/// What came of pinning something, or of taking a pin away.
public struct PinChange: Sendable, Equatable {
    public let pin: HeldPin
    /// False when it was so before.
    public let isNew: Bool
    /// The word names a site, which was taken, and also a URL that is held.
    public let alsoNamesURL: Bool

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("pin") { pin.write(to: &$0) }
            object.member("new", isNew)
        }
        return writer.text
    }
}
