package import Bundles
package import Crawl
internal import System
internal import TUF
package import Web

/// The location of a TUF repository in place of a manifest: `tuf+https://example.com/metadata/`.
package struct TUFLocation: Sendable, Equatable {
    /// The URL of the folder with `timestamp.json`.
    package let metadata: WebURL

    private static let prefix = "tuf+"

    /// Returns nil if the place is not such a location.
    ///
    /// `tuf+http` is allowed too: signatures protect the content, whatever the connection is.
    package init?(_ place: String) {
        guard place.hasPrefix(Self.prefix), let url = WebURL(String(place.dropFirst(Self.prefix.count))),
            url.isHTTP
        else { return nil }
        metadata = url.withoutFragment.folder
    }

    /// The URL of the targets, if the user names no other: the folder `targets` beside that of the metadata.
    package var targets: WebURL { WebURL("../targets/", base: metadata) ?? metadata }

    /// Throws if the place is a TUF repository, for callers who allow older manifests. A client of TUF has no such choice:
    /// clients that differ in it would not notice an attack.
    package static func requireNoRollback(of place: String) throws(LarderError) {
        guard TUFLocation(place) != nil else { return }
        throw LarderError(
            .input,
            "\(place) is a TUF repository, of which older versions are never accepted: ask its publisher to publish the "
                + "older files as a new version, or make an older snapshot live again")
    }
}

/// The trusted root of a TUF repository that a user names.
package enum TUFTrust {
    /// Throws unless the bytes are root metadata that its own keys have signed.
    package static func check(_ bytes: [UInt8], file: String) throws(LarderError) {
        _ = try version(of: bytes, file: file)
    }

    private static func version(of bytes: [UInt8], file: String) throws(LarderError) -> Int {
        do throws(TUFError) { return try TUFClient.versionOfTrustedRoot(bytes) } catch {
            let hint =
                bytes.starts(with: Array("untrusted comment:".utf8))
                ? "; it is a key of minisign, which a TUF repository does not use" : ""
            throw LarderError(
                .input,
                "\(file) is not a trusted root: \(error.detail)\(hint); name the root.json of the publisher")
        }
    }

    /// Returns what an update starts from: the stored metadata, with the named root if that is newer or none is stored.
    ///
    /// An older named root does not replace the stored one. An attacker with stolen keys that have been replaced since
    /// then could continue the older root in another way.
    ///
    /// - Parameter values: the values of `--trust`.
    /// - Throws: `LarderError` of kind `.input` if there is no trusted root, or a value is none.
    package static func start(
        _ values: [String], stored: RepositoryTrust?, of place: String
    ) throws(LarderError) -> RepositoryTrust {
        var trust = stored ?? RepositoryTrust()
        guard values.count <= 1 else {
            throw LarderError(.input, "\(place) has one trusted root; name one file", remedy: .trust)
        }
        guard let file = values.first else {
            guard trust.files["root.json"] != nil else {
                throw LarderError(
                    .input,
                    "no trusted root of \(place) is stored: name the root.json that its publisher gave you",
                    remedy: .trust)
            }
            return trust
        }
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try WholeFile.beginning(of: file, TUFLimits().maxRootBytes + 1)
        } catch {
            throw LarderError(
                .input,
                "\(file) cannot be the trusted root of \(place): \(error.reason); name the root.json that its publisher "
                    + "gave you")
        }
        let named = try version(of: bytes, file: file)
        if let stored = trust.files["root.json"],
            let known = try? TUFClient.versionOfTrustedRoot(Array(stored.utf8)), known >= named
        {
            return trust
        }
        trust.files["root.json"] = String(decoding: bytes, as: UTF8.self)
        return trust
    }
}

/// Trusted metadata in the settings of a site.
struct TUFSiteStorage: TUFStorage {
    private(set) var trust: RepositoryTrust
    private let save: (RepositoryTrust) throws(LarderError) -> Void

    /// Larger metadata of targets is fetched again by every update, since the settings of sites are read often. It protects
    /// nothing: the versions that were seen are in the snapshot.
    private static let maxTargetsBytes = 64 * 1024
    private static let essentialNames: Set<String> = ["root.json", "timestamp.json", "snapshot.json"]

    /// - Parameter save: stores a change with the site, if the site is stored already.
    init(_ trust: RepositoryTrust, save: @escaping (RepositoryTrust) throws(LarderError) -> Void) {
        self.trust = trust
        self.save = save
    }

    func read(_ name: String, atMost maxBytes: Int) throws(LarderError) -> TUFClient.Answer {
        guard let text = trust.files[name] else { return .missing }
        return .bytes(Array(text.utf8))
    }

