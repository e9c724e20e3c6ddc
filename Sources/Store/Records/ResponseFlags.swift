/// What is to be known of a stored response beside what the server said.
package struct ResponseFlags: OptionSet, Sendable, Hashable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// An unsafe request, or a HEAD, showed that it may no longer hold (RFC 9111, sections 4.3.5 and 4.4).
    package static let isInvalidated = ResponseFlags(rawValue: 1)
    /// Only a part of the body is held.
    package static let isPart = ResponseFlags(rawValue: 2)
    /// It came from a private address, or from this machine: where its links may lead.
    package static let fromPrivateNetwork = ResponseFlags(rawValue: 4)
    package static let fromThisMachine = ResponseFlags(rawValue: 8)
    /// Its head, or its `X-Robots-Tag`, says so.
    package static let saysNofollow = ResponseFlags(rawValue: 16)
    package static let saysNoindex = ResponseFlags(rawValue: 32)
    /// It says that there is nothing, with a status that says the contrary.
    package static let isSoftNotFound = ResponseFlags(rawValue: 64)
    /// Its request said from which origin it came, as those of CORS do: what it says on that (`Access-Control-*`) is all
    /// that there is to know.
    package static let askedByOrigin = ResponseFlags(rawValue: 128)
    /// It was asked for with credentials: cookies, a login, a client certificate, or header fields that are such.
    package static let isPrivate = ResponseFlags(rawValue: 256)

    /// What is known of a body, and stays so as long as it does, whoever confirms it.
    package static let ofBody: ResponseFlags = [
        .saysNofollow, .saysNoindex, .isSoftNotFound, .askedByOrigin, .isPrivate,
    ]
    /// From where it came.
    package static let ofReach: ResponseFlags = [.fromPrivateNetwork, .fromThisMachine]
}
