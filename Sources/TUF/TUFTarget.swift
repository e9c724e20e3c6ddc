internal import Digest
internal import Web

/// A target that trusted metadata describes.
package struct TUFTarget: Sendable, Equatable {
    /// The path as in the metadata.
    package let path: String
    package let file: TargetFile
    /// The role that describes it.
    package let role: String

    package init(path: String, file: TargetFile, role: String) {
        (self.path, self.file, self.role) = (path, file, role)
    }

    /// The target's file below the URL of the targets, with percent escapes.
    ///
    /// - Parameter hasDigest: whether the name starts with the strongest digest, as with consistent snapshots
    ///   (`dir/HASH.app.js`).
    /// - Returns: nil if the path leads out of the targets, or if the digest is needed and none is known.
    package func reference(hasDigest: Bool) -> String? {
        guard TUFPath.isInside(path) else { return nil }
        guard hasDigest else { return TUFPath.escapedPath(path) }
        guard let digest = file.hashes.strongest else { return nil }
        var parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard let name = parts.popLast() else { return nil }
        return TUFPath.escapedPath((parts + ["\(digest.hex).\(name)"]).joined(separator: "/"))
    }
}

/// Paths of targets and names of roles, as file names and in URLs.
package enum TUFPath {
    /// Whether a path stays inside the folder of the targets, and names a file. URLs treat `%2e` as a dot.
    package static func isInside(_ path: String) -> Bool {
        !path.utf8.contains(0)
            && path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
                let part = (String($0) ?? "").lowercased().replacing("%2e", with: ".")
                return !part.isEmpty && part != "." && part != ".."
            }
    }

    /// A name for one segment of a URL or path: everything is escaped except RFC 3986's unreserved characters.
    static func escapedName(_ name: String) -> String {
        String(percentEncoding: name.utf8, except: isUnreserved)
    }

    /// A path in a URL. Section 4.5 recommends paths that are already valid in a URL, so that existing escapes stay.
    static func escapedPath(_ path: String) -> String {
        let bytes = Array(path.utf8)
        var text: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            let isEscape =
                byte == UInt8(ascii: "%") && index + 2 < bytes.count && bytes[index + 1].hexDigitValue != nil
                && bytes[index + 2].hexDigitValue != nil
            if isEscape || isUnreserved(byte) || "/!$&'()*+,;=:@".utf8.contains(byte) {
                text.append(byte)
            } else {
                text.appendPercentEncoded(byte)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "-._~".utf8.contains(byte)
    }
}
