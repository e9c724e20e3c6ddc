/// One request that a page made, with what became of it.
struct ChromiumRequest: Sendable, Equatable, CustomStringConvertible {
    enum Outcome: Sendable, Equatable {
        case pending
        case status(Int)
        /// Chromium's own word for it, such as "net::ERR_CONNECTION_REFUSED".
        case failed(String)
    }

    var url: String
    var method: String
    /// Document, Stylesheet, Image, Font, Script, Fetch and so on.
    var type: String
    var outcome = Outcome.pending

    /// A browser asks for this file when a page names no icon, and shows nothing when it is not there.
    var isIconGuess: Bool { type == "Other" && url.hasSuffix("/favicon.ico") }

    /// The larder's own part of a page.
    var isForShim: Bool { url.contains("/-/larder/shim.js?") }

    /// What a person would see as missing.
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

    /// Whether it stayed on this machine.
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
