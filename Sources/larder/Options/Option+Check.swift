/// What `check` and `manifest` understand beside what others do.
extension Option {
    static let live = Option(
        name: "--live", value: nil, help: "fetch from the origin as well, beside --held and --dir", standard: nil)
    static let folder = Option(
        name: "--dir", value: "DIR", help: "check the files of a folder, such as a build", standard: nil, repeats: true)
    static let offline = Option(
        name: "--offline", value: nil, help: "prove that a site is held with all that its pages need", standard: nil)
    static let quick = Option(
        name: "--quick", value: nil, help: "with --offline: look at sizes, and hash nothing", standard: nil)
    static let report = Option(
        name: "--report", value: "FORMAT[=FILE]",
        help: "text, json, junit, sarif, github or tap, printed or into a file", standard: "text", repeats: true)
    static let failOn = Option(
        name: "--fail-on", value: "VERDICTS", help: "what makes the exit status 1, with commas between",
        standard: "mismatch,missing,skew")
    static let format = Option(
        name: "--format", value: "FORM", help: "the form of the manifest", standard: "what its shape tells")
    static let release = Option(
        name: "--known", value: "MANIFEST",
        help: "the manifest of another release: what is as it says is skewed, not just wrong", standard: "none",
        repeats: true)
    static let evidence = Option(
        name: "--evidence", value: "KIND",
        help: "tell weak evidence too: etag, or name=md5 for hashed file names", standard: "none", repeats: true)
    static let output = Option(
        name: "--output", value: "FILE", help: "write it into a file", standard: "standard output")
    static let fetched = Option(
        name: "--live", value: nil, help: "fetch the site, even where it is held", standard: nil)
}
