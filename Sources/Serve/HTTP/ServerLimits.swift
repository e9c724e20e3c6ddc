/// Every bound on what a client may do, in one place.
enum ServerLimits {
    static let head = 64 * 1024
    static let target = 32 * 1024
    /// Bodies of requests are read and thrown away; a longer one ends the connection.
    static let requestBody = 1024 * 1024
    static let connectionsPerThread = 8_000
    /// A client that sends or takes nothing for so long is let go.
    static let idleSeconds: Int64 = 60
    /// How long, and for how many bytes, a client that was told the end is listened to.
    static let lingerSeconds: Int64 = 5
    static let lingerByteCount = 16 * 1024 * 1024
    /// How long a stop waits for answers that are under way.
    static let stopSeconds: Int64 = 3
    /// How much is read from one client before the others get their turn.
    static let readSize = 64 * 1024
}
