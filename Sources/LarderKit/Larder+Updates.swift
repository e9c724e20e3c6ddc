internal import Archives
internal import Bundles
public import Check
internal import Digest
internal import Glibc
internal import Prefetch
public import Reports
public import Store
internal import System
internal import Updates
public import Web

/// Options for writing an update file.
public struct UpdateFileOptions: Sendable {
    /// The key that signs the update; nil for an update that only sites without trusted keys accept.
    public var key: ManifestKey?
    /// For folders: the URL at which the files are published. Without it, the update belongs to the site that has the files of
    /// the earlier release.
    public var base: String?
    /// The version of the later release. A receiver refuses an older one.
    public var version: String?
    /// For folders: the version of the earlier release, which a receiver names if it does not have its files. Between
    /// snapshots, it is that of the earlier one's manifest.
    public var fromVersion: String?
    /// When the update is made; nil for now. Without versions, a receiver refuses an older update.
    public var created: Timestamp?
    /// Replaces an existing file.
    public var replacesFile = false
    /// Receives the progress now and then, on a thread of the call.
    public var progress: (@Sendable (WorkProgress) -> Void)?

    /// Creates the default options.
    public init() {}
}

/// An update file that was written.
public struct UpdateFileReport: Sendable, Equatable {
    /// The path of the file.
    public let file: String
    /// The name of the site; nil for folders.
    public let site: String?
    /// The earlier snapshot; nil for folders.
    public let from: SnapshotName?
    /// The later snapshot; nil for folders.
    public let to: SnapshotName?
    /// The number of files in the later release.
    public var files: Int { counts.files }
    /// The number of files that are new or changed.
    public var changed: Int { counts.changed }
    /// The number of changed files that are stored as differences from an earlier one.
    public var patched: Int { counts.patched }
    /// The size of all files of the later release.
    public var releaseByteCount: Int64 { counts.releaseByteCount }
    /// The size of the files that are new or changed.
    public var changedByteCount: Int64 { counts.changedByteCount }
    /// The size of the update file.
    public var byteCount: Int64 { counts.byteCount }
    /// The key that signed the update; nil if it is not signed.
    public let signer: ManifestPublicKey?
    /// Files or URLs that could not be included.
    public let skipped: [ManifestReport.Skipped]
    private let counts: UpdateWriter.Report

    init(
        file: String, site: String? = nil, from: SnapshotName? = nil, to: SnapshotName? = nil,
        _ counts: UpdateWriter.Report, signer: ManifestPublicKey?, skipped: [ManifestReport.Skipped]
    ) {
        (self.file, self.site, self.from, self.to) = (file, site, from, to)
        (self.counts, self.signer, self.skipped) = (counts, signer, skipped)
    }

    /// The report as JSON.
    public var json: String {
        let members: JSONMembers = [
            "file": file, "site": site, "from": from?.number, "to": to?.number, "files": files,
            "changed": changed, "patched": patched, "releaseBytes": releaseByteCount,
            "changedBytes": changedByteCount, "bytes": byteCount, "signer": signer?.text, "skipped": skipped,
        ]
        return members.text()
    }
}

extension Larder {
    /// Writes an update file between two releases in folders, which `preload` applies on machines without a network.
    ///
    /// The file contains the manifest of the later release, and for each changed file a zstd frame, usually one that refers to
    /// the most similar file of the earlier release.
    ///
    /// ```swift
    /// let report = try await larder.writeUpdate(fromFolder: "dist-1", toFolder: "dist-2", file: "update.tar")
    /// print(report.byteCount, "in place of", report.releaseByteCount)
    /// ```
    ///
    /// - Throws: `LarderError` of kind `.input` for a folder that cannot be read or has no files, and if the file exists;
    ///   `.machine` if it cannot be written; `.interrupted`.
    public func writeUpdate(
        fromFolder old: String, toFolder new: String, file: String,
        options: UpdateFileOptions = UpdateFileOptions()
    ) async throws(LarderError) -> UpdateFileReport {
        try options.validate(file)
        let interruption = Interruption()
        return try await Self.runOnThread("larder-update", onCancel: interruption.request) {
            () throws(LarderError) in
            // Without an earlier release, the update contains all files.
            let before = try FolderRelease(old, without: file, mayBeEmpty: true, interruption)
            let after = try FolderRelease(new, without: file, mayBeEmpty: false, interruption)
            var manifest = Manifest()
            manifest.base = options.base
            // Several sites may share an origin.
            manifest.site = options.base.flatMap { WebURL("./", base: WebURL($0)) }?.href
            manifest.bundles = after.items.compactMap(\.bundle)
            let counts = try options.write(before.items, after.items, manifest, to: file, interruption)
            return UpdateFileReport(
                file: file, counts, signer: options.key?.publicKey, skipped: after.skipped)
        }
    }

