internal import Web

/// Decides which requests have the `Referer` that browsers send. Some servers refuse requests without it, so that other
/// sites cannot show their files.
///
/// A crawl sends it only to hosts that need it, because a request without it reveals less. A request that is refused is
/// repeated with it. If the server then answers, later requests to the host have it from the start.
struct ReferrerHosts {
    private enum Host {
        /// The number of repeated requests that were refused as well.
        case unknown(refusals: Int)
        case needsReferrer
    }

    private var hosts: [String: Host] = [:]
    /// The entries whose requests were repeated. Each is repeated once.
    private var repeated: Set<UInt32> = []

    /// The maximum number of repeated requests to a host that refuses them all.
    static let maxRefusals = 3

    /// Whether requests to the host of this URL have a `Referer` from the start.
    func needReferrer(_ url: WebURL) -> Bool {
        if case .needsReferrer? = hosts[url.host] { true } else { false }
    }

    /// Handles a response to the request of an entry. Returns whether to request it once more, with a `Referer`.
    ///
    /// - Parameter hadReferrer: Whether the request had one.
    mutating func didRespond(_ entry: UInt32, _ url: WebURL, status: Int, hadReferrer: Bool) -> Bool {
        guard case .unknown(let refusals) = hosts[url.host] ?? .unknown(refusals: 0) else { return false }
        guard hadReferrer else {
            return status == 403 && refusals < Self.maxRefusals && repeated.insert(entry).inserted
        }
        hosts[url.host] = status < 400 ? .needsReferrer : .unknown(refusals: refusals + 1)
        return false
    }
}
