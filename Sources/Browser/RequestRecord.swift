internal import Web

/// What a page asked for, and what of it is under way, out of the events of its sessions.
struct RequestRecord: Sendable {
    /// In the order in which they were made.
    private(set) var requests: [SeenRequest] = []
    /// Where the latest request of an identifier stands. A frame's request may end in another session than it
    /// began in, and a worker's script is told of by two.
    private var places: [String: Int] = [:]
    /// Those that a quiet page would not have, with the session that told of them.
    private var pending: [String: String] = [:]

    var isQuiet: Bool { pending.isEmpty }

    /// Whether the event is about a request that counts for the quiet.
    mutating func take(_ event: Event) -> Bool {
        guard let key = event["requestId"]?.string else { return false }
        switch event.method {
        case "Network.requestWillBeSent":
            return begin(key, event)
        case "Network.responseReceived":
            guard let place = places[key] else { return false }
            requests[place].status = event["response"]?["status"]?.int
            // It goes on as long as the page is open.
            if event["type"]?.string == "EventSource" { pending[key] = nil }
            return true
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
            add(SeenRequest(url: url, method: "GET", type: "WebSocket"), key)
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

    /// What a service worker was made of.
    mutating func add(workerScript url: String) {
        guard !requests.contains(where: { $0.url == url }), url.hasPrefix("http") else { return }
        add(SeenRequest(url: url, method: "GET", type: "Script", status: 200), "worker \(url)")
    }

    /// Nobody tells any more what becomes of a session's requests.
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
        // data: and blob: are no requests to anybody.
        guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
            pending[key] = nil
            return false
        }
        let type = event["type"]?.string ?? "Other"
        add(SeenRequest(url: url, method: request["method"]?.string ?? "", type: type), key)
        // Sound and film come as slowly as they are heard; nobody waits for what a ping or a policy's report
        // brings.
        guard !["Media", "Ping", "CSPViolationReport"].contains(type) else { return false }
        pending[key] = event.session ?? ""
        return true
    }

    private mutating func add(_ request: SeenRequest, _ key: String) {
        guard requests.count < Self.limit else { return }
        places[key] = requests.count
        requests.append(request)
    }

    /// The tab is ended long before, but what comes until then must have an end too.
    private static let limit = 20_000
}
