package import Bundles
internal import Glibc
package import Store
internal import System
package import Web

/// How a mirror is shown.
package struct MirrorOptions: Sendable {
    /// The site at the root; nil gives every origin a name of its own.
    package var root: WebURL?
    package var address = ListenAddress.loopback
    /// Has pages lead to the larder what their scripts ask for by whole addresses.
    package var hasShim = true
    /// Lets pages ask the network for what the larder does not lead to itself.
    package var allowsNetwork = false
    /// Shows other machines what was fetched with credentials.
    package var showsPrivate = false

    /// When bodies are hashed before they are shown.
    package var verification = Verification.never

    /// How what is held and servers share the work, where neither a request nor a rule says otherwise. Those are heard only
    /// when there is somebody to ask servers.
    package var policy = CachePolicy.offline
    /// Asks servers. Without it none is ever asked.
    package var load: Load?

    /// What the user wants otherwise than servers say, before what the rules of sites say.
    package var rules: [CacheRules.Rule] = []
    /// After how long a held copy is shown where a server that is asked first has not answered; nil waits for it.
    package var patience: Duration?
    /// How large the larder may become by what is loaded; nil for any size.
    package var sizeLimit: Int64?
    /// What the manifests in force require of bodies, as the store has them. Any thread may call it.
    package var requirements: @Sendable (StoreReader) throws(StoreError) -> Requirements = { _ throws(StoreError) in
        Requirements()
    }

    /// Finds what is missing of sites. Any thread may call it.
    package var walk: SiteNeeds.Walk?

    /// What time it is, by which what is held is fresh or stale.
    package var clock: @Sendable () -> HTTPDate = { HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch()) }

    package init() {}

    /// A site at the root is everybody's, and its cache a shared one: what was asked for with `Authorization`, or answered
    /// as `private`, is kept for nobody, unless the server says otherwise (RFC 9111, section 3.5). Else the larder is
    /// somebody's own.
    var profile: CacheProfile {
        var profile = root == nil ? CacheProfile.private : .reverseProxy
        profile.storesParts = true
        return profile
    }
}
