internal import Archives
internal import Bundles
internal import Check
internal import Digest
internal import Glibc
internal import Markup
internal import Reports
internal import Rollouts
internal import Store
internal import System
internal import Web

/// A folder that is published: its files with their digests, its manifest, and the releases that consist of them.
struct ReleaseFolder {
    /// A file of the folder.
    struct File: Sendable {
        /// The path in the folder.
        let path: String
        let sha256: Digest
        let md5: Digest
        let byteCount: Int
        let mediaType: String
        /// The URL under which the store has it.
        let url: String
    }

    /// The ID: the first path segment of the files' URLs. It is a digest of everything that is stored below it, so that no
    /// other release changes the files of this one. It is equal for equal files that are signed by the same key.
    let id: String
    let files: [File]
    /// One release for each platform.
    let releases: [Release]
    private let folder: String
    private let app: AppName
    /// The manifest of all files, signed if a key was given.
    private let manifest: [UInt8]
    /// The zip file of all files; nil for an export of Expo.
    private let archive: [UInt8]?

    /// The maximum number of files of a release.
    private static let maxFiles = 20_000
    /// The maximum size of a file, and of the zip file of a release. They are read into memory.
    private static let maxFileBytes = 256 * 1024 * 1024
    /// The maximum number of runtime versions.
    private static let maxRuntimeVersions = 20

    var byteCount: Int64 { files.reduce(0) { $0 + Int64($1.byteCount) } }

    /// Reads the folder.
    ///
    /// - Throws: `LarderError` of kind `.input` if it cannot be published as a whole.
    init(
        _ folder: String, _ app: AppName, _ options: PublishOptions, _ interruption: Interruption
    ) throws(LarderError) {
        (self.folder, self.app) = (folder, app)
        let list = try FolderFiles(folder, includesHidden: false)
        if let skipped = list.skipped.first {
            throw LarderError(
                .input,
                "\(folder) cannot be published as a whole: \(skipped.name): \(skipped.reason); remove it or replace it by a file"
            )
        }
        guard (1...Self.maxFiles).contains(list.paths.count) else {
            throw LarderError(
                .input,
                list.paths.isEmpty
                    ? "\(folder) has no files; name the build's output folder"
                    : "\(folder) has \(list.paths.count) files, and a release at most \(Self.maxFiles); name the build's output folder"
            )
        }
        guard options.runtimeVersions.count <= Self.maxRuntimeVersions else {
            throw LarderError(
                .input,
                "a release has at most \(Self.maxRuntimeVersions) runtime versions; publish another one for the rest"
            )
        }
        var bundles: [Bundle] = []
        for path in list.paths {
            options.report(.reading, bundles.count, of: list.paths.count)
            guard !interruption.isRequested else { throw .interrupted }
            bundles.append(
                try mapStoreError { () throws(StoreError) in
                    try Bundle(
                        PathReference.reference(to: path), of: BodyContent.file(path: folder + "/" + path))
                })
        }
        let export = try Self.expoExport(list.paths, in: folder)
        archive =
            export == nil
            ? try Self.archive(list.paths, bundles.map(\.sha256), in: folder, options, interruption) : nil
        // The same manifest for an ID that does not exist yet.
        var identity = DigestStream(.sha256)
        let nameless = try Self.manifest(bundles, app, "", options)
        identity.update(nameless.span)
        if let archive {
            let digest = DigestStream.digest(.sha256, of: archive.span).bytes
            identity.update(digest.span)
        }
        let id = String(identity.finish().hex.prefix(16))
        self.id = id
        var files: [File] = []
        for (path, bundle) in zip(list.paths, bundles) {
            let href = app.storedBase + id + "/" + bundle.reference
            guard let url = WebURL(href)?.key,
                let sha256 = bundle.sha256,
                let md5 = bundle.digests.first(where: { $0.algorithm == .md5 }),
                let byteCount = bundle.byteCount
            else {
                throw LarderError(.input, "\(path) cannot be part of a URL; rename the file")
            }
            guard byteCount <= Self.maxFileBytes else {
                throw LarderError(
                    .input,
                    "\(path) has \(byteCount) bytes, and a file of a release at most \(Self.maxFileBytes); remove it from the folder"
                )
            }
            let beginning = try Self.beginning(of: folder + "/" + path)
            // The names of Expo's assets are digests.
            let named = export?.fileExtension(of: path).flatMap { WebURL("\(url.href).\($0)") } ?? url
            files.append(
                File(
                    path: path, sha256: sha256, md5: md5, byteCount: byteCount,
                    mediaType: FileTypes.type(of: named, file: path, beginning: beginning), url: url.href))
        }
        self.files = files
        manifest = try Self.manifest(bundles, app, id, options)
        releases =
            if let export {
                try Self.releases(files, of: export, in: folder, id, options)
            } else {
                try Self.releases(of: app, id, options, manifest, archive)
            }
    }

