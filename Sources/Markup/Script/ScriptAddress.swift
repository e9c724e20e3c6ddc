/// How the address in a literal begins.
enum ScriptAddress {
    /// `http:`, `https:`, or two slashes.
    case absolute
    /// One slash.
    case rooted
    /// `./` or `../`.
    case dotted
    /// Anything else: the name of a package, a word, a relative address without a mark.
    case bare

    init(_ bytes: Bytes) {
        if bytes.starts(with: "//") || bytes.starts(with: "https://") || bytes.starts(with: "http://") {
            self = .absolute
        } else if bytes.first == UInt8(ascii: "/") {
            self = .rooted
        } else if bytes.starts(with: "./") || bytes.starts(with: "../") {
            self = .dotted
        } else {
            self = .bare
        }
    }
}
