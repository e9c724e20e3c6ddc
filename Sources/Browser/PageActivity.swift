/// The times of a page's activity, as a value: it tells when the page has loaded and is quiet.
///
/// Activity is everything after which the page may send more requests, such as a response or a navigation. A message
/// is anything from the browser; it only shows that the page is not hung.
struct PageActivity: Sendable {
    /// The time of the last event that keeps the page from being quiet.
    private(set) var lastActivity: Duration
    /// When the browser last sent a reply or an event.
    private(set) var lastMessage: Duration
    /// When the page last sent a request.
    private(set) var lastRequest: Duration
    /// When the page opened its first socket.
    private var socketOpening: Duration?
    /// When the page received its first server-sent event.
    private var firstStreamEvent: Duration?
    /// The current document of the tab, by the identifier of its loader.
    private var document: String?
    /// The documents whose `load` event has fired.
    private var loadedDocuments: Set<String> = []

    init(now: Duration) { (lastActivity, lastMessage, lastRequest) = (now, now, now) }

    /// Whether the current document has loaded.
    var hasLoaded: Bool { document.map { loadedDocuments.contains($0) } ?? false }

    /// Whether the page has opened a socket, by which its content may come.
    var hasOpenedSocket: Bool { socketOpening != nil }

    mutating func didReceiveMessage(now: Duration) { lastMessage = now }

    mutating func didAct(now: Duration) { lastActivity = now }

    mutating func didSendRequest(now: Duration) { lastRequest = now }

    mutating func didOpenSocket(now: Duration) { socketOpening = socketOpening ?? now }

    /// Handles a message of a socket. Messages can fill the page but may never end, so only those of the first seconds
    /// count as activity.
    mutating func didUseSocket(countingFor patience: Duration, now: Duration) {
        if let socketOpening, now - socketOpening < patience { lastActivity = now }
    }

    /// Handles a server-sent event. Unlike a WebSocket, a stream is not waited for: a browser opens one that has ended
    /// again every few seconds.
    mutating func didReceiveStreamEvent(countingFor patience: Duration, now: Duration) {
        let first = firstStreamEvent ?? now
        firstStreamEvent = first
        if now - first < patience { lastActivity = now }
    }

    mutating func didNavigate(to document: String?, now: Duration) {
        self.document = document
        lastActivity = now
    }

    /// Sets the document that a navigation is loading, if no event has named it yet.
    mutating func didStartNavigation(to document: String?) { self.document = self.document ?? document }

    mutating func didLoad(_ document: String, now: Duration) {
        loadedDocuments.insert(document)
        if document == self.document { lastActivity = now }
    }

    /// Counts the current document as loaded, because it loads no further.
    mutating func didStopLoading(now: Duration) {
        if let document { didLoad(document, now: now) }
    }
}