    mutating func apply(_ change: TUFClient.Change) throws(LarderError) {
        switch change {
        case .store(let name, let bytes):
            let isStored = Self.essentialNames.contains(name) || bytes.count <= Self.maxTargetsBytes
            trust.files[name] = isStored ? String(decoding: bytes, as: UTF8.self) : nil
        case .remove(let name):
            trust.files[name] = nil
        }
        try save(trust)
    }
}

/// The targets of a TUF repository as a manifest in Larder's own format.
package struct TUFManifest: Sendable {
    package let manifest: Manifest
    package let bytes: [UInt8]
    /// The metadata that the next update continues from.
    package let trust: RepositoryTrust
    /// The signer for reports: `tuf:` and the beginning of the id of the root's first key.
    package let signer: String

    static let signerPrefix = "tuf:"

    /// Updates the metadata and lists all targets.
    ///
    /// - Parameters:
    ///   - base: the URL of the targets that the user names; nil for the folder beside the metadata.
    ///   - save: stores a change of the trusted metadata.
    /// - Throws: `LarderError` of kind `.refused` if the metadata is not trusted.
    package init(
        _ location: TUFLocation, base: String?, _ trust: RepositoryTrust, _ fetcher: TUFFetcher,
        now: Int64 = SystemClock.secondsSinceEpoch(),
        save: @escaping (RepositoryTrust) throws(LarderError) -> Void
    ) throws(LarderError) {
        var updater = TUFUpdater(
            metadata: location.metadata, storage: TUFSiteStorage(trust, save: save), fetcher: fetcher,
            now: now)
        try updater.refresh()
        let targets = try updater.list()
        guard !targets.isEmpty else {
            throw LarderError(.refused, "\(location.metadata.href): the repository lists no targets")
        }
        let targetBase =
            try base.map { (text) throws(LarderError) in try WebURL.start(text) } ?? location.targets
        var latest = updater.storage.trust
        if !updater.client.usesConsistentSnapshots {
            latest.usesDigestNames = false
        } else if latest.usesDigestNames == nil {
            latest.usesDigestNames = try !Self.hasPlainNames(targets, targetBase, fetcher)
        }
        if latest != updater.storage.trust { try save(latest) }
        self.trust = latest
        signer = "\(Self.signerPrefix)\(updater.client.rootKeyIDs.first?.prefix(16) ?? "")"
        var manifest = try Self.manifest(targets, hasDigestNames: latest.usesDigestNames ?? false)
        if base == nil { manifest.base = targetBase.href }
        self.manifest = manifest
        bytes = Array(manifest.json.utf8)
    }

    /// Whether the server has the targets under their own names, although consistent snapshots only demand names with
    /// digests: a site that serves its app from the folder of the targets has both. Its pages link to the plain names.
    ///
    /// The smallest target decides. If it cannot be fetched, or is another file, the names with digests are used, which the
    /// repository must have.
    private static func hasPlainNames(
        _ targets: [TUFTarget], _ base: WebURL, _ fetcher: TUFFetcher
    ) throws(LarderError) -> Bool {
        guard let smallest = targets.min(by: { $0.file.byteCount < $1.file.byteCount }),
            let reference = smallest.reference(hasDigest: false),
            let url = WebURL("./" + reference, base: base),
            case .bytes(let bytes) = try fetcher.fetch(url, atMost: smallest.file.byteCount)
        else { return false }
        do throws(TUFError) { try smallest.file.require(bytes, path: smallest.path) } catch { return false }
        return true
    }

    /// The bundles of a manifest without a base.
    static func manifest(_ targets: [TUFTarget], hasDigestNames: Bool) throws(LarderError) -> Manifest {
        var bundles: [Bundle] = []
        for target in targets {
            guard target.file.hashes.strongest != nil,
                let reference = target.reference(hasDigest: hasDigestNames)
            else {
                throw LarderError(
                    .refused,
                    "the target \"\(target.path)\" has no SHA-2 digest, or its path leads out of the targets: its publisher "
                        + "must correct it")
            }
            // A colon in the first folder would make the reference an absolute URL.
            let isScheme = reference.utf8.prefix { $0 != UInt8(ascii: "/") }.contains(UInt8(ascii: ":"))
            bundles.append(
                Bundle(
                    reference: isScheme ? "./\(reference)" : reference, digests: target.file.hashes.digests,
                    byteCount: target.file.byteCount))
        }
        return Manifest(.larder, bundles: bundles)
    }
}
