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
    static let stop = Option(
        name: "--stop", value: nil, help: "stop the server on the port", standard: nil, place: .commandLine)
    static let clear = Option(
        name: "--clear", value: nil, help: "forget them, so that no prefetch fetches them", standard: nil,
        place: .commandLine)

    static let serve: [Option] = [
        .store, .port, .atRoot, .listen, .policy, .verify, .noShim, .allowNetwork,
        .showPrivate, .quiet,
    ]
}
