public import Check
public import Fetch
internal import System
internal import TUF
public import Web

/// A download from a repository of The Update Framework (TUF), with the trusted metadata in a folder.
///
/// Each download first updates the metadata, which must be signed as the trusted root demands, not older than that of
/// earlier downloads, and not expired. Each target must have the length and the digests that the metadata gives.
///
/// ```swift
/// var download = TUFDownload(from: "https://example.com/metadata/", metadataFolder: "tuf")
/// download.trustedRoot = "root.json"
/// download.targets = ["app.js"]
/// download.targetFolder = "dist"
/// let report = try await download.run()
/// ```
public struct TUFDownload: Sendable {
    /// The URL of the repository's metadata.
    public var metadataURL: String
    /// The folder of the trusted metadata, which every download continues from.
    public var metadataFolder: String
    /// The file of a trusted `root.json`, for a folder that has none yet. It comes from the publisher by a safe way.
    public var trustedRoot: String?
    /// The targets to download. If empty, only the metadata is updated.
    public var targets: [String] = []
    /// The URL of the targets; nil for `../targets/` beside the metadata.
    public var targetURL: String?
    /// The folder for the targets, each at its own path. Files that are there and match are not downloaded.
    public var targetFolder = "."
    /// Whether target files have their digest in front of their names; nil if the root says so.
    public var usesDigestNames: Bool?
    /// The options of the network.
    public var network = NetworkOptions()

    /// Creates a download that updates the metadata.
    public init(from metadataURL: String, metadataFolder: String) {
        self.metadataURL = metadataURL
        self.metadataFolder = metadataFolder
    }

    /// Updates the metadata, then downloads the targets in order.
    ///
    /// - Throws: `LarderError` of kind `.refused` if metadata or a target is not trusted, or a target is unknown. Everything
    ///   that was verified before stays. `.input` for a wrong URL or folder, `.machine` if the network or this machine
    ///   fails, `.interrupted` if the task is cancelled.
    public func run() async throws(LarderError) -> TUFDownloadReport {
        let (download, interruption) = (self, Interruption())
        return try await Larder.runOnThread("larder-tuf", onCancel: interruption.request) {
            () throws(LarderError) in
            try download.run(interruption)
        }
    }

    private func run(_ interruption: Interruption) throws(LarderError) -> TUFDownloadReport {
        let metadata = try WebURL.start(metadataURL).folder
        let base: WebURL
        if let targetURL {
            base = try WebURL.start(targetURL).folder
        } else {
            base = WebURL("../targets/", base: metadata) ?? metadata
        }
        let storage = try storage()
        let fetcher = TUFFetcher(network, nearestZone: .thisMachine, interruption)
        var updater = TUFUpdater(metadata: metadata, storage: storage, fetcher: fetcher)
        try updater.refresh()
        var report = TUFDownloadReport(
            metadata: metadata.href, rootVersion: updater.client.rootVersion,
            snapshotVersion: updater.client.snapshotVersion ?? 0, expires: updater.client.expires ?? 0)
        for path in targets {
            let target = try updater.find(path)
            report.files.append(
                try save(
                    target, from: base, fetcher,
                    hasDigest: usesDigestNames ?? updater.client.usesConsistentSnapshots))
        }
        return report
    }

