internal import Digest
internal import Web

/// A checksum list as `md5sum` and similar tools write it, with a line for each file.
struct ChecksumList {
    private let source: ManifestText

    init(_ source: ManifestText) {
        self.source = source
    }

    /// Parses the list. A line with an unknown algorithm becomes a note.
    func manifest() throws(ManifestError) -> Manifest {
        var manifest = Manifest(.checksums)
        var list = BundleList()
        for range in Self.lines(source.bytes) {
            let line: ChecksumLine
            do throws(ChecksumLine.Mistake) {
                guard let read = try ChecksumLine(source.bytes[range]) else { continue }
                line = read
            } catch {
                throw source.error(at: range.lowerBound, error.detail)
            }
            guard let claim = line.claim else {
                manifest.note("\(line.reference): \(line.algorithm) is not supported")
                continue
            }
            let bundle = Bundle(reference: line.reference, claims: [claim])
            if let refusal = list.merge(bundle) { throw source.error(at: range.lowerBound, refusal.detail) }
        }
        guard !list.bundles.isEmpty else {
            throw source.error(at: 0, "expected lines with a digest and a file name, found none")
        }
        manifest.bundles = list.bundles
        return manifest
    }

    /// Whether the first line that is not a comment has a known digest and a name.
    static func isRecognised(_ bytes: [UInt8]) -> Bool {
        let head = Array(bytes.prefix(64 * 1024))
        for range in lines(head) {
            do throws(ChecksumLine.Mistake) {
                if let line = try ChecksumLine(head[range]) { return line.claim != nil }
            } catch {
                // The list is then read, and its error names the line.
                return error.resemblesChecksumLine
            }
        }
        return false
    }

    /// Returns the ranges of the lines without their line breaks.
    private static func lines(_ bytes: [UInt8]) -> some Sequence<Range<Int>> {
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        return sequence(state: start) { at -> Range<Int>? in
            guard at < bytes.count else { return nil }
            let end = bytes[at...].firstIndex(of: 0x0A) ?? bytes.endIndex
            let line = at..<(end > at && bytes[end - 1] == 0x0D ? end - 1 : end)
            at = end + 1
            return line
        }
    }
}

// MARK: - ChecksumLine

/// One line of a list of checksums:
///
///     d41d8cd98f00b204e9800998ecf8427e  name      GNU, text; a star for the second space says binary
///     \d41d8cd98f00b204e9800998ecf8427e  a\\b\nc   GNU, with escapes in the name
///     SHA256 (name) = e3b0c442…                   BSD; base64 from cksum
struct ChecksumLine {
    /// The name of the file as a relative URL.
    let reference: String
    /// The name of the algorithm, from the line's tag or from the length of the digest.
    let algorithm: String
    /// Nil if the algorithm is unknown.
    let claim: Claim?

    /// An error in a line.
    struct Mistake: Error {
        let detail: String
        /// Whether the line has the form of a checksum line, and only a part of it is wrong.
        var resemblesChecksumLine = false
    }

    /// Parses a line; returns nil for a blank line or a comment.
    init?(_ line: ArraySlice<UInt8>) throws(Mistake) {
        guard let first = line.first(where: { $0 > 0x20 }), first != 0x23 else { return nil }
        let isEscaped = line.first == 0x5C
        let text = isEscaped ? line.dropFirst() : line
        let tagged = Self.parseTagged(text)
        guard let parts = tagged ?? Self.parsePlain(text) else {
            throw Mistake(
                detail: "expected a digest and a file name, found neither form of checksum line")
        }
        let name = try isEscaped ? Self.unescape(parts.name) : Array(parts.name)
        guard !name.isEmpty else {
            throw Mistake(
                detail: "expected a file name after the digest, found none", resemblesChecksumLine: true)
        }
        guard name != [0x2D] else {
            throw Mistake(
                detail: "expected a file name, found -, which means standard input",
                resemblesChecksumLine: true)
        }
        reference = PathReference.reference(to: name)
        if tagged != nil {
            algorithm = ManifestNode.abbreviate(String(decoding: parts.tag, as: UTF8.self))
            claim = try Self.claim(tag: parts.tag, value: parts.value)
        } else {
            guard
                let known = DigestAlgorithm.allCases.first(where: { $0.byteCount * 2 == parts.value.count }),
                let digest = Digest(known, hex: String(decoding: parts.value, as: UTF8.self))
            else {
                throw Mistake(
                    detail: "expected the 32, 40, 64, 96 or 128 hexadecimal digits of a digest, "
                        + "found \(parts.value.count)", resemblesChecksumLine: true)
            }
            algorithm = known.label
            claim = Claim(digest)
        }
    }

