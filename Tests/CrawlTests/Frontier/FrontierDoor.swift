import Store
import Web

@testable import Crawl
@testable import Fetch

/// Events by short names, for those tests that are about what follows from them. Where no time is given, none
/// passes.
extension Frontier {
    mutating func start(_ url: WebURL) { apply(.start(url), now: .zero) }

    mutating func startGuess(_ url: WebURL, isPage: Bool, mayReach: Reach) {
        apply(.miss(url, isPage: isPage, mayReach: mayReach), now: .zero)
    }

    /// The number of what a link leads to, of which a page is said to have no other.
    @discardableResult
    mutating func found(_ link: FoundLink, by number: UInt32) -> UInt32 {
        let actions = apply(.scanned(ScanResult(number: number, byteCount: 0, links: [link])), now: .zero)
        for case .record(let links) in actions {
            if let target = (links.pages + links.requisites + links.guesses).first { return target.number }
        }
        return .max
    }

    mutating func came(_ number: UInt32, from reach: Reach) {
        apply(.connected(number, from: reach), now: .zero)
    }

    mutating func succeeded(_ number: UInt32, after latency: Duration? = nil) {
        apply(.succeeded(number, after: latency), now: .zero)
    }

    mutating func recalled(_ number: UInt32) { apply(.recalled(number), now: .zero) }

    mutating func failed(
        _ number: UInt32, _ failure: Failure, after latency: Duration? = nil, retryAfter: Duration? = nil,
        hadBegun: Bool = false, now: Duration
    ) {
        apply(.failed(number, failure, after: latency, retryAfter: retryAfter, hadBegun: hadBegun), now: now)
    }

    /// Whether the redirect is kept.
    mutating func redirected(_ number: UInt32, to target: WebURL?) -> Bool {
        for case .keep(number) in apply(.redirected(number, .init(target: target)), now: .zero) {
            return true
        }
        return false
    }

    mutating func robotsFailed(host: Int, _ failure: FetchFailure, now: Duration) {
        apply(.robots(host: host, .failed(failure)), now: now)
    }

    var doneCount: Int { progress(now: .zero).done }

    var runningCount: Int { progress(now: .zero).running }
}
