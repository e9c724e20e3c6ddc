internal import Fetch

extension FetchFailure {
    /// What to try next.
    var advice: String {
        switch kind {
        case .unknownHost: "check the name of the host, and the network"
        case .unreachable: "check that the server runs, and the network"
        case .timeout: "try again later, or allow more with --timeout"
        case .insecure: "trust its authority with --ca FILE, or look at nothing with --insecure"
        case .broken: "run the same command again"
        case .nonsense: "check the port and the scheme of the address"
        case .tooLarge: "allow more with --max-body SIZE"
        case .endless: "leave it out with --exclude"
        case .noRoom: "make room on the disk, or leave large files out with --max-body SIZE"
        case .refused: "name another address, or allow it with an option"
        case .mismatch: "run the same command again: it is fetched anew"
        case .interrupted: "the same command does it again"
        case .machine: "mend that, then run the same command again"
        }
    }
}
