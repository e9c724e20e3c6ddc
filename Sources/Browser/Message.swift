internal import Web

/// A command of the DevTools protocol, without its number.
struct Command: Sendable {
    let method: String
    /// The session of the target; nil for the browser itself.
    let session: String?
    /// The parameters as the text of a JSON object.
    let parameters: String

    init(_ method: String, _ session: String? = nil, _ parameters: JSONMembers = [:]) {
        self.method = method
        self.session = session
        self.parameters = parameters.text(.compact)
    }

    /// The encoded command: a JSON text with a trailing NUL.
    func bytes(number: Int) -> [UInt8] {
        var text = "{\"id\":\(number),\"method\":\"\(method)\",\"params\":\(parameters)"
        // The name needs no escaping: the browser assigns it, in hexadecimal digits.
        if let session { text += ",\"sessionId\":\"\(session)\"" }
        return Array(text.utf8) + [0x7D, 0]
    }
}

/// The browser's reply to a command.
enum Reply: Sendable {
    case result(JSONValue)
    /// The error message of a command that failed.
    case refusal(String)

    /// A member of the result; nil for a refusal.
    subscript(key: String) -> JSONValue? {
        switch self {
        case .result(let value): value[key]
        case .refusal: nil
        }
    }

    /// The error message if this reply to a command that opens a tab did not open one.
    var tabError: String {
        switch self {
        case .result: "no tab was opened"
        case .refusal(let why): "no tab was opened: \(why)"
        }
    }
}

/// An event of the DevTools protocol.
struct Event: Sendable {
    let method: String
    /// The session of the target; nil for the browser itself.
    let session: String?
    let parameters: JSONValue

    subscript(key: String) -> JSONValue? { parameters[key] }
}

/// A message from the browser.
enum Message: Sendable {
    case reply(Int, Reply)
    case event(Event)

    /// Parses a message. Returns nil for invalid messages, unknown events and replies that are not awaited.
    /// Those are mostly rejected before parsing, so that a page which logs constantly costs little CPU time.
    init?(_ bytes: ArraySlice<UInt8>, isAwaited: (Int) -> Bool) {
        if bytes.starts(with: Self.replyStart) {
            let digits = bytes.dropFirst(Self.replyStart.count).prefix(12).prefix(while: \.isASCIIDigit)
            guard let number = Int(String(decoding: digits, as: UTF8.self)), isAwaited(number) else {
                return nil
            }
        } else if bytes.starts(with: Self.eventStart) {
            let name = bytes.dropFirst(Self.eventStart.count).prefix(64).prefix { $0 != 0x22 }
            guard Self.known.contains(String(decoding: name, as: UTF8.self)) else { return nil }
        }
        let limits = JSONLimits(byteCount: Self.maxBytes)
        guard
            let message = try? bytes.withUnsafeBufferPointer({ try JSONValue.parse($0.span, limits: limits) })
        else { return nil }
        if let number = message["id"]?.int {
            guard isAwaited(number) else { return nil }
            if let result = message["result"] {
                self = .reply(number, .result(result))
            } else {
                self = .reply(number, .refusal(message["error"]?["message"]?.string ?? "it failed"))
            }
        } else if let method = message["method"]?.string, Self.known.contains(method),
            let parameters = message["params"]
        {
            self = .event(
                Event(method: method, session: message["sessionId"]?.string, parameters: parameters))
        } else {
            return nil
        }
    }

    /// The maximum length of a message in bytes. A message may contain a picture, a PDF or a document.
    static let maxBytes = 256 << 20

    private static let replyStart = Array(#"{"id":"#.utf8)
    private static let eventStart = Array(#"{"method":""#.utf8)

    /// The events that tabs handle.
    private static let known: Set<String> = [
        "Browser.downloadWillBegin", "Inspector.targetCrashed",
        "Network.dataReceived", "Network.eventSourceMessageReceived",
        "Network.loadingFailed", "Network.loadingFinished",
        "Network.requestWillBeSent", "Network.responseReceived",
        "Network.webSocketClosed", "Network.webSocketCreated", "Network.webSocketFrameError",
        "Network.webSocketFrameReceived", "Network.webSocketFrameSent",
        "Network.webSocketHandshakeResponseReceived",
        "Page.frameAttached", "Page.frameDetached", "Page.frameNavigated",
        "Page.frameRequestedNavigation", "Page.javascriptDialogOpening", "Page.lifecycleEvent",
        "Page.navigatedWithinDocument", "Page.windowOpen",
        "Runtime.bindingCalled", "Runtime.exceptionThrown", "Runtime.executionContextsCleared",
        "Target.attachedToTarget", "Target.detachedFromTarget",
    ]
}
