internal import Web

/// What is pinned, and how much that is.
public struct PinsReport: Sendable, Equatable {
    public let pins: [HeldPin]

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("pins") { list in
                list.array { array in for pin in pins { pin.write(to: &array) } }
            }
        }
        return writer.text
    }
}

/// A pin, and what it covers of what is held now.
public struct HeldPin: Sendable, Equatable {
    public let kind: PinKind
    /// A URL, a pattern, or the name of a site.
    public let value: String
    /// Held URLs that it keeps, those included that others need.
    public let urls: Int
    /// Their bodies' bytes, each body counted once.
    public let byteCount: Int64

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("kind", kind.rawValue)
            object.member("value", value)
            object.member("urls", urls)
            object.member("bytes", byteCount)
        }
    }
}
