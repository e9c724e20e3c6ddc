internal import Glibc
internal import System

/// Which reader a file wants: its first bytes tell, and its name where they do not.
package enum ArchiveFiles {
    /// A reader that keeps no body.
    package static func looking(
        at path: String, _ limits: ArchiveLimits = ArchiveLimits()
    ) throws(ArchiveError) -> any ArchiveReader {
        try reader(of: path, .measured, limits)
    }

    static func reader(
        of path: String, _ keeping: BodyKeeping, _ limits: ArchiveLimits = ArchiveLimits()
    ) throws(ArchiveError) -> any ArchiveReader {
        let beginning = try ArchiveError.wrapping { () throws(SystemError) in
            try WholeFile.beginning(of: path, 4096)
        }
        if beginning.starts(with: Array("PK\u{3}\u{4}".utf8)) { return try WACZReader(path, keeping, limits) }
        let first = beginning.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D && $0 < 0x80 }
        if first == UInt8(ascii: "{") { return try HARReader(path, keeping, limits) }
        return WARCReader(try ArchiveInput(path), keeping, limits)
    }
}
