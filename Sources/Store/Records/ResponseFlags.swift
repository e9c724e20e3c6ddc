/// What is to be known of a stored response beside what the server said.
package struct ResponseFlags: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
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

    /// What is known of a body, and stays so as long as it does.
    package static let ofBody: ResponseFlags = [.saysNofollow, .saysNoindex, .isSoftNotFound]
}
