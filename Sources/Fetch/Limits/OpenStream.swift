internal import Web

/// A body whose length nobody told, as far as that shows that it has no end.
enum OpenStream: Sendable {
    /// Sound or film: a file of it has a length.
    case media
    case other

    /// From when on one counts as endless.
    struct Limits: Sendable {
        /// How long sound or film may come as slowly as it is heard, in bytes a second.
        var mediaTime: Duration
        var mediaRate = 64 * 1024
        /// The same for what else trickles.
        var otherTime: Duration
        var otherRate = 16 * 1024
        /// However fast it comes.
        var longest: Duration
    }

    /// Nil where the length is told. Throws for what is on the air by its nature.
    init?(_ fields: HTTPFields, length: Int?) throws(FetchFailure) {
        guard length == nil else { return nil }
        let type = fields.contentType?.essence ?? ""
        let isOnAir = fields.list.contains { $0.name.lowercased().hasPrefix("icy-") }
        if isOnAir || type == "text/event-stream" || type == "multipart/x-mixed-replace" {
            throw FetchFailure(.endless, "a live stream of \(type)")
        }
        self = type.hasPrefix("audio/") || type.hasPrefix("video/") ? .media : .other
    }

    /// Why there is no use in waiting any longer for what so much came of in such a time.
    func failure(_ byteCount: Int, in time: Duration, isThrottled: Bool, _ limits: Limits) -> FetchFailure? {
        let (least, rate) =
            switch self {
            case .media: (limits.mediaTime, limits.mediaRate)
            case .other: (limits.otherTime, limits.otherRate)
            }
        let trickles = time >= least && !isThrottled && Double(byteCount) < Double(rate) * (time / .seconds(1))
        guard trickles || time >= limits.longest else { return nil }
        return FetchFailure(.endless, "no length was told, and \(byteCount) bytes came in \(time.wholeSeconds)")
    }
}
