/// The reason why a text is not a usable URL, with how to write one.
package struct URLMistake: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
    package let kind: Kind

    package enum Kind: Sendable, Equatable {
        /// Not a URL.
        case form
        /// A single word, which is probably not a host: the URL written in full.
        case word(String)
        /// Neither http nor https.
        case scheme
        /// The URL contains a user name or password: its host.
        case credentials(String)
    }

    fileprivate init(_ kind: Kind, _ description: String) {
        (self.kind, self.description) = (kind, description)
    }
}

extension WebURL {
    /// An http or https URL as a person writes it: `example.com/a` is taken for `https://example.com/a`, as a
    /// browser's address field would, and `localhost:3000` for `http://localhost:3000`, since few servers on
    /// this machine speak TLS; a single word is refused unless it is written in full. Without its fragment.
    ///
    /// - Parameter mayBeWord: takes a single word all the same, as the name of a site that somebody made up.
    package static func typed(_ text: String, mayBeWord: Bool = false) throws(URLMistake) -> WebURL {
        let isWhole = hasScheme(text)
        var url = WebURL(isWhole ? text : "https://" + text)
        if let given = url, !isWhole, given.isLoopback { url = WebURL("http://" + text) }
        guard let url, !url.isHTTP || !url.host.isEmpty else {
            throw URLMistake(.form, "\"\(text)\" is not a URL: write it like https://example.com/")
        }
        guard url.isHTTP else {
            throw URLMistake(
                .scheme,
                "\(text) cannot be prefetched: only http and https can; name a page such as https://example.com/"
            )
        }
        guard !url.hasCredentials else {
            throw URLMistake(
                .credentials(url.host),
                "the URL of \(url.host) contains a user name or password: leave them out, they must not be stored"
            )
        }
        guard isWhole || mayBeWord || !url.isBareWord else {
            throw URLMistake(
                .word(url.href),
                "\"\(text)\" is a word, not a URL: write it like https://example.com/, or in full as \(url.href)"
            )
        }
        return url.key
    }

    /// A host without a dot, which is most often a slip of the keyboard: a command's name, say, or an option.
    private var isBareWord: Bool {
        port == nil && !isLoopback && !host.utf8.contains(UInt8(ascii: ".")) && !host.hasPrefix("[")
            || host.hasPrefix("-")
    }

    /// Whether what stands before the first slash ends with a colon: `https://a`, not `a:80/` nor
    /// `a/?u=https://b`.
    private static func hasScheme(_ text: String) -> Bool {
        let start = text.utf8.prefix {
            $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
        }
        return start.last == UInt8(ascii: ":")
    }

    /// Whether the host is this machine by its name or its address.
    private var isLoopback: Bool {
        // A host of digits and dots is an IPv4 address, whatever was written: anything else was refused.
        let isIPv4 = host.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
        return host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
            || isIPv4 && host.hasPrefix("127.")
    }
}