    /// Writes an update file between two snapshots of a site. The snapshots are chosen as by `difference`. Responses that were
    /// fetched with credentials, and those to requests other than GET, are left out.
    ///
    /// - Throws: `LarderError` as `writeUpdate(fromFolder:toFolder:file:options:)`; `.input` if there is no such site or
    ///   snapshot.
    public func writeUpdate(
        ofSite site: String, from first: SnapshotName? = nil, to second: SnapshotName? = nil, file: String,
        options: UpdateFileOptions = UpdateFileOptions()
    ) async throws(LarderError) -> UpdateFileReport {
        guard options.base == nil else {
            throw LarderError(.input, "the files of a site have URLs already; leave out the base")
        }
        try options.validate(file)
        let (folder, interruption) = (folder, Interruption())
        return try await Self.runOnThread("larder-update", onCancel: interruption.request) {
            () throws(LarderError) in
            let reader = try mapStoreError { () throws(StoreError) in try StoreReader(folder) }
            let releases = try mapStoreError {
                () throws(StoreError) -> (site: Site, before: SnapshotRelease, after: SnapshotRelease) in
                let site = try SiteName.site(site, in: reader.sites(), acceptsOrigin: true)
                let (from, to) = try site.snapshotsToCompare(from: first, to: second)
                return (
                    site, try SnapshotRelease(of: site, from, reader),
                    try SnapshotRelease(of: site, to, reader)
                )
            }
            var manifest = Manifest()
            manifest.site = releases.site.name
            manifest.start = releases.site.start
            manifest.bundles = releases.after.items.compactMap(\.bundle)
            var options = options
            options.fromVersion = options.fromVersion ?? releases.before.version
            let counts = try options.write(
                releases.before.items, releases.after.items, manifest, to: file, interruption)
            return UpdateFileReport(
                file: file, site: releases.site.name, from: releases.before.name, to: releases.after.name,
                counts,
                signer: options.key?.publicKey, skipped: releases.after.skipped)
        }
    }
}

extension UpdateFileOptions {
    fileprivate func validate(_ file: String) throws(LarderError) {
        if let base, WebURL(base)?.isHTTP != true {
            throw LarderError(.input, "the base \(base) is not a URL; give one with http:// or https://")
        }
        for version in [version, fromVersion].compactMap(\.self) where !UpdateLimits.isVersion(version) {
            throw LarderError(
                .input,
                "the version \(version.visible) cannot be used; give one of 1 to \(UpdateLimits.maxVersionBytes) printable "
                    + "bytes")
        }
        var status = stat()
        guard stat(file, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw LarderError(.input, "\(file) is not a regular file; name another file")
        }
        guard replacesFile else {
            throw LarderError(
                .input, "\(file) already exists; name another file, or replace this one", remedy: .replaceFile
            )
        }
    }

    /// Writes the update file with the manifest, which gets the version and the time.
    fileprivate func write(
        _ old: [UpdateItem], _ new: [UpdateItem], _ manifest: Manifest, to file: String,
        _ interruption: Interruption
    ) throws(LarderError) -> UpdateWriter.Report {
        guard !manifest.bundles.isEmpty else {
            throw LarderError(.input, "the later release has no files; name the build's output folder")
        }
        let time = created?.secondsSinceEpoch ?? SystemClock.secondsSinceEpoch()
        var manifest = manifest
        manifest.version = version
        manifest.created = HTTPDate(secondsSinceEpoch: time)
        // A receiver may trust it on first use.
        manifest.key = key?.key.publicKey
        var bytes = Array(manifest.json.utf8)
        if let key {
            // The receiver stores the manifest without the list, and verifies it again.
            let comment = MinisignSignature.trustedComment(timestamp: time, file: nil)
            do throws(ManifestError) {
                bytes = try ManifestSignature.adding(key.key.sign(bytes, trustedComment: comment), to: bytes)
            } catch {
                throw LarderError(error)
            }
        }
        var writer = UpdateWriter(
            old, new, manifest: bytes, created: HTTPDate(secondsSinceEpoch: time), interruption)
        writer.fromVersion = fromVersion
        if let progress {
            writer.progress = { done, all in progress(WorkProgress(.bundles, done: done, of: all)) }
        }
        let ready = writer
        return try mapUpdateError { () throws(UpdateError) -> UpdateWriter.Report in
            try ready.write(to: file) { signature(of: $0, time) }
        }
    }

    private func signature(of list: [UInt8], _ time: Int64) -> String? {
        let comment = MinisignSignature.trustedComment(timestamp: time, file: "update.json")
        return key?.key.sign(list, trustedComment: comment).text
    }
}

extension UpdateItem {
    /// The bundle for the manifest; nil for a response without a body.
    fileprivate var bundle: Bundle? {
        body.map { Bundle(reference: url, digests: [$0.sha256], byteCount: $0.byteCount) }
    }
}

// MARK: - Releases

/// The files of a folder.
private struct FolderRelease {
    private(set) var items: [UpdateItem] = []
    let skipped: [ManifestReport.Skipped]