    /// The zip file of all files.
    private static func archive(
        _ paths: [String], _ digests: [Digest?], in folder: String, _ options: PublishOptions,
        _ interruption: Interruption
    ) throws(LarderError) -> [UInt8] {
        let digests = Dictionary(zip(paths, digests), uniquingKeysWith: { first, _ in first })
        var count = 0
        return try mapArchiveError { () throws(ArchiveError) in
            try FolderZip.bytes(of: paths, in: folder, atMost: maxFileBytes) {
                (path, digest) throws(ArchiveError) in
                guard !interruption.isRequested else {
                    throw ArchiveError(.interrupted, "\(LarderError.interrupted)")
                }
                guard digest == digests[path] else {
                    throw ArchiveError(.input, changedText(path))
                }
                count += 1
                options.report(.packing, count, of: paths.count)
            }
        }
    }

    private static func changedText(_ path: String) -> String {
        "\(path) changed while it was read, and nothing was published; publish the folder when the build has ended"
    }

    private static func beginning(of path: String) throws(LarderError) -> [UInt8] {
        do throws(SystemError) {
            return try WholeFile.beginning(of: path, 1024)
        } catch {
            throw LarderError(error)
        }
    }

    /// Writes the manifest. It has no time of creation, so that clients accept it again after a roll-back. For the same files and
    /// key it is the same text.
    private static func manifest(
        _ bundles: [Bundle], _ app: AppName, _ id: String, _ options: PublishOptions
    ) throws(LarderError) -> [UInt8] {
        var manifest = Manifest()
        manifest.bundles = bundles
        var format = ManifestOptions()
        format.base = UpdatePaths.files(app.text, id)
        var report = ManifestReport(manifest, skipped: [], format)
        if let key = options.key { report = try report.signed(by: key, .inside, at: 0) }
        return Array(report.text.utf8)
    }

    /// The releases of an export of Expo: one for each platform.
    private static func releases(
        _ files: [File], of export: ExpoExport, in folder: String, _ id: String, _ options: PublishOptions
    ) throws(LarderError) -> [Release] {
        guard !options.runtimeVersions.isEmpty else {
            throw LarderError(
                .input,
                "an update for Expo's client needs the runtime version of the app (\"runtimeVersion\" in app.json); name it",
                remedy: .runtimeVersion)
        }
        let byPath = Dictionary(files.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
        var releases: [Release] = []
        do throws(ExpoExportError) {
            for platform in export.files.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
                releases.append(
                    try export.release(
                        for: platform, runtimeVersions: Set(options.runtimeVersions),
                        metadata: metadata(id, options)
                    ) { path in
                        byPath[path].map { file in
                            ExpoExport.Content(
                                sha256: file.sha256, md5: file.md5.hex, url: file.url,
                                mediaType: path == export.files[platform]?.launch
                                    ? "application/javascript" : file.mediaType)
                        }
                    })
            }
        } catch {
            throw LarderError(.input, "\(folder): \(error)")
        }
        return releases
    }

