/// Every bound on what a client may do, in one place.
package struct ServerLimits: Sendable {
    package static let standard = ServerLimits()

    // MARK: What it sends

    package var headByteCount = 64 * 1024
    package var fieldCount = 200
    package var targetByteCount = 32 * 1024
    package var bodyByteCount = 1024 * 1024
    /// Of what stands around a chunked body: extensions of its chunks, and fields behind it.
    package var trailerByteCount = 16 * 1024

    // MARK: How many there are

    var connectionsPerThread = 8_000
    /// Who comes when there are as many is told so; beyond so many of them, nobody is told anything.
    var refusedConnections = 64
    /// Answers to requests that came at once are sent together, up to so many.
    var queuedAnswerCount = 32
    /// How much is read from one client before the others get their turn.
    var readSize = 64 * 1024
    /// How much of files is sent to one client before the others get their turn.
    var turnByteCount = 4 * 1024 * 1024

    // MARK: How long it may take, in milliseconds

    /// A head must be whole so long after its first byte.
    var headTime: Int64 = 20_000
    /// Neither a body may stand still for so long, nor the taking of an answer.
    var stallTime: Int64 = 60_000
    /// Bytes a second that a client must send or take on average, once `stallTime` has passed.
    var leastRate: Int64 = 500
    /// A client that asks for nothing is kept for so long.
    var idleTime: Int64 = 60_000
    /// And for so long when others wait for a place.
    var crowdedIdleTime: Int64 = 2_000
    /// How long, and for how many bytes, a client that was told the end is listened to.
    var lingerTime: Int64 = 5_000
    var lingerByteCount = 16 * 1024 * 1024
    /// How long a stop waits for answers that are under way.
    var stopTime: Int64 = 3_000

    /// How often the times are looked at: often enough for the shortest.
    var lookInterval: Int64 {
        let shortest = min(headTime, stallTime, idleTime, lingerTime, stopTime)
        return min(max(shortest / 4, 10), 1000)
    }
}
