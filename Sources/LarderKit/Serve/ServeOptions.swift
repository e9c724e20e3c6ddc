public import Serve
public import Web

/// How a larder is shown.
public struct ServeOptions: Sendable {
    /// The site that is shown at the root; nil gives every origin a name of its own below `localhost`.
    public var root: String?
    /// The address of this machine to listen on, or `*` for all of them. Nil listens on loopback, where nobody else comes.
    public var address: String?
    /// Has pages lead to the larder what their scripts ask for by whole addresses.
    public var hasShim = true
    /// Lets pages ask the network for what the larder does not lead to itself.
    public var allowsNetwork = false

    /// Shows other machines what was fetched with credentials, too.
    public var showsPrivate = false

    /// How what is held and servers share the work. `offline` asks no server, whatever a request or a rule says.
    public var policy = CachePolicy.offline
    /// How servers are asked, where the policy has them asked.
    public var network = NetworkOptions()

    /// When held bodies are hashed before they are shown. They were when they came, so that this finds what became of them on
    /// the disk.
    public var verification = Verification.never

    /// What is wanted otherwise than servers say, before what the rules of sites say; see `larder help rules`.
    public var rules: [String] = []
    /// After how long a held copy is shown where a server that is asked first has not answered; what it answers later is kept.
    /// Nil waits for it.
    public var patience: Duration? = .seconds(5)
    /// How large the larder may become by what is loaded; nil for any size.
    public var sizeLimit: Int64?
    /// Serves a larder that is not there yet, for whoever is about to stock it.
    public var mayBeEmpty = false

    public init() {}

    /// - Throws: `LarderError` of kind `.input` for a site or an address that is none.
    func mirrorOptions() throws(LarderError) -> MirrorOptions {
        var options = MirrorOptions()
        if let root {
            guard let url = WebURL(root), url.isHTTP else {
                throw LarderError(.input, "\"\(root)\" is not a site: write it like https://example.com/")
            }
            options.root = url
        }
        if let address {
            guard let known = ListenAddress(address) else {
                throw LarderError(
                    .input, "\"\(address)\" is no address to listen on: write it like 192.0.2.1, or * for all there are"
                )
            }
            // A name below localhost is this machine for everybody: other machines would find themselves.
            guard root != nil || known.isLoopback else {
                throw LarderError(
                    .input, "other machines can only be shown one site: name it with --at-root SITE")
            }
            options.address = known
        }
        options.rules = try CacheRules(texts: rules).rules
        options.patience = patience
        options.sizeLimit = sizeLimit
        options.policy = policy
        options.verification = verification
        options.hasShim = hasShim
        options.allowsNetwork = allowsNetwork
        options.showsPrivate = showsPrivate
        return options
    }
}
