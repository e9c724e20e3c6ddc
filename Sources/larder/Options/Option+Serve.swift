/// The options of the commands that have to do with serving.
extension Option {
    static let atRoot = Option(
        name: "--at-root", value: "SITE", help: "show this site at /, and the other origins below /-/web/",
        standard: "the portal")
    static let listen = Option(
        name: "--listen", value: "ADDRESS",
        help: "the address to listen on, * for all that this machine has; needs --at-root", standard: "loopback only")
    static let policy = Option(
        name: "--policy", value: "NAME",
        help: "how what is held and servers share the work: one of the policies below", standard: "offline")
    static let verify = Option(
        name: "--verify", value: "WHEN",
        help: "hash what is held before it is shown: once (the first time), always, or never", standard: "never")
    static let noShim = Option(
        name: "--no-shim", value: nil,
        help: "leave out of pages the script that leads addresses to the larder which other scripts make", standard: nil
    )
    static let allowNetwork = Option(
        name: "--allow-network", value: nil,
        help: "let pages ask the network for what the larder does not lead to itself",
        standard: nil)
    static let showPrivate = Option(
        name: "--show-private", value: nil,
        help: "with --listen, show other machines what was fetched with credentials, too", standard: nil)
    static let preloaded = Option(
        name: "--preload", value: "MANIFEST",
        help:
            "ask what the manifest names, once, and at every SIGHUP: bundles that differ are fetched, and shown when all "
            + "verify; see larder preload",
        standard: "none is asked", repeats: true)
    static let every = Option(
        name: "--every", value: "TIME", help: "with --preload, ask again so often: 90s, 10m, 2h", standard: "once")
    static let patience = Option(
        name: "--timeout", value: "TIME",
        help: "where a server that is asked first has not answered after so long, show what is held, and load behind",
        standard: "5s")
    static let memory = Option(
        name: "--memory", value: "SIZE", help: "how much is kept ready in memory", standard: "64MiB")
    static let stop = Option(
        name: "--stop", value: nil, help: "stop the server on the port", standard: nil, place: .commandLine)
    static let clear = Option(
        name: "--clear", value: nil, help: "forget them, so that no prefetch fetches them", standard: nil,
        place: .commandLine)

    static let serve: [Option] =
        [
            .store, .port, .atRoot, .listen, .policy, .rule.in(.general), .patience, .preloaded, .every, .base, .format,
            .requisites, .verify, .memory, .maxSize, .noShim, .allowNetwork, .showPrivate, .quiet,
        ] + networkOptions + identityOptions
}
