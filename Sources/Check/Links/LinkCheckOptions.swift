package import Fetch
public import Reports
package import Web

/// Options for a check of links.
public struct LinkCheckOptions: Sendable {
    /// Whether links to other sites are requested.
    public var checksExternal = true
    /// The maximum age of results that are used again instead of new requests.
    public var maxAge: Duration = .seconds(24 * 3600)
    /// The path of a file that keeps the results for other sites, instead of the store; nil for the store.
    public var cacheFile: String?
    /// The error statuses of other sites, and of stored responses, that count as success.
    public var acceptedStatuses = AcceptedStatuses()
    /// Patterns of files and folders whose links are not checked. Links may still refer to them.
    public var excludedPaths: [String] = []
    /// The verdicts that make the check fail.
    public var failsOn = LinkCheckReport.usualFailures
    /// The URL that a folder is published at. Links to URLs below it mean files of the folder.
    public var base: String?
    /// Patterns of targets that are not reported.
    public var ignores: [String] = []
    /// The path of a file with rules for links that are not reported; nil for `.larderignore`, if there is one.
    public var ignoreFile: String?
    /// Whether `.larderignore` in the current folder is read if no other file is named.
    package var readsUsualIgnoreFile = true
    /// The path of a baseline: links that were broken before are not reported.
    public var baseline: String?
    /// The path of a baseline to write, with all links that would be reported.
    public var newBaseline: String?
    /// Adds to the new baseline instead of replacing it, for a call that checks several targets.
    public var extendsNewBaseline = false
    /// The maximum number of pages of a URL that is fetched for the check; nil for all.
    public var maxPages: Int?
    /// Whether pages that lack a fragment and have scripts, which may add it, are opened in a browser, if one is found.
    public var usesBrowser = true
    /// The path of a Chromium or Chrome; nil for the first one that is found.
    public var browser: String?
    /// The maximum number of pages that are opened in a browser. The fragments of further pages count as missing.
    package static let maxRenderedPages = 100
    /// The nearest network zone that requests may connect to, whatever zone the documents are from.
    package var nearestZone = Principal.localUser.nearestZone
    /// The network options for requests; nil for the defaults.
    package var network: NetworkOptions?
    /// Whether links to private addresses and this machine are never requested, even if the documents are files of this machine.
    /// A pull request of a stranger may contain such links.
    public var isPublicOnly = false
    /// Whether robots.txt files of other sites are obeyed.
    public var obeysRobots = true
    /// Receives the number of read documents, then that of checked links, now and then, on threads of the check.
    public var progress: (@Sendable (WorkProgress) -> Void)?

    /// Creates options for a check of all links.
    public init() {}
}