    /// The release for all platforms. Its devices read the manifest, which lists the files, or the zip file.
    private static func releases(
        of app: AppName, _ id: String, _ options: PublishOptions, _ manifest: [UInt8], _ archive: [UInt8]?
    ) throws(LarderError) -> [Release] {
        func file(_ key: String, _ url: String, _ bytes: [UInt8], _ mediaType: String) -> ReleaseFile? {
            ReleaseFile(
                key: key, url: url, sha256: DigestStream.digest(.sha256, of: bytes.span),
                mediaType: mediaType, byteCount: Int64(bytes.count))
        }
        guard
            let launch = file(
                AppName.manifestName, app.manifest(ofRelease: id), manifest, "application/json")
        else { return [] }
        let zip = archive.flatMap {
            file(AppName.archiveName, app.archive(ofRelease: id), $0, "application/zip")
        }
        let versions = options.runtimeVersions.isEmpty ? [""] : options.runtimeVersions
        return [
            Release(
                platform: .any, runtimeVersions: Set(versions), launch: launch, archive: zip,
                metadata: metadata(id, options))
        ]
    }

    private static func metadata(_ id: String, _ options: PublishOptions) -> [String: String] {
        [Release.idKey: id, "channel": options.channel]
    }

    /// The list of files that `npx expo export` writes; nil if the folder has none.
    private static func expoExport(_ paths: [String], in folder: String) throws(LarderError) -> ExpoExport? {
        guard paths.contains(ExpoExport.fileName) else { return nil }
        func read(_ name: String) throws(LarderError) -> [UInt8] {
            do throws(SystemError) {
                return try WholeFile.read(folder + "/" + name, atMost: ExpoExport.maxBytes)
            } catch {
                throw LarderError(error)
            }
        }
        let bytes = try read(ExpoExport.fileName)
        // Other tools use this name, too.
        guard let json = try? JSONValue.parse(bytes.span), json["fileMetadata"] != nil else { return nil }
        let configuration =
            paths.contains(ExpoExport.configurationName) ? try read(ExpoExport.configurationName) : nil
        do throws(ExpoExportError) {
            guard configuration.map({ ExpoExport.configuration($0) != nil }) ?? true else {
                throw .noConfiguration
            }
            return try ExpoExport(bytes)
        } catch {
            throw LarderError(.input, "\(folder): \(error)")
        }
    }

    // MARK: - Storing

    /// Stores the files and the manifest as a snapshot of the app's site, and makes sure that the store has them. Does nothing if
    /// it has them already.
    func store(
        by writer: StoreWriter, _ options: PublishOptions, _ interruption: Interruption
    ) throws(LarderError) {
        let store = writer.folder
        guard try firstMissing(in: store, options) != nil else { return }
        let now = SystemClock.secondsSinceEpoch()
        let snapshot = try beginSnapshot(by: writer, at: now, interruption)
        var failure: LarderError?
        try mapStoreError { () throws(StoreError) in
            do throws(StoreError) {
                var batch: [NewResponse] = []
                var openByteCount = 0
                for (index, file) in files.enumerated() {
                    options.report(.storing, index, of: files.count)
                    guard let bytes = content(of: file, &failure, interruption) else { break }
                    batch.append(try response(file.url, file.mediaType, bytes, in: store, at: now))
                    openByteCount += bytes.count
                    guard openByteCount > Self.maxOpenBytes || batch.count == Self.maxOpenFiles else {
                        continue
                    }
                    try Self.add(batch, to: snapshot, by: writer)
                    (batch, openByteCount) = ([], 0)
                }
                if failure == nil {
                    for added in added {
                        batch.append(
                            try response(added.url, added.mediaType, added.bytes, in: store, at: now))
                    }
                    try Self.add(batch, to: snapshot, by: writer)
                }
                try writer.end(snapshot, failure == nil ? .publish(now: now) : .forget)
            } catch {
                // The first error is the one that matters.
                _ = try? writer.end(snapshot, .forget)
                throw error
            }
        }
        if let failure { throw failure }
        guard let missing = try firstMissing(in: store, options) else { return }
        throw LarderError(
            .machine, "\(missing) is not stored as it was read, and nothing was published; check the store",
            remedy: .repair)
    }

