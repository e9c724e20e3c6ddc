/// One option, as the parser and the help read it.
struct Option: Sendable, Equatable {
    /// With its dashes.
    let name: String
    /// What the help calls its value; nil for a flag.
    let value: String?
    let help: String
    /// What holds when it is not given, as the help shows it and `number` reads it; nil when there is none.
    var standard: String?
    var group = Group.general
    /// It may be given several times, and each counts.
    var repeats = false
    /// With its dash: the same in fewer letters.
    var short: String?
    /// The variable of the environment that says it where the command line does not.
    var variable: String?
    /// Where it may stand beside the command line.
    var place = Place.anywhere

    enum Place: Sendable {
        case anywhere
        /// It is about one run, and nothing that a file should say.
        case commandLine
    }

    /// Its value is shown to nobody.
    var isSecret: Bool { ["--user", "--bearer", "--header"].contains(name) }

    /// What options are for, in the order of the help.
    enum Group: String, Sendable, CaseIterable {
        case general = "Options"
        case scope = "Which pages"
        case manners = "How gently, how much"
        case held = "What is held already"
        case network = "The network"
        case identity = "Who asks"
    }

    static let store = Option(
        name: "--store", value: "DIR", help: "the folder that holds the larder",
        standard: "$LARDER_STORE, else $XDG_DATA_HOME/larder, else ~/.local/share/larder", variable: "LARDER_STORE")
    static let quiet = Option(name: "--quiet", value: nil, help: "print errors only", standard: nil, short: "-q")
    static let verbose = Option(
        name: "--verbose", value: nil, help: "print a line for each request, on standard error", standard: nil,
        short: "-v")
    static let progress = Option(
        name: "--progress", value: "FORM",
        help: "block: figures that stay in place, on a terminal; json: a line a second, on standard error; none",
        standard: "block", variable: "LARDER_PROGRESS")
    static let json = Option(name: "--json", value: nil, help: "print the report as JSON", standard: nil)
    static let perHost = Option(
        name: "--per-host", value: "N", help: "the most connections that one host gets at once", standard: "16",
        group: .manners)
    static let port = Option(
        name: "--port", value: "N", help: "the port to serve on; 0 takes any free one", standard: "8080",
        variable: "LARDER_PORT")
    static let held = Option(
        name: "--held", value: nil, help: "check what the larder holds, without the network", standard: nil)
    static let base = Option(
        name: "--base", value: "URL", help: "where the manifest's site is: production, staging", standard: nil,
        repeats: true)
    static let siteOnly = Option(
        name: "--site-only", value: nil, help: "only show the site, until Ctrl-C: commands can be tried on it",
        standard: nil, place: .commandLine)
    static let once = Option(
        name: "--once", value: nil, help: "fetch one page from the mirror, print a summary and end", standard: nil,
        place: .commandLine)
    static let repair = Option(
        name: "--repair", value: nil,
        help: "take damaged bodies out of service, remove what nothing refers to, and make a damaged database anew",
        standard: nil, place: .commandLine)
    static let links = Option(
        name: "--links", value: nil, help: "list what it links to and what links to it", standard: nil)
    static let visit = Option(
        name: "--visit", value: "N", help: "as this visit shows it", standard: "what is served")
    static let type = Option(
        name: "--type", value: "TYPE",
        help: "only this media type: text/html, image/*, or a short name", standard: "all")
    static let status = Option(name: "--status", value: "N", help: "only this status, such as 404", standard: "all")
    static let site = Option(name: "--site", value: nil, help: "it is the name of a site", standard: nil)
    static let url = Option(name: "--url", value: nil, help: "it is a URL", standard: nil)
    static let pattern = Option(name: "--pattern", value: nil, help: "it is a pattern", standard: nil)
    static let maxSize = Option(
        name: "--max-size", value: "SIZE", help: "how large the larder may be, such as 500M, 2G, 1.5GiB or 0",
        standard: "no limit")
    static let dryRun = Option(
        name: "--dry-run", value: nil, help: "list what would go, and take nothing", standard: nil,
        place: .commandLine)
    static let hour = Option(
        name: "--hour", value: "N", help: "the hour of the day, from 0 to 23", standard: "4")
    static let help = Option(
        name: "--help", value: nil, help: "explain the command", standard: nil, short: "-h", place: .commandLine)

    /// Every option once, by the table.
    static var all: [Option] {
        var all: [Option] = []
        for option in CommandEntry.all.flatMap(\.options) where !all.contains(where: { $0.name == option.name }) {
            all.append(option)
        }
        return all
    }

    /// As the help shows it: `-q, --quiet`, `--port N`.
    var title: String { (short.map { "\($0), " } ?? "") + name + (value.map { " \($0)" } ?? "") }

    /// Without its dashes, as files write it.
    var key: String { String(name.dropFirst(2)) }

    /// The same option where something else holds when it is not given.
    func otherwise(_ standard: String) -> Option {
        var option = self
        option.standard = standard
        return option
    }
}
