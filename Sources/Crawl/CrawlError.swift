package import Fetch
package import Store

/// What ended a crawl before it was done. What was stored until then is kept.
package enum CrawlError: Error, Sendable, CustomStringConvertible {
    case store(StoreError)
    case fetch(FetchFailure)
    case pattern(PatternMistake)

    package var description: String {
        switch self {
        case .store(let error): error.description
        case .pattern(let mistake): mistake.description
        case .fetch(let failure): "cannot fetch: \(failure); run the same command again"
        }
    }
}
