internal import Web

/// The path of a target in a repository, and the file that has its bytes.
///
/// A target's path is a part of a URL (TUF 4.5), but a file may be called `a?b #1.js`. The path is the
/// percent-encoded name, so that every web server that maps URLs to files finds the file, and clients only append it
/// to a URL.
package struct TargetPath: Sendable, Equatable {
    /// The percent-encoded path, as metadata lists it.
    package let text: String

    /// The maximum length of a file's name in bytes on common file systems.
    private static let maxFileNameBytes = 255

    /// Converts the path of a file in a folder, with slashes as separators.
    ///
    /// - Throws: `TargetPathError`. Its description follows the name of the file in a report.
    package init(ofFile path: String) throws(TargetPathError) {
        try Self.check(path)
        text = String(percentEncoding: path.utf8, except: Self.isPlain)
        guard text.utf8.count <= TUFLimits.maxTargetPathBytes else { throw .tooLong }
    }

    /// Reads a path from metadata.
    ///
    /// - Throws: `TargetPathError` if the file of the target cannot be stored under this path.
    package init(_ text: String) throws(TargetPathError) {
        guard text.utf8.count <= TUFLimits.maxTargetPathBytes else { throw .tooLong }
        self.text = text
        try Self.check(filePath)
    }

    /// The path of the file that the target was made from.
    package var filePath: String {
        let text = Array(text.utf8)
        return String(decoding: [UInt8](percentDecoding: text.span), as: UTF8.self)
    }

    /// The path of the file in the folder of targets, `a/DIGEST.b.js` for the target `a/b.js` (TUF 6.2.1).
    package func storedPath(digest: String) -> String {
        let path = filePath
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "\(digest).\(path)" }
        let start = path.utf8.index(after: slash)
        return "\(path[..<start])\(digest).\(path[start...])"
    }

    /// Rejects paths that leave the folder of targets, and names for which the digest leaves no room.
    private static func check(_ path: String) throws(TargetPathError) {
        let segments = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for segment in segments {
            if segment.isEmpty { throw .emptySegment }
            if segment.elementsEqual(".".utf8) || segment.elementsEqual("..".utf8) { throw .dots }
            if segment.contains(0) { throw .zero }
            // 64 digits of SHA-256 and a dot precede the name.
            guard segment.count <= maxFileNameBytes - 65 else { throw .tooLong }
        }
    }

    /// Whether a byte has no meaning in URLs and in the patterns of delegations. Slashes separate segments.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "/.-_~@+=,!$".utf8.contains(byte)
    }
}

/// The reason why a path cannot be the path of a target.
package enum TargetPathError: String, Error, Sendable, CustomStringConvertible {
    case tooLong = "its name is over 190 bytes or its path too long; shorten it"
    case emptySegment = "its path has an empty part; remove the extra slash"
    case dots = "its path has a part \".\" or \"..\"; name it without them"
    case zero = "its name contains a zero byte; rename it"

    package var description: String { rawValue }
}
