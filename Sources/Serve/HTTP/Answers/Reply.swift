internal import Web

/// An answer as one client gets it.
struct Reply: Sendable {
    let answer: Answer
    /// Field lines for this client alone, each with its CRLF. They stay out of the answer, which others share.
    var ownFields: [UInt8] = []
    /// In whose stead it is given, by which the client's conditions count.
    var role = Preconditions.Role.origin
}
