internal import Web

/// The requests of a page and which of them are pending, collected from the network events of its sessions.
struct RequestRecord: Sendable {
    /// The requests in the order in which they were sent.
    private(set) var requests: [ObservedRequest] = []
    /// The index in `requests` of the latest request with each identifier. A frame's request may end in
    /// another session than it began in, and two sessions report a worker's script.
    private var places: [String: Int] = [:]
    /// The identifiers of the requests that keep the page from being quiet, with the session that reported
    /// each.
    private var pending: [String: String] = [:]
    /// The hashes of the different requests, by method, URL and body.
    private var knownRequests: Set<Int> = []
    /// The number of requests without repetitions. A request with a body that is not known counts as a new one.
    private(set) var differentCount = 0

    /// Whether controls of the page have been used.
    var areAfterActions = false
    /// Whether the text of the page has been read.
    var areAfterText = false
    /// Whether a banner that asks for consent was just answered.
    var areOfConsent = false

    /// How often scripts have sent each request, without the parameters that only bypass caches.
    private var scriptRequestCounts: [Int: Int] = [:]
    /// The IDs of requests that only ask again for the same. They do not keep the page from being quiet.
    private var polls: Set<String> = []
    /// How often a script may send the same request before further ones count as polls.
    private static let maxEqualRequests = 5

    var isQuiet: Bool { pending.isEmpty }

    /// Updates the record, and returns whether the event resets the time for which the page has been quiet.
    mutating func take(_ event: Event) -> Bool {
        guard let key = event["requestId"]?.string else { return false }
        switch event.method {
        case "Network.requestWillBeSent":
            return begin(key, event)
        case "Network.responseReceived":
            guard let place = places[key] else { return false }
            requests[place].status = event["response"]?["status"]?.int
            requests[place].mirrorSource = event["response"]?["headers"]?["Larder"]?.string
            // An event stream stays open as long as the page does.
            if event["type"]?.string == "EventSource" { pending[key] = nil }
            return !polls.contains(key)
        case "Network.dataReceived":
            return pending[key] != nil
        case "Network.loadingFinished":
            return pending.removeValue(forKey: key) != nil
        case "Network.loadingFailed":
            // A module that is answered by 404 ends as aborted; the status says more.
            if let place = places[key], requests[place].status.map({ $0 < 400 }) ?? true {
                requests[place].failure = event["errorText"]?.string ?? "failed"
                requests[place].isRefusedByCORS = event["corsErrorStatus"] != nil
            }
            return pending.removeValue(forKey: key) != nil
        case "Network.webSocketCreated":
            guard let url = event["url"]?.string, places[key] == nil else { return false }
            add(ObservedRequest(url: url, method: "GET", type: "WebSocket"), key)
            return true
        case "Network.webSocketHandshakeResponseReceived":
            guard let place = places[key] else { return false }
            requests[place].status = event["response"]?["status"]?.int
            return true
        case "Network.webSocketFrameError":
            guard let place = places[key], requests[place].status == nil else { return false }
            requests[place].failure = event["errorMessage"]?.string ?? "failed"
            return true
        default:
            return false
        }
    }

    /// Adds the script of a service worker, which no event reports.
    mutating func add(workerScript url: String) {
        guard !requests.contains(where: { $0.url == url }), url.hasPrefix("http") else { return }
        add(ObservedRequest(url: url, method: "GET", type: "Script", status: 200), "worker \(url)")
    }

    /// Stops waiting for the requests of a session that no longer reports events.
    mutating func forget(session: String) {
        pending = pending.filter { $0.value != session }
    }

    private mutating func begin(_ key: String, _ event: Event) -> Bool {
        guard let request = event["request"], let url = request["url"]?.string else { return false }
        let redirect = event["redirectResponse"]?["status"]?.int
        if let place = places[key] {
            guard let redirect else { return false }
            requests[place].status = redirect
        }
        // Requests for data: and blob: URLs do not use the network.
        guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
            pending[key] = nil
            return false
        }
        let type = event["type"]?.string ?? "Other"
        let body = request["postData"]?.string
        var observed = ObservedRequest(url: url, method: request["method"]?.string ?? "", type: type)
        observed.isFromScript = event["initiator"]?["type"]?.string == "script"
        add(observed, key, body: body, isBodyKnown: body != nil || request["hasPostData"]?.bool != true)
        // Audio and video load at the speed of playback, and pages do not use the responses to pings and
        // reports.
        guard !["Media", "Ping", "CSPViolationReport"].contains(type) else { return false }
        if ["XHR", "Fetch"].contains(type), isPoll(observed, body: body) {
            polls.insert(key)
            return false
        }
        pending[key] = event.session ?? ""
        return true
    }

    /// Counts a request of a script. Returns whether it was sent so often that the page seems to poll.
    private mutating func isPoll(_ request: ObservedRequest, body: String?) -> Bool {
        let url = WebURL(request.url).map { CacheBusters.known.removing(from: $0) ?? $0 }
        var hasher = Hasher()
        for part in [request.method, url?.href ?? request.url, body ?? ""] { hasher.combine(part) }
        let request = hasher.finalize()
        scriptRequestCounts[request, default: 0] += 1
        return scriptRequestCounts[request, default: 0] > Self.maxEqualRequests
    }

    private mutating func add(
        _ request: ObservedRequest, _ key: String, body: String? = nil, isBodyKnown: Bool = true
    ) {
        guard requests.count < Self.maxRequests else { return }
        places[key] = requests.count
        var hasher = Hasher()
        for part in [request.method, request.url, body ?? ""] { hasher.combine(part) }
        if !isBodyKnown || knownRequests.insert(hasher.finalize()).inserted { differentCount += 1 }
        requests.append(request)
        requests[requests.count - 1].isAfterAction = areAfterActions
        requests[requests.count - 1].isAfterText = areAfterText
        requests[requests.count - 1].isOfConsent = areOfConsent
    }

    /// The maximum number of recorded requests. Further ones are not recorded.
    private static let maxRequests = 20_000
}
