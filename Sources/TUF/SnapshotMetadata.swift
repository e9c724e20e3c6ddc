package import Digest

/// The description of a metadata file in other metadata.
package struct MetaFile: Sendable, Equatable {
    package var version: Int
    /// The exact size in bytes.
    package var byteCount: Int?
    package var hashes: FileHashes?
    private var others: [String: CanonicalJSON] = [:]

    package init(version: Int, byteCount: Int? = nil, hashes: FileHashes? = nil) {
        self.version = version
        self.byteCount = byteCount
        self.hashes = hashes
    }

    init(_ node: MetadataNode) throws(TUFError) {
        version = try node.member("version").integer(atLeast: 1)
        byteCount = try node["length"]?.integer(atLeast: 1)
        if let hashes = node["hashes"] { self.hashes = try FileHashes(hashes) }
        others = try node.others(than: "version", "length", "hashes")
    }

    var json: CanonicalJSON {
        var members = others
        members["version"] = .integer(version)
        if let byteCount { members["length"] = .integer(byteCount) }
        if let hashes { members["hashes"] = hashes.json }
        return .object(members)
    }

    /// Throws unless the bytes have the announced length and digests.
    func require(_ bytes: [UInt8], file: String) throws(TUFError) {
        if let byteCount, bytes.count != byteCount {
            throw TUFError(.mismatch, file, "has \(bytes.count) bytes, expected \(byteCount)")
        }
        try hashes?.require(bytes, file: file)
    }
}

/// The digests of a file by the names of their algorithms.
package struct FileHashes: Sendable, Equatable {
    /// The digests whose algorithm is known, from the weakest to the strongest.
    package let digests: [Digest]
    /// All digests as they are written, also by unknown algorithms.
    private let texts: [String: String]

    package init(_ digests: [Digest]) {
        self.digests = digests.sorted { $0.algorithm.byteCount < $1.algorithm.byteCount }
        var texts: [String: String] = [:]
        for digest in digests { texts[digest.algorithm.rawValue] = digest.hex }
        self.texts = texts
    }

    init(_ node: MetadataNode) throws(TUFError) {
        var (digests, texts): ([Digest], [String: String]) = ([], [:])
        for member in try node.members() {
            let text = try member.node.string()
            texts[member.name] = text
            guard let algorithm = DigestAlgorithm(rawValue: member.name) else { continue }
            guard let digest = Digest(algorithm, hex: text) else {
                throw member.node.error("is not a \(algorithm.label) in hexadecimal digits")
            }
            digests.append(digest)
        }
        guard !texts.isEmpty else { throw node.error("has no digest") }
        self.digests = digests.sorted { $0.algorithm.byteCount < $1.algorithm.byteCount }
        self.texts = texts
    }

    var json: CanonicalJSON { .object(texts.mapValues { .string($0) }) }

    /// The strongest digest; nil if only unknown algorithms were used. MD5 and SHA-1 do not count: for them, attackers can
    /// make two files with the same digest.
    package var strongest: Digest? { digests.last { $0.algorithm.isStrong } }

    /// Throws unless all known digests match, and one of them is strong.
    package func require(_ bytes: [UInt8], file: String) throws(TUFError) {
        guard strongest != nil else {
            let names = texts.keys.sorted().joined(separator: ", ")
            throw TUFError(.mismatch, file, "has no SHA-2 digest, only \(names)")
        }
        for digest in digests {
            let found = DigestStream.digest(digest.algorithm, of: bytes.span)
            guard found == digest else {
                throw TUFError(.mismatch, file, "expected \(digest), found \(found)")
            }
        }
    }
}

/// The timestamp role: which snapshot is the latest.
package struct TimestampMetadata: RoleMetadata {
    package static let type = "timestamp"
    package static let memberNames: Set<String> = ["meta"]

    package var header: MetadataHeader
    package var snapshot: MetaFile

    package init(header: MetadataHeader, snapshot: MetaFile) {
        self.header = header
        self.snapshot = snapshot
    }

    package init(_ node: MetadataNode, header: MetadataHeader) throws(TUFError) {
        self.header = header
        let meta = try node.member("meta")
        snapshot = try MetaFile(meta.member("snapshot.json"))
        guard try meta.object().count == 1 else {
            throw meta.error("describes other files than snapshot.json")
        }
    }

    package var roleMembers: [String: CanonicalJSON] {
        ["meta": .object(["snapshot.json": snapshot.json])]
    }
}

/// The snapshot role: which versions of all targets metadata belong together.
package struct SnapshotMetadata: RoleMetadata {
    package static let type = "snapshot"
    package static let memberNames: Set<String> = ["meta"]

    package var header: MetadataHeader
    /// The metadata files by their names, such as `targets.json`.
    package var files: [String: MetaFile]

    package init(header: MetadataHeader, files: [String: MetaFile]) {
        self.header = header
        self.files = files
    }

    package init(_ node: MetadataNode, header: MetadataHeader) throws(TUFError) {
        self.header = header
        files = [:]
        let meta = try node.member("meta")
        for member in try meta.members() { files[member.name] = try MetaFile(member.node) }
        guard files["targets.json"] != nil else { throw meta.error("has no \"targets.json\"") }
    }

    package var roleMembers: [String: CanonicalJSON] { ["meta": .object(files.mapValues(\.json))] }
}
