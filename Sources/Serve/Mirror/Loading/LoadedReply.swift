/// What came of asking a server, for those who had it asked.
struct LoadedReply: Sendable {
    let answer: Answer
    /// Field lines for the one whose request the server answered: its cookies.
    var ownFields: [UInt8] = []
    /// Whether those who asked for the same meanwhile may have it too: what may not be kept is one client's.
    var isShared = true
}
