/// Why what a person wrote is no address that can be asked, and how to write one.
package struct URLMistake: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    fileprivate init(_ description: String) {
        self.description = description
    }
}

extension WebURL {
    /// An http or https URL as a person writes it: `example.com/a` is taken for `https://example.com/a`, as a
    /// browser's address field would, and `localhost:3000` for `http://localhost:3000`, since few servers on
    /// this machine speak TLS. Without its fragment.
    package static func typed(_ text: String) throws(URLMistake) -> WebURL {
        let isWhole = hasScheme(text)
        var url = WebURL(isWhole ? text : "https://" + text)
        if let given = url, !isWhole, given.isLoopback { url = WebURL("http://" + text) }
        guard let url, !url.isHTTP || !url.host.isEmpty else {
            throw URLMistake("\"\(text)\" is not a URL: write it like https://example.com/")
        }
        guard url.isHTTP else {
            throw URLMistake(
                "\(text) cannot be prefetched: only http and https can; name a page such as https://example.com/"
            )
        }
        guard !url.hasCredentials else {
            throw URLMistake(
                "the address of \(url.host) has a user name or a password in it: leave them out, nothing may keep them"
            )
        }
        return url.key
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
