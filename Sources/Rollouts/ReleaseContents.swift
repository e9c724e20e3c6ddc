internal import Bundles
package import Digest
internal import Web

/// The files of a release, as its stored manifest lists them, for clients that compare single files.
package struct ReleaseContents: Sendable, Equatable {
    package struct File: Sendable, Equatable {
        /// The path in the published folder.
        package let path: String
        /// The path as a reference of a URL.
        package let reference: String
        package let sha256: Digest
    }

    /// The files, in the order of the manifest.
    package let files: [File]
    /// CodePush's digest of all files: the name of the package's folder on a device.
    let codePushHash: String
    /// The text of Cordova's `chcp.manifest`.
    let cordovaList: [UInt8]

    /// The maximum size of a manifest.
    private static let maxManifestBytes = 16 * 1024 * 1024

    /// Reads the manifest that `larder publish` adds to a release. Returns nil if it is damaged.
    package init?(manifest bytes: [UInt8]) {
        guard bytes.count <= Self.maxManifestBytes,
            let manifest = try? Manifest(bytes, file: AppName.manifestName, format: .larder)
        else { return nil }
        var files: [File] = []
        files.reserveCapacity(manifest.bundles.count)
        for bundle in manifest.bundles {
            guard let path = PathReference.path(of: bundle.reference),
                let sha256 = bundle.digests.first(where: { $0.algorithm == .sha256 })
            else { return nil }
            files.append(File(path: path, reference: bundle.reference, sha256: sha256))
        }
        self.files = files
        codePushHash = Self.codePushHash(of: files)
        cordovaList = Array(manifest.written(as: .cordova).text.utf8)
    }

    /// The SHA-256 of a JSON array of `path:digest` in the order of UTF-16, as CodePush's clients on iOS and Android compute it
    /// (`CodePushUpdateUtils`).
    private static func codePushHash(of files: [File]) -> String {
        let entries = files.filter { !isIgnoredByCodePush($0.path) }.map { "\($0.path):\($0.sha256.hex)" }
            .sorted { $0.utf16.lexicographicallyPrecedes($1.utf16) }
        var writer = JSONWriter(.compact)
        writer.value(entries)
        return DigestStream.digest(.sha256, of: writer.bytes.span).hex
    }

    private static func isIgnoredByCodePush(_ path: String) -> Bool {
        let name = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String($0) ?? "" } ?? ""
        return path.hasPrefix("__MACOSX/") || name == ".DS_Store" || name == ".codepushrelease"
    }
}

/// A release at its address.
package struct ServedRelease: Sendable {
    package let contents: ReleaseContents
    /// The URL of the folder of its files, with a slash at its end.
    package let base: String

    package init(_ contents: ReleaseContents, base: String) { (self.contents, self.base) = (contents, base) }

    /// The URL of a zip file of all files.
    var archiveURL: String { base + AppName.archiveName }
}
