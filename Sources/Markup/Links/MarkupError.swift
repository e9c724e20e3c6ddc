/// Why a stored ``LinkTable`` was not read.
package enum MarkupError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The table was written by another version of the scanners: scan the body again.
    case otherVersion(UInt8)
    /// The bytes are no link table: the store is damaged; scan the body again.
    case damaged(offset: Int)

    package var description: String {
        switch self {
        case .otherVersion(let version):
            "the link table is of version \(version), this program reads \(LinkTable.version); scan the body again"
        case .damaged(let offset):
            "the link table is damaged at its byte \(offset); scan the body again"
        }
    }
}