    /// The folder of the metadata, with the trusted root.
    private func storage() throws(LarderError) -> TUFMetadataFolder {
        let folder = TUFMetadataFolder(metadataFolder)
        do throws(SystemError) { try Folder.make(metadataFolder) } catch { throw LarderError(error) }
        guard !folder.hasRoot else { return folder }
        guard let trustedRoot else {
            throw LarderError(
                .input,
                "\(metadataFolder) has no trusted root.json: name the one that the publisher gave you",
                remedy: .trust)
        }
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try WholeFile.read(trustedRoot, atMost: TUFLimits().maxRootBytes)
        } catch {
            throw LarderError(
                .input, "cannot read the trusted root \(trustedRoot): \(error.reason); name an existing file")
        }
        try TUFTrust.check(bytes, file: trustedRoot)
        try folder.apply(.store(name: "root.json", bytes: bytes))
        return folder
    }

    /// Downloads a target to its path below the folder, unless it is there.
    private func save(
        _ target: TUFTarget, from base: WebURL, _ fetcher: TUFFetcher, hasDigest: Bool
    ) throws(LarderError) -> TUFDownloadReport.File {
        guard TUFPath.isInside(target.path) else {
            throw LarderError(
                .refused, "\(target.path): its path leads out of the folder; it is not downloaded")
        }
        guard let reference = target.reference(hasDigest: hasDigest),
            let url = WebURL("./" + reference, base: base)
        else {
            throw LarderError(
                .refused, "\(target.path): it has no digest that can be verified; it is not downloaded")
        }
        let path = "\(targetFolder)/\(target.path)"
        var file = TUFDownloadReport.File(
            target: target.path, path: path, byteCount: target.file.byteCount, isReused: true)
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? targetFolder
        try requireOutsideMetadata(folder, target)
        if Self.matches(path, target) { return file }
        let bytes = try fetcher.fetch(target, at: url)
        do throws(SystemError) { try Folder.make(folder) } catch { throw LarderError(error) }
        // Again, because `..` in the folder's name may lead on from a folder that did not exist before.
        try requireOutsideMetadata(folder, target)
        do throws(SystemError) {
            // Replaces a link at this path, and not the file that it leads to.
            try WholeFile.replace(path, with: bytes, mode: 0o644)
        } catch {
            throw LarderError(error)
        }
        file.isReused = false
        return file
    }

    /// Throws if a folder is that of the trusted metadata or inside it, also through links. A target there could replace
    /// the root that all later downloads trust.
    private func requireOutsideMetadata(_ folder: String, _ target: TUFTarget) throws(LarderError) {
        var existing = folder
        while !Folder.exists(existing), let slash = existing.utf8.lastIndex(of: UInt8(ascii: "/")) {
            existing = slash == existing.utf8.startIndex ? "/" : String(existing[..<slash])
        }
        if !Folder.exists(existing) { existing = "." }
        let (place, metadata) = (Folder.resolved(existing), Folder.resolved(metadataFolder))
        let start = metadata == "/" ? metadata : metadata + "/"
        guard place != metadata, !place.hasPrefix(start) else {
            throw LarderError(
                .refused,
                "the target \(target.path) would be written into \(metadataFolder), the folder of the trusted metadata; "
                    + "it is not downloaded; name another folder for the targets")
        }
    }

    /// Whether there is a file with the length and the digests of the target.
    private static func matches(_ path: String, _ target: TUFTarget) -> Bool {
        guard let bytes = try? WholeFile.read(path, atMost: target.file.byteCount) else { return false }
        do throws(TUFError) { try target.file.require(bytes, path: target.path) } catch { return false }
        return true
    }
}

/// The result of a download from a TUF repository.
public struct TUFDownloadReport: Sendable, Equatable {
    /// The URL of the metadata.
    public let metadata: String
    /// The version of the trusted root.
    public let rootVersion: Int
    /// The version of the trusted snapshot.
    public let snapshotVersion: Int
    /// When the first of root, timestamp and snapshot expires.
    public let expires: Timestamp
    /// The targets, in the order in which they were named.
    public package(set) var files: [File] = []

    /// A target that is in the folder.
    public struct File: Sendable, Equatable {
        /// The path in the repository.
        public let target: String
        /// The path of the file.
        public let path: String
        /// The size in bytes.
        public let byteCount: Int
        /// Whether the file was there before, with the right digests.
        public package(set) var isReused: Bool
    }

    init(metadata: String, rootVersion: Int, snapshotVersion: Int, expires: Int64) {
        (self.metadata, self.rootVersion) = (metadata, rootVersion)
        self.snapshotVersion = snapshotVersion
        self.expires = Timestamp(secondsSinceEpoch: expires)
    }

    /// The time of `expires` in UTC: `2026-01-31T12:00:00Z`.
    public var expiresDate: String { expires.description }

    /// The report as JSON.
    public var json: String { members.text() }
}

extension TUFDownloadReport: JSONObject {
    package var members: JSONMembers {
        [
            "metadata": metadata, "root": rootVersion, "snapshot": snapshotVersion, "expires": expiresDate,
            "files": files,
        ]
    }
}

extension TUFDownloadReport.File: JSONObject {
    package var members: JSONMembers {
        ["target": target, "path": path, "bytes": byteCount, "reused": isReused]
    }
}
