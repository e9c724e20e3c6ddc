package import Digest
package import Web

/// A mix of releases: a complete body that belongs to another release than its page or manifest.
///
/// There are three kinds, all based on observations and not on dates:
/// - *name*: a page requests a hashed name that the manifest lists only with other hashes, none of which the
///   page requests: the page belongs to one release, the manifest to another; see `ReleaseNames`;
/// - *release*: the body of a URL does not match the manifest, but matches the manifest of another release;
///   see `KnownReleases`;
/// - *responses*: two responses for one URL within one check differ, as while servers are updated one by
///   one.
package enum Skew: Sendable, Equatable, CustomStringConvertible {
    /// `known` are the names in the manifest that differ only in their hash, in order.
    case name(requested: String, page: String, known: [String])
    /// `found` is the name of the other release, `expected` that of the expected one.
    case release(expected: String, found: String)
    /// `by` names the difference: `MD5` or `status`.
    case responses(by: String, first: String, second: String)

    package var description: String {
        switch self {
        case .name(let requested, let page, let known):
            "\(page) requests \(requested), but the manifest has \(known.joined(separator: ", ")): "
                + "they belong to different releases"
        case .release(let expected, let found): "it is the bundle of \(found), not \(expected)"
        case .responses(let by, let first, let second):
            "it changed between two responses: \(by) was \(first), then \(second)"
        }
    }
}

// MARK: - KnownReleases

/// The digests of other releases, from the previous manifest, that of another server or that of a snapshot.
package struct KnownReleases: Sendable {
    private var names: [String] = []
    /// The index in `names` of the release that has a digest under a reference.
    private var owners: [Key: Int] = [:]

    /// A digest under a reference.
    private struct Key: Hashable, Sendable {
        let reference: String
        let digest: Digest
    }

    package init() {}

    /// Adds a release. If several have the same digest under the same reference, the first one is reported.
    ///
    /// - Parameter name: the name of the release in reports, such as its version or its file.
    package mutating func add(_ manifest: Manifest, name: String) {
        let number = names.count
        names.append(name)
        for bundle in manifest.bundles {
            for digest in bundle.statedDigests {
                let key = Key(reference: bundle.reference, digest: digest)
                if owners[key] == nil { owners[key] = number }
            }
        }
    }

    /// Turns a mismatch into a skew if another release has the body under the same reference. Returns every
    /// other finding unchanged.
    package func explain(
        _ finding: Finding, of bundle: Bundle, measured: Measurement, expected: String
    ) -> Finding {
        guard case .mismatch = finding.verdict else { return finding }
        for digest in measured.decoded.digests {
            guard let owner = owners[Key(reference: bundle.reference, digest: digest)] else { continue }
            return Finding(.skew(.release(expected: expected, found: names[owner])), remarks: finding.remarks)
        }
        return finding
    }
}

extension Bundle {
    /// All digests that the decoded body may have, including those of an `integrity`.
    fileprivate var statedDigests: [Digest] {
        claims.filter { $0.isProof && $0.subject == .decoded }.flatMap { claim in
            switch claim.content {
            case .digest(let digest): [digest]
            case .integrity(let integrity): integrity.digests
            case .byteCount, .prefix: [Digest]()
            }
        }
    }
}

// MARK: - ReleaseNames

/// The hashed names of one release's scripts and style sheets, which are compared with those that pages
/// request.
package struct ReleaseNames: Sendable {
    private var urls: Set<String> = []
    private var families: [String: [String]] = [:]

    /// - Parameter urls: the URLs of the manifest's bundles.
    package init(_ urls: some Sequence<WebURL>) {
        for url in urls.map(\.withoutFragment) where self.urls.insert(url.href).inserted {
            guard let family = Self.family(of: url) else { continue }
            families[family, default: []].append(url.href)
        }
    }

    /// Returns the names that a page requests and that are of another release, in the page's order, one for
    /// each family.
    ///
    /// A name is of another release if the manifest has its family but not this name, and the page requests
    /// none of the family's names in the manifest: several chunks may be called `index`. Families that the
    /// manifest does not have are ignored. So are images, because several different ones often share a name.
    package func skews(onPage page: WebURL, references: [WebURL]) -> [Skew] {
        var requested: [(family: String, href: String)] = []
        var agreeing: Set<String> = []
        for url in references.map(\.withoutFragment) {
            guard let family = Self.family(of: url), families[family] != nil else { continue }
            if urls.contains(url.href) {
                agreeing.insert(family)
            } else {
                requested.append((family, url.href))
            }
        }
        var reportedFamilies = agreeing
        return requested.compactMap { family, href in
            guard reportedFamilies.insert(family).inserted, let known = families[family] else { return nil }
            return .name(requested: href, page: page.href, known: known)
        }
    }

    private static func family(of url: WebURL) -> String? {
        let path = url.path
        guard [".js", ".mjs", ".css"].contains(where: { path.hasSuffix($0) }) else { return nil }
        return HashedName(url.href)?.family
    }
}

