/// How the command ends.
enum ExitStatus: Int32 {
    case done = 0
    /// Done, but something is missing, failed or differs.
    case incomplete = 1
    /// The command line or a manifest is wrong.
    case usage = 2
    /// The machine or the network would not.
    case unable = 3
    /// Stopped by a signal, with everything so far kept.
    case interrupted = 130
}
