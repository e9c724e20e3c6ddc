package import Web

/// Why a manifest was refused, and where.
package struct ManifestError: Error, Sendable, Equatable, CustomStringConvertible {
    package var file: String
    package var position: TextPosition
    /// The way to the value that is wrong, `bundles[3].md5`; nil when it is the text as a whole.
    package var key: String?
    package var detail: String

    package var description: String { "\(file):\(position): \(key.map { "\($0): " } ?? "")\(detail)" }
}
