internal import Store
internal import System
internal import Web

/// Requests the targets of links to other sites.
enum ExternalLinks {
    /// The result for a link.
    struct Result: Sendable, Equatable {
        var verdict: LinkCheckReport.Verdict
        var detail: String
    }

    /// Checks links; each URL may have a fragment. Blocks.
    static func check(
        _ urls: [WebURL], _ options: LinkCheckOptions, in folder: StoreFolder, _ interruption: Interruption
    ) throws(LarderError) -> [Result] {
        urls.map { _ in Result(verdict: .notChecked, detail: "it is on another site") }
    }
}