    init(
        _ path: String, without file: String, mayBeEmpty: Bool, _ interruption: Interruption
    ) throws(LarderError) {
        let files = try FolderFiles(path, without: [file], includesHidden: false)
        guard mayBeEmpty || !files.paths.isEmpty else {
            throw LarderError(.input, "\(path) has no files; name the build's output folder")
        }
        let found = ParallelWork.share(files.paths.count, named: "larder-files", interruption) { next, give in
            while let number = next() {
                let content = BodyContent.file(path: path + "/" + files.paths[number])
                give(number, Result { () throws(StoreError) in try content.measure() })
            }
        }
        guard !interruption.isRequested else { throw .interrupted }
        var skipped = files.skipped
        for (name, measured) in zip(files.paths, found) {
            switch measured {
            case .success(let (sha256, byteCount)):
                let content = BodyContent.file(path: path + "/" + name)
                var item = UpdateItem(
                    url: PathReference.reference(to: name),
                    body: UpdateList.Blob(byteCount: byteCount, sha256: sha256)
                ) { () throws(StoreError) in content }
                let beginning = try mapStoreError { () throws(StoreError) in
                    try content.beginning(Self.sniffedBytes)
                }
                let url = WebURL(item.url, base: WebURL("http://folder.invalid/")) ?? .blank
                item.fields.append(
                    "Content-Type", FileTypes.type(of: url, file: name, beginning: beginning))
                item.isPage = item.fields.contentType?.essence == "text/html"
                items.append(item)
            case .failure(let failure): skipped.append(.init(name: name.visible, reason: failure.detail))
            case nil: break
            }
        }
        self.skipped = skipped
    }

    private static let sniffedBytes = 1024
}

/// The responses of a snapshot.
private struct SnapshotRelease {
    let name: SnapshotName
    /// The version in its manifest; nil if there is none.
    let version: String?
    private(set) var items: [UpdateItem] = []
    private(set) var skipped: [ManifestReport.Skipped] = []

    init(of site: Site, _ snapshot: Snapshot, _ reader: StoreReader) throws(StoreError) {
        name = snapshot.name
        version = try Self.version(of: site, snapshot, reader)
        let base = WebURL(site.name)
        var items: [UpdateItem] = []
        var skipped: [ManifestReport.Skipped] = []
        var last = ""
        try reader.eachVisibleResponse(ofSite: site.id, asOf: snapshot.id) { row in
            let response = row.response
            // Of several variants of a response, the first is the newest.
            guard response.request == .get, response.href != last else { return true }
            last = response.href
            guard !response.flags.contains(.isPrivate), !response.flags.contains(.isCoded) else {
                let reason =
                    response.flags.contains(.isPrivate)
                    ? "it was fetched with a login or cookies" : "its coding could not be removed"
                skipped.append(.init(name: response.href, reason: reason))
                return true
            }
            guard let item = Self.item(of: response, base, reader) else { return true }
            items.append(item)
            return true
        }
        (self.items, self.skipped) = (items, skipped)
    }

    /// Returns the version in the manifest of a snapshot; nil if it has none that an update file can name.
    private static func version(
        of site: Site, _ snapshot: Snapshot, _ reader: StoreReader
    ) throws(StoreError) -> String? {
        guard
            let row = try reader.responses(
                for: site.name, ofSnapshot: snapshot.id, request: .manifest
            ).first,
            let stored = try StoredManifest(row, reader),
            let version = (try? Manifest(stored.bytes, file: stored.place))?.version
        else { return nil }
        return UpdateLimits.isVersion(version) ? version : nil
    }

    /// Returns the item of a response; nil for a response that is not stored on other machines, such as an error.
    private static func item(
        of response: StoredResponse, _ base: WebURL?, _ reader: StoreReader
    ) -> UpdateItem? {
        let isSuccess = response.status == 200 || response.status == 203
        let isKnown = [301, 302, 303, 307, 308, 404, 410].contains(response.status)
        guard isSuccess && response.body != nil || isKnown else { return nil }
        let body = isSuccess ? response.body : nil
        let blob = body.flatMap { body in
            Digest(.sha256, bytes: body.sha256).map { UpdateList.Blob(byteCount: body.byteCount, sha256: $0) }
        }
        var item = UpdateItem(url: reference(to: response.href, base), body: blob) { () throws(StoreError) in
            try body.flatMap { (body) throws(StoreError) in try reader.content(of: body) }
        }
        (item.status, item.isPage) = (response.status, response.role == 0)
        // Another machine stores the body as it is now, and has no use for fields about the connection.
        for field in HTTPFields(block: response.fields.utf8.span).list
        where !omittedFields.contains(field.name) {
            item.fields.append(field.name, field.value)
        }
        return item
    }

    private static let omittedFields: FieldNames = [
        "set-cookie", "content-length", "content-encoding", "transfer-encoding", "connection", "keep-alive",
    ]

    /// The path of a URL on the site's own origin; else the URL.
    private static func reference(to href: String, _ base: WebURL?) -> String {
        guard let url = WebURL(href), url.origin == base?.origin, !url.target.hasPrefix("//") else {
            return href
        }
        return url.target
    }
}
