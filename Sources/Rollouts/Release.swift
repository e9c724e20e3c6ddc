package import Digest

package struct ReleaseFile: Sendable, Hashable {
    /// The name by which the app's code refers to the file.
    package let key: String
    package let url: String
    package let sha256: Digest
    package let mediaType: String
    /// The suggested file name extension, with its point; nil for none.
    package let fileExtension: String?
    /// The size; nil if no client needs it.
    package let byteCount: Int64?

    /// Returns nil unless the digest is a SHA-256.
    package init?(
        key: String, url: String, sha256: Digest, mediaType: String, fileExtension: String? = nil,
        byteCount: Int64? = nil
    ) {
        guard sha256.algorithm == .sha256 else { return nil }
        (self.key, self.url, self.sha256) = (key, url, sha256)
        (self.mediaType, self.fileExtension, self.byteCount) = (mediaType, fileExtension, byteCount)
    }

    private init(_ file: ReleaseFile, url: String) {
        (key, self.url, sha256) = (file.key, url, file.sha256)
        (mediaType, fileExtension, byteCount) = (file.mediaType, file.fileExtension, file.byteCount)
    }

    /// The file at another URL.
    func withURL(_ url: String) -> ReleaseFile { ReleaseFile(self, url: url) }
}

/// The code of an app for one platform, with its assets, as it was built once. It can be announced several times, such as to roll
/// back to it.
package struct Release: Sendable, Hashable {
    /// The platform that the code was built for.
    package enum Platform: String, Sendable, CaseIterable {
        case ios, android
        /// Code for all devices, such as a folder of web files. Expo's protocol does not know it.
        case any

        /// Parses the name of a platform of Expo's protocol.
        package init?(expo name: String) {
            guard let platform = Platform(rawValue: name), platform != .any else { return nil }
            self = platform
        }
    }

    package let platform: Platform
    /// The versions of the native code that can run it. An update for another one would crash.
    package let runtimeVersions: Set<String>
    /// The file with the code.
    package let launch: ReleaseFile
    package let assets: [ReleaseFile]
    /// A zip file with all files, for clients that download one (CodePush, Capgo). Nil for an export of Expo, whose clients
    /// download single files. Its `byteCount` is not nil.
    package let archive: ReleaseFile?
    /// Values that clients filter updates by (`expo-manifest-filters`).
    package let metadata: [String: String]

    package init(
        platform: Platform, runtimeVersions: Set<String>, launch: ReleaseFile, assets: [ReleaseFile] = [],
        archive: ReleaseFile? = nil, metadata: [String: String] = [:]
    ) {
        (self.platform, self.runtimeVersions, self.launch) = (platform, runtimeVersions, launch)
        (self.assets, self.archive, self.metadata) = (assets, archive, metadata)
    }
}

/// A device that requests an update.
package struct Device: Sendable, Hashable {
    /// The stable ID of the app on this device; nil if it gives none. Without it, the device gets no release that is for a share
    /// of the devices only.
    package var id: String?
    package var platform: Release.Platform
    /// The version of the device's native code, or `unknownVersion`.
    package var runtimeVersion: String
    /// The update that it runs; nil if unknown.
    package var currentUpdate: String?

    /// The runtime version of a device that gives none. It fits only releases for all versions (`Rollout.anyVersion`).
    package static let unknownVersion = ""

    /// The maximum size of an ID. Longer ones do not count, since a server stores those that report an outcome.
    package static let maxIDBytes = 256

    package init(
        id: String?, platform: Release.Platform, runtimeVersion: String, currentUpdate: String? = nil
    ) {
        self.id = id.flatMap { (1...Self.maxIDBytes).contains($0.utf8.count) ? $0 : nil }
        (self.platform, self.runtimeVersion, self.currentUpdate) = (platform, runtimeVersion, currentUpdate)
    }
}
