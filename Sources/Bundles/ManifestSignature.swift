package import Digest
internal import Web

/// The signature inside a manifest in Larder's own format, its last member:
///
///     "key": "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3",
///     "signature": "untrusted comment: …\nRUQf…\ntrusted comment: timestamp:…\n…\n"
///
/// It signs the bytes of the file without the range from the end of the previous member to the end of its own value. These
/// are the bytes of the manifest before it was signed.
package struct ManifestSignature: Sendable, Hashable {
    package let signature: MinisignSignature
    /// The range of the source that is not signed: a comma, the name and the value. The parser has found nothing else there.
    private let range: Range<Int>

    /// The bytes that the signature signs.
    ///
    /// - Parameter source: the manifest from which this signature was read.
    package func signedBytes(of source: [UInt8]) -> [UInt8] {
        guard range.upperBound <= source.count else { return source }
        return Array(source[..<range.lowerBound] + source[range.upperBound...])
    }

    /// Reads the member `signature`; nil if there is none.
    ///
    /// - Throws: `ManifestError` if it is malformed or not the last member.
    init?(_ root: ManifestNode) throws(ManifestError) {
        guard let node = root[Self.memberName] else { return nil }
        guard let members = root.value.members, members.count > 1,
            members.last?.key == Self.memberName, let previous = members.dropLast().last
        else {
            throw node.error(
                "expected the signature as the last member of the manifest, found others after it")
        }
        range = previous.value.range.upperBound..<node.value.range.upperBound
        let text = try node.text()
        do throws(MinisignError) {
            signature = try MinisignSignature(text)
        } catch {
            throw node.error(error.description)
        }
    }

    private static let memberName = "signature"
    private static let keyName = "key"

    // MARK: Signing

    /// Returns the manifest with the name of the key that will sign it. The name only counts for those who trust on first use.
    ///
    /// - Parameter source: a JSON object with at least one member, without a key and a signature.
    package static func adding(_ key: MinisignPublicKey, to source: [UInt8]) throws(ManifestError) -> [UInt8]
    {
        try adding(keyName, key.text, to: source)
    }

    /// Returns the manifest with a signature of all its bytes as the last member.
    ///
    /// - Parameter source: a JSON object with at least one member, without a signature.
    package static func adding(
        _ signature: MinisignSignature, to source: [UInt8]
    ) throws(ManifestError) -> [UInt8] {
        try adding(memberName, signature.text, to: source)
    }

    /// Inserts a member behind the last one, and changes no other byte.
    private static func adding(
        _ name: String, _ value: String, to source: [UInt8]
    ) throws(ManifestError) -> [UInt8] {
        let root = try ManifestText(bytes: source, file: "manifest").json()
        guard let last = root.value.members?.last, root[name] == nil, root[memberName] == nil else {
            throw root.error("expected an unsigned manifest in Larder's own format")
        }
        var writer = JSONWriter(.pretty)
        writer.object { $0.member(name, value) }
        let end = last.value.range.upperBound
        var result = Array(source[..<end])
        result.append(UInt8(ascii: ","))
        // Without the braces and the line break before the closing one. The rest is laid out as in `Manifest.json`.
        result += writer.bytes.dropFirst().dropLast(2)
        result += source[end...]
        return result
    }
}
