internal import Browser
internal import Web

extension ObservedRequest {
    /// Whether the request asks for live data, which has no end: server-sent events, or a transport that polls
    /// in place of a WebSocket, by the URLs of Socket.IO, SignalR and SockJS.
    var isForLiveData: Bool {
        guard type != "EventSource" else { return true }
        guard let url = WebURL(url) else { return false }
        let query = url.query ?? ""
        return query.contains("transport=polling") || query.contains("transport=longPolling")
            || query.contains("transport=serverSentEvents")
            || ["/xhr_streaming", "/xhr_send", "/eventsource", "/htmlfile"].contains {
                url.path.hasSuffix($0)
            }
    }
}