    private typealias Parts = (tag: ArraySlice<UInt8>, name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)

    /// Splits `TAG (name) = value`; the spaces are optional. The name may contain parentheses; the last one
    /// ends it.
    private static func parseTagged(_ line: ArraySlice<UInt8>) -> Parts? {
        guard let open = line.firstIndex(of: 0x28), let close = line.lastIndex(of: 0x29), open < close else {
            return nil
        }
        let tag = line[..<open].trimmed
        let rest = line[(close + 1)...].trimmed
        let isTag = { (byte: UInt8) in
            byte.isASCIIAlphanumeric || byte == 0x2D || byte == 0x5F || byte == 0x2F
        }
        guard let first = tag.first, first.isASCIIAlpha, tag.allSatisfy(isTag), rest.first == 0x3D else {
            return nil
        }
        let value = rest.dropFirst().trimmed
        return value.isEmpty ? nil : (tag, line[(open + 1)..<close], value)
    }

    /// Splits `DIGEST  name`. The second space, or a star in its place, says whether the tool read the file as text or
    /// binary. Lists written by hand may have only one space.
    private static func parsePlain(_ line: ArraySlice<UInt8>) -> Parts? {
        let digits = line.prefix { $0.hexDigitValue != nil }
        let rest = line[digits.endIndex...]
        guard digits.count >= 8, rest.first == 0x20 else { return nil }
        let mark = rest.dropFirst().first
        let hasMark = rest.count > 2 && (mark == 0x20 || mark == 0x2A)
        return ([], rest.dropFirst(hasMark ? 2 : 1), digits)
    }

    /// Returns the claim of a tagged line; nil if the algorithm is unknown. OpenSSL writes `SHA2-256` for `SHA256`.
    private static func claim(
        tag: ArraySlice<UInt8>, value: ArraySlice<UInt8>
    ) throws(Mistake) -> Claim? {
        let name = String(
            decoding: tag.map(\.lowercasedASCII).filter { $0 != 0x2D && $0 != 0x5F }, as: UTF8.self)
        let text = String(decoding: value, as: UTF8.self)
        if name == "size" {
            guard let count = Int(text), count >= 0 else {
                throw Mistake(
                    detail: "expected a number of bytes, found \"\(ManifestNode.abbreviate(text))\"",
                    resemblesChecksumLine: true)
            }
            return Claim(byteCount: count)
        }
        guard
            let algorithm = DigestAlgorithm(
                rawValue: name.hasPrefix("sha2") && name.utf8.count == 7
                    ? "sha" + name.dropFirst(4) : name)
        else { return nil }
        let bytes = Base64.decode(text)
        guard let digest = Digest(algorithm, hex: text) ?? bytes.flatMap({ Digest(algorithm, bytes: $0) })
        else {
            throw Mistake(
                detail: "expected the \(algorithm.byteCount * 2) hexadecimal digits of \(algorithm.label), "
                    + "found \"\(ManifestNode.abbreviate(text))\"", resemblesChecksumLine: true)
        }
        return Claim(digest)
    }

    /// Replaces `\\`, `\n` and `\r` in a name. GNU tools write these if the line begins with a backslash.
    private static func unescape(_ name: ArraySlice<UInt8>) throws(Mistake) -> [UInt8] {
        var bytes: [UInt8] = []
        var isAfterBackslash = false
        for byte in name {
            if isAfterBackslash {
                guard let meant = escapes[byte] else {
                    throw Mistake(
                        detail: "expected \\\\, \\n or \\r in an escaped name", resemblesChecksumLine: true)
                }
                bytes.append(meant)
                isAfterBackslash = false
            } else if byte == 0x5C {
                isAfterBackslash = true
            } else {
                bytes.append(byte)
            }
        }
        guard !isAfterBackslash else {
            throw Mistake(detail: "expected \\\\, \\n or \\r in an escaped name", resemblesChecksumLine: true)
        }
        return bytes
    }

    private static let escapes: [UInt8: UInt8] = [0x5C: 0x5C, 0x6E: 0x0A, 0x72: 0x0D]
}

extension ArraySlice<UInt8> {
    /// The slice without leading and trailing spaces and tabs.
    fileprivate var trimmed: ArraySlice<UInt8> {
        let start = drop { $0 == 0x20 || $0 == 0x09 }
        return start.dropLast(start.reversed().prefix { $0 == 0x20 || $0 == 0x09 }.count)
    }
}
