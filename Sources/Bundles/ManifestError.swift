package import Web

/// Why a manifest was refused, and where.
package struct ManifestError: Error, Sendable, Equatable, CustomStringConvertible {
    package var file: String
    package var position: TextPosition
    package var detail: String

    package var description: String { "\(file):\(position): \(detail)" }
}