    /// Begins a snapshot of the app's site. Waits while another process publishes the same app.
    private func beginSnapshot(
        by writer: StoreWriter, at now: Int64, _ interruption: Interruption
    ) throws(LarderError) -> OpenSnapshot {
        var waited: UInt32 = 0
        while true {
            do throws(StoreError) {
                return try writer.begin(
                    site: app.site, start: [], now: now, importing: [Folder.resolved(folder)])
            } catch  where error.reason == .busy && waited < Self.maxMicrosecondsToWait {
                guard !interruption.isRequested else { throw .interrupted }
                usleep(Self.microsecondsBetweenAttempts)
                waited += Self.microsecondsBetweenAttempts
            } catch  where error.reason == .busy {
                throw LarderError(
                    .machine,
                    "another larder publish of \(app.text) is running, and nothing was published; try again when it has ended"
                )
            } catch {
                throw LarderError(error)
            }
        }
    }

    private static let maxMicrosecondsToWait: UInt32 = 60_000_000
    private static let microsecondsBetweenAttempts: UInt32 = 50_000

    /// The files that are not in the folder.
    private var added: [(url: String, mediaType: String, bytes: [UInt8])] {
        [(app.manifest(ofRelease: id), "application/json", manifest)]
            + (archive.map { [(app.archive(ofRelease: id), "application/zip", $0)] } ?? [])
    }

    /// Adds files and commits them. They have no links: a device fetches all files of a release, whatever these link to.
    private static func add(
        _ responses: [NewResponse], to snapshot: OpenSnapshot, by writer: StoreWriter
    ) throws(StoreError) {
        try writer.add(
            responses, links: responses.map { NewLinks(from: .init(href: $0.href)) }, to: snapshot)
    }

    /// The size and number of files beyond which they are committed.
    private static let (maxOpenBytes, maxOpenFiles) = (64 * 1024 * 1024, 1000)

    /// Reads a file again; nil if it cannot be published.
    private func content(
        of file: File, _ failure: inout LarderError?, _ interruption: Interruption
    ) -> [UInt8]? {
        guard !interruption.isRequested else {
            failure = .interrupted
            return nil
        }
        do throws(SystemError) {
            let bytes = try WholeFile.read(folder + "/" + file.path, atMost: Self.maxFileBytes)
            if DigestStream.digest(.sha256, of: bytes.span) == file.sha256 { return bytes }
            failure = LarderError(.input, Self.changedText(file.path))
        } catch {
            failure = LarderError(error)
        }
        return nil
    }

    private func response(
        _ url: String, _ type: String, _ bytes: [UInt8], in store: StoreFolder, at now: Int64
    ) throws(StoreError) -> NewResponse {
        let fields: HTTPFields = ["Content-Type": type]
        var new = NewResponse(
            href: url, referrer: nil, status: 200, role: 1, fields: fields.block, fetched: now,
            body: .new(
                try NewBody(
                    .bytes(bytes), form: BodyFormat.opaque.name, links: LinkTable().encoded(), in: store)))
        new.type = type
        return new
    }

    /// The URL of the first file that the store does not have with the same digest; nil if it has all files.
    private func firstMissing(
        in store: StoreFolder, _ options: PublishOptions
    ) throws(LarderError) -> String? {
        let digests =
            files.map { ($0.url, $0.sha256) }
            + added.map { ($0.url, DigestStream.digest(.sha256, of: $0.bytes.span)) }
        return try mapStoreError { () throws(StoreError) -> String? in
            let reader = try StoreReader(store)
            for (index, (url, digest)) in digests.enumerated() {
                options.report(.verifying, min(index, files.count), of: files.count)
                guard let body = try reader.response(for: url)?.body, body.sha256 == digest.bytes,
                    try reader.bodies.isStored(body)
                else { return url }
            }
            return nil
        }
    }
}

extension PublishOptions {
    fileprivate func report(_ phase: Phase, _ done: Int, of total: Int) {
        progress?(phase, WorkProgress(.files, done: done, of: total))
    }
}

extension Bundle {
    fileprivate var sha256: Digest? { digests.first { $0.algorithm == .sha256 } }
}
