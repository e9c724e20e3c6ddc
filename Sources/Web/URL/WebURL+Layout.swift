extension WebURL {
    /// Where the parts of a serialisation stand. Each offset is one past the part that it ends, so a part that is
    /// missing altogether differs from an empty one by the delimiter before it.
    ///
    ///     https://user:word@host:8443/path?query#fragment
    ///          ↑      ↑    ↑↑   ↑    ↑    ↑     ↑
    ///          │      │    ││   │    │    │     queryEnd
    ///          │      │    ││   │    │    pathEnd
    ///          │      │    ││   │    authorityEnd, pathStart
    ///          │      │    ││   hostEnd
    ///          │      │    │hostStart
    ///          │      │    passwordEnd
    ///          │      usernameEnd
    ///          schemeEnd
    struct Layout: Sendable {
        var kind = SchemeKind.other
        var schemeEnd: UInt32 = 0
        var usernameEnd: UInt32 = 0
        var passwordEnd: UInt32 = 0
        var hostStart: UInt32 = 0
        var hostEnd: UInt32 = 0
        var authorityEnd: UInt32 = 0
        /// Past `authorityEnd` by the two bytes of `/.` when there is no host and the path begins with two slashes.
        var pathStart: UInt32 = 0
        var pathEnd: UInt32 = 0
        var queryEnd: UInt32 = 0

        var hasAuthority: Bool { authorityEnd > schemeEnd + 1 }
        var usernameStart: UInt32 { hasAuthority ? schemeEnd + 3 : schemeEnd + 1 }
        var isSpecial: Bool { kind != .other }

        /// Makes every part of the authority empty, to be filled from `start` on.
        mutating func setAuthority(at start: UInt32) {
            usernameEnd = start
            passwordEnd = start
            hostStart = start
            hostEnd = start
            authorityEnd = start
        }

        mutating func removeCredentials() {
            let length = hostStart - usernameStart
            usernameEnd = usernameStart
            passwordEnd = usernameStart
            hostStart -= length
            hostEnd -= length
            authorityEnd -= length
            movePath(by: -Int64(length))
        }

        mutating func movePath(by distance: Int64) {
            pathStart = UInt32(Int64(pathStart) + distance)
            pathEnd = UInt32(Int64(pathEnd) + distance)
            queryEnd = UInt32(Int64(queryEnd) + distance)
        }
    }

    /// The special schemes of the standard, and all the others.
    enum SchemeKind: UInt8, Sendable {
        case other, http, https, ws, wss, ftp, file

        init(_ scheme: Span<UInt8>) {
            if scheme.equalsIgnoringASCIICase("https") {
                self = .https
            } else if scheme.equalsIgnoringASCIICase("http") {
                self = .http
            } else if scheme.equalsIgnoringASCIICase("file") {
                self = .file
            } else if scheme.equalsIgnoringASCIICase("ftp") {
                self = .ftp
            } else if scheme.equalsIgnoringASCIICase("wss") {
                self = .wss
            } else if scheme.equalsIgnoringASCIICase("ws") {
                self = .ws
            } else {
                self = .other
            }
        }

        var defaultPort: Int? {
            switch self {
            case .http, .ws: 80
            case .https, .wss: 443
            case .ftp: 21
            case .file, .other: nil
            }
        }
    }
}
