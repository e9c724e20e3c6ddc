internal import Bundles
internal import Glibc
internal import Store
internal import Web

/// What the responders of all server threads have in common.
struct MirrorContext: Sendable {
    let layout: OriginLayout
    let names: LarderNames
    /// Nil where pages do without.
    let shim: Shim?
    let verifier: BodyVerifier
    let tier: MemoryTier<Answer>
    /// Nil when nobody could write them down.
    let notes: ServingNotes?
    /// Nil where no server is ever asked.
    let loading: Loading?
    let rules: [CacheRules.Rule]
    let requirements: @Sendable (StoreReader) throws(StoreError) -> Requirements
    let walk: SiteNeeds.Walk?

    init(
        _ options: MirrorOptions, port: UInt16, verifier: BodyVerifier, tier: MemoryTier<Answer>,
        notes: ServingNotes?, loading: Loading?, seals: PageSeals
    ) {
        layout = OriginLayout(
            port: port, root: options.root.flatMap(RootOrigin.init), allowsNetwork: options.allowsNetwork,
            isExposed: !options.address.isLoopback, showsPrivate: options.showsPrivate, seals: seals)
        names = LarderNames(
            layout: layout, others: options.address.isLoopback ? [] : Self.machineNames,
            takesAddresses: !options.address.isLoopback)
        shim = options.hasShim ? Shim(layout: layout) : nil
        self.verifier = verifier
        self.tier = tier
        self.notes = notes
        self.loading = loading
        rules = options.rules
        requirements = options.requirements
        walk = options.walk
    }

    /// As the machine calls itself, and as others on its network may find it (RFC 6762).
    private static var machineNames: Set<String> {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return [] }
        let name = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).lowercased()
        let first = String(name.prefix { $0 != "." })
        return first.isEmpty ? [] : [name, first, first + ".local"]
    }
}