// MARK: - HashedName

/// A file name with a hash in it, as bundlers write them: `app.3f2a9c81.js`, `index-BRBmoGS9.js`,
/// `main.js?id=4d1c…`.
package struct HashedName: Sendable, Equatable {
    /// The hash, as it is written.
    package let hash: String
    /// The name with a star for the hash. The same file of another release has the same family.
    package let family: String

    /// Finds a hash in the last path segment, or in the query parameter `id` of Laravel Mix; returns nil if
    /// there is none.
    package init?(_ reference: String) {
        let bytes = Array(reference.utf8)
        let fragment = bytes.firstIndex(of: 0x23) ?? bytes.endIndex
        let query = bytes[..<fragment].firstIndex(of: 0x3F) ?? fragment
        let nameStart = bytes[..<query].lastIndex(of: 0x2F).map { $0 + 1 } ?? 0
        let range =
            Self.hexRange(bytes, nameStart..<query) ?? Self.base64Range(bytes, nameStart..<query)
            ?? Self.mixRange(bytes, query..<fragment)
        guard let range else { return nil }
        hash = String(decoding: bytes[range], as: UTF8.self)
        // The query is not part of the family, unless it contains the hash.
        let end = range.lowerBound > query ? fragment : query
        family = String(
            decoding: bytes[..<range.lowerBound] + [0x2A] + bytes[range.upperBound..<end], as: UTF8.self)
    }

    /// Returns the claim that the body's digest begins with the hash; nil if the hash cannot be such a
    /// prefix. The claim is weak, because many tools hash something else.
    package func claim(_ algorithm: DigestAlgorithm) -> Claim? {
        let digits = hash.utf8.map(\.lowercasedASCII)
        guard digits.allSatisfy({ $0.hexDigitValue != nil }), digits.count <= algorithm.byteCount * 2 else {
            return nil
        }
        return Claim(
            .prefix(algorithm, String(decoding: digits, as: UTF8.self)), .weak, source: "file name")
    }

    /// Finds the last run of at least eight hexadecimal digits between dots, dashes and underscores. Digits
    /// alone may be a date, letters alone a word.
    private static func hexRange(_ bytes: [UInt8], _ name: Range<Int>) -> Range<Int>? {
        var found: Range<Int>?
        var start = name.lowerBound
        for at in name.lowerBound...name.upperBound {
            let isEnd = at == name.upperBound || bytes[at] == 0x2E || bytes[at] == 0x2D || bytes[at] == 0x5F
            guard isEnd else { continue }
            let part = bytes[start..<at]
            let isHex = part.count >= 8 && part.count <= 128 && part.allSatisfy { $0.hexDigitValue != nil }
            if isHex, part.contains(where: \.isASCIIDigit),
                part.count >= 20 || part.contains(where: \.isASCIIAlpha)
            {
                found = start..<at
            }
            start = at + 1
        }
        return found
    }

    /// Finds the eight characters that Rollup and esbuild put before the extension.
    private static func base64Range(_ bytes: [UInt8], _ name: Range<Int>) -> Range<Int>? {
        guard let dot = bytes[name].lastIndex(of: 0x2E), dot - name.lowerBound > 9 else { return nil }
        let range = dot - 8..<dot
        let part = bytes[range]
        guard bytes[dot - 9] == 0x2D || bytes[dot - 9] == 0x2E,
            part.allSatisfy({ $0.isASCIIAlphanumeric || $0 == 0x2D || $0 == 0x5F })
        else { return nil }
        // "Settings" and "overview" are words, "20240131" is a date. A digit, or a capital after the first
        // letter, does not occur in words.
        guard part.contains(where: \.isASCIIAlpha) else { return nil }
        let hasDigit = part.contains(where: \.isASCIIDigit)
        let hasCapitalInside = part.dropFirst().contains(where: \.isASCIIUppercase)
        return hasDigit || hasCapitalInside ? range : nil
    }

    private static func mixRange(_ bytes: [UInt8], _ query: Range<Int>) -> Range<Int>? {
        guard query.count > 11, bytes[query].starts(with: "?id=".utf8) else { return nil }
        let value = query.lowerBound + 4..<query.upperBound
        return bytes[value].allSatisfy { $0.hexDigitValue != nil } ? value : nil
    }
}
