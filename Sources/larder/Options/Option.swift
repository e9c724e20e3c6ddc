/// One option, as the parser and the help read it.
struct Option: Sendable, Equatable {
    /// With its dashes.
    let name: String
    /// What the help calls its value; nil for a flag.
    let value: String?
    let help: String
    /// What holds when it is not given, as the help shows it and `number` reads it; nil when there is none.
    var standard: String?

    static let store = Option(
        name: "--store", value: "DIR", help: "the folder that holds the larder",
        standard: "$LARDER_STORE, else $XDG_DATA_HOME/larder, else ~/.local/share/larder")
    static let quiet = Option(name: "--quiet", value: nil, help: "print errors only", standard: nil)
    static let json = Option(name: "--json", value: nil, help: "print the report as JSON", standard: nil)
    static let perHost = Option(
        name: "--per-host", value: "N", help: "the most connections that one host gets at once", standard: "16")
    static let port = Option(
        name: "--port", value: "N", help: "the port to serve on; 0 takes any free one", standard: "8080")
    static let held = Option(
        name: "--held", value: nil, help: "check what the larder holds, without the network", standard: nil)
    static let base = Option(
        name: "--base", value: "URL", help: "what the manifest's relative URLs are relative to", standard: nil)
    static let once = Option(
        name: "--once", value: nil, help: "fetch one page from the mirror, print a summary and end", standard: nil)
    static let repair = Option(
        name: "--repair", value: nil, help: "take damaged bodies out of service, and remove what nothing refers to",
        standard: nil)
    static let help = Option(name: "--help", value: nil, help: "explain the command", standard: nil)

    /// The same option where something else holds when it is not given.
    func otherwise(_ standard: String) -> Option {
        var option = self
        option.standard = standard
        return option
    }
}
