internal import Digest
internal import Web

/// The formats in which a manifest can be written. The names are the values of `--format`.
package enum WrittenFormat: String, Sendable, CaseIterable {
    case larder, waict, cordova
}

/// A manifest as text, with a line feed at its end.
package struct WrittenManifest: Sendable {
    package let text: String
    /// The bundles that the format cannot contain.
    package internal(set) var leftOut: [LeftOut] = []

    /// A bundle that the format cannot contain, with the reason.
    package struct LeftOut: Sendable, Equatable {
        package let reference: String
        package let reason: String
    }
}

extension Manifest {
    /// Writes the manifest in a format.
    package func written(as format: WrittenFormat) -> WrittenManifest {
        switch format {
        case .larder: WrittenManifest(text: json)
        case .waict: waict
        case .cordova: cordova
        }
    }

    /// Cordova's `chcp.json`, which names the folder of the files (the base) and the release (the version). Apps
    /// replace their files when they resume. The digest of `chcp.manifest` binds the two files to each other.
    ///
    /// - Parameter list: the text of `chcp.manifest`.
    package func cordovaConfiguration(of list: String) -> String {
        let members: JSONMembers = [
            "content_url": IfAny(base), "release": IfAny(version), "update": "resume",
            CordovaManifest.digestMember: DigestStream.digest(.sha256, of: Array(list.utf8).span).hex,
        ]
        return members.text() + "\n"
    }

    // MARK: WAICT

    /// The manifest for Firefox, which compares digests as text: in standard base64 with padding. The draft of April
    /// 2026 asks for base64url without padding, which Firefox rejects when it compares.
    private var waict: WrittenManifest {
        var hashes: [String: String] = [:]
        var leftOut: [WrittenManifest.LeftOut] = []
        for bundle in bundles {
            guard let digest = bundle.digests.first(where: { $0.algorithm == .sha256 }) else {
                leftOut.append(.init(reference: bundle.reference, reason: "it has no SHA-256"))
                continue
            }
            hashes[waictKey(of: bundle.reference)] = Base64.encode(digest.bytes)
        }
        // Browsers request the folder of an index file. A stored site lists the URLs that were requested.
        let index = "/index.html"
        for (key, hash) in hashes where site == nil && key.hasSuffix(index) {
            let folder = String(key.dropLast(index.utf8.count - 1))
            if hashes[folder] == nil { hashes[folder] = hash }
        }
        let sorted = hashes.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        var writer = JSONWriter(.pretty)
        writer.object { writer in
            writer.member("hashes") { writer in
                writer.object { writer in
                    for (key, hash) in sorted { writer.member(key, hash) }
                }
            }
        }
        return WrittenManifest(text: writer.text + "\n", leftOut: leftOut)
    }

    /// The URL of a bundle as a key: the path on its own origin, else the whole URL.
    private func waictKey(of reference: String) -> String {
        if let base = base.flatMap({ WebURL($0) }), let url = WebURL(reference, base: base) {
            return url.origin == base.origin ? url.target : url.withoutFragment.href
        }
        let isAbsolute = reference.utf8.first == 0x2F || WebURL(reference) != nil
        return isAbsolute
            ? reference : "/" + (reference.hasPrefix("./") ? String(reference.dropFirst(2)) : reference)
    }

    // MARK: Cordova

    /// `chcp.manifest`: the files with their MD5. Those of the plugin itself are left out.
    private var cordova: WrittenManifest {
        var files: [(path: String, hash: String)] = []
        var leftOut: [WrittenManifest.LeftOut] = []
        for bundle in withoutCordovaFiles.bundles {
            guard let path = PathReference.path(of: bundle.reference) else {
                leftOut.append(
                    .init(
                        reference: bundle.reference,
                        reason: "Cordova's manifest contains only files, without queries and other sites"))
                continue
            }
            guard let digest = bundle.digests.first(where: { $0.algorithm == .md5 }) else {
                leftOut.append(.init(reference: bundle.reference, reason: "it has no MD5"))
                continue
            }
            files.append((path, digest.hex))
        }
        files.sort { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
        var writer = JSONWriter(.pretty)
        writer.array { writer in
            for file in files {
                writer.object { writer in
                    writer.member("file", file.path)
                    writer.member("hash", file.hash)
                }
            }
        }
        return WrittenManifest(text: writer.text + "\n", leftOut: leftOut)
    }

    /// The manifest without the two files of Cordova's plugin itself and their signatures, which are not part of an update.
    package var withoutCordovaFiles: Manifest {
        var manifest = self
        manifest.bundles.removeAll { bundle in
            PathReference.path(of: bundle.reference).map { Self.cordovaFiles.contains($0) } ?? false
        }
        return manifest
    }

    private static let cordovaFiles: Set<String> = [
        "chcp.json", "chcp.json.minisig", "chcp.manifest", "chcp.manifest.minisig",
    ]
}
