/// One request of a page, with its outcome.
struct ChromiumRequest: Sendable, Equatable, CustomStringConvertible {
    enum Outcome: Sendable, Equatable {
        case pending
        case status(Int)
        /// Chromium's error code, such as "net::ERR_CONNECTION_REFUSED".
        case failed(String)
    }

    var url: String
    var method: String
    /// Chromium's resource type: Document, Stylesheet, Image, Font, Script, Fetch and so on.
    var type: String
    var outcome = Outcome.pending

    /// Whether this is the request for `/favicon.ico` that a browser makes if a page declares no icon.
    var isIconGuess: Bool { type == "Other" && url.hasSuffix("/favicon.ico") }

    /// Whether this is a request for Larder's script, which the mirror adds to pages.
    var isForShim: Bool { url.contains("/-/larder/shim.js?") }

    /// Whether the request failed in a way that a user would notice.
    var isFailure: Bool {
        if isIconGuess { return false }
        return switch outcome {
        case .pending, .failed: true
        case .status(let status): status >= 400
        }
    }

    /// The host without its port.
    var host: String {
        guard let start = url.firstRange(of: "://")?.upperBound else { return "" }
        let authority = url[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let place = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        if place.hasPrefix("[") { return String(place.prefix { $0 != "]" }) + "]" }
        return String(place.prefix { $0 != ":" })
    }

    /// Whether the request went to this machine.
    var isLocal: Bool {
        ["localhost", "127.0.0.1", "[::1]"].contains(host) || host.hasSuffix(".localhost")
    }

    var description: String {
        switch outcome {
        case .pending: "\(method) \(url) (\(type)): no answer"
        case .status(let status): "\(method) \(url) (\(type)): \(status)"
        case .failed(let why): "\(method) \(url) (\(type)): \(why)"
        }
    }
}
