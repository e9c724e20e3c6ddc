/// The option to change, or the function to call, after an error, a skipped URL or a reached limit.
///
/// Library errors name no command-line options. The `larder` command converts the remedy to its own option or
/// command, and appends that to the message.
///
/// ```swift
/// do { try await larder.status() } catch where error.remedy == .store { print("name another store") }
/// ```
public enum Remedy: Sendable, Equatable {
    /// Another store.
    case store
    /// For a server whose store does not exist: another store, or `ServeOptions.createsStore`.
    case newStore
    /// `Larder.inspect`, to repair the store.
    case repair
    /// `CheckOptions.bases`, or the base of the manifest to prefetch.
    case base
    /// `PreloadOptions.trustedKeys` and `PreloadOptions.base`, to accept another manifest for the site whose URL
    /// is the associated value.
    case newManifest(of: String)
    /// `CheckOptions.format`. The associated value is the most likely format.
    case format(String)
    /// `PreloadOptions.trustedKeys`, `PrefetchOptions.trustedKeys` or `CheckOptions.trustedKeys`.
    case trust
    /// `PreloadOptions.allowsRollback`, `PrefetchOptions.allowsRollback` or `CheckOptions.allowsRollback`.
    case allowRollback
    /// `ServeOptions.root`.
    case root
    /// The port to listen on.
    case port
    /// `ServeOptions.address`.
    case address
    /// `ProxyOptions.login`.
    case proxyLogin
    /// The kind of pin. The associated value lists the kinds that the given name could mean.
    case pinKind([PinKind])
    /// `SitePlan.maxPages`.
    case maxPages
    /// `CrawlLimits.byteCount`.
    case maxBytes
    /// `CrawlLimits.time`.
    case maxTime
    /// `ScopeOptions.depth`.
    case depth
    /// `SitePlan.nofollow`.
    case nofollow
    /// `ScopeOptions.allowedActions`.
    case allowActions
    /// `ScopeOptions.includesHistory`.
    case includeHistory
    /// `ScopeOptions.includesForms`.
    case includeForms
    /// `ScopeOptions.includesViews`.
    case includeViews
    /// `SitePlan.media`.
    case media
    /// `PrefetchOptions.patience`.
    case patience
    /// `PrefetchOptions.browser`.
    case browser
    /// `ExportOptions.includesPrivate`.
    case includePrivate
    /// `replacesFile` of `ExportOptions` or `UpdateFileOptions`, or another path for a key.
    case replaceFile
    /// `Larder.importArchive(_:into:at:)`.
    case folderAddress
    /// The site of `Larder.importArchive(_:into:)`: this stored site or a new one.
    case siteName(String)
    /// `PublishOptions.runtimeVersions`.
    case runtimeVersion
    /// `PublishOptions.app`.
    case appName
    /// `Larder.change(.update)` for the channel of the app.
    case changeRelease(app: String, channel: String)
    /// `Larder.change(.resume)` for the channel of the app.
    case resumeRelease(app: String, channel: String)
    /// `Larder.change(.rollBack)` for a channel of the app.
    case rollBackChannel(app: String)
    /// `Larder.removeChannel` for the channel of the app.
    case removeChannel(app: String, channel: String)
    /// `Larder.channels()`.
    case channels
}

/// The kind of a pin.
public enum PinKind: String, Sendable, CaseIterable {
    /// One URL, with everything that it needs.
    case url
    /// The URLs that a pattern matches, with everything that they need.
    case pattern
    /// A site with all its snapshots.
    case site
}
