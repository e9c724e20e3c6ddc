internal import Bundles
internal import Check
internal import Codings
internal import Crawl
internal import Digest
internal import Store
internal import System
internal import Updates
internal import Web

/// Makes the bodies of an update from its frames and the stored bodies that they refer to. Nothing is written to the store's
/// database: either all bodies are verified, or the update is refused as a whole.
struct UpdateUnpacking {
    private let update: UpdateReader
    private let folder: StoreFolder
    private let interruption: Interruption

    init(_ update: UpdateReader, in folder: StoreFolder, _ interruption: Interruption) {
        (self.update, self.folder, self.interruption) = (update, folder, interruption)
    }

    /// The unpacked update.
    struct Outcome {
        /// The changed responses.
        var responses = SuppliedResponses([:])
        /// The URLs of changed responses that are not bundles, such as redirects.
        var otherURLs: [WebURL] = []
        /// The size of the bodies that were made.
        var byteCount = 0
        /// Whether the machine lacks a file that the update is made from.
        fileprivate var lacksBase = false
        /// The reasons why the update is refused; empty if it is not.
        var problems: [PreloadReport.Problem] = []
        /// The message of the refusal, which names the update file; nil if it is not refused.
        var refusal: String?
        /// The folder with the bodies, until the crawl has moved them into the store.
        fileprivate(set) var scratch: ScratchFolder?
    }

    /// The stored bodies of a site.
    private struct Bodies {
        /// Nil if there is no store.
        let reader: StoreReader?
        let site: String

        /// Returns the stored body that a URL of the site has in any snapshot; nil if there is none with these bytes.
        func find(_ blob: UpdateList.Blob, at url: WebURL) throws(StoreError) -> BodyContent? {
            guard let reader else { return nil }
            for version in try reader.versions(of: url.key.href) where version.site == site {
                guard let body = version.response.body, body.sha256 == blob.sha256.bytes,
                    body.byteCount == blob.byteCount, let content = try reader.content(of: body)
                else { continue }
                if try body.isIntact(content) { return content }
            }
            return nil
        }
    }

    /// Unpacks the files of the bundles that are not stored, into a temporary folder.
    ///
    /// - Parameters:
    ///   - steps: the step for each bundle of the manifest, in its order.
    ///   - site: the name of the site, whose bodies the update refers to.
    ///   - version: the version of the site's live release, for messages; nil if there is none.
    ///   - addsStartPage: whether to make a response for the URL of the site if the release has none.
    func unpack(
        for verifier: ManifestVerifier, _ steps: PreloadPlan, ofSite site: WebURL, version: String?,
        addsStartPage: Bool
    ) throws(LarderError) -> Outcome {
        try mapUpdateError { () throws(UpdateError) in try update.verifyFrames(interruption) }
        // The bundles that are still to be unpacked.
        var missing: [String: WebURL] = [:]
        var bundles: [String: Bundle] = [:]
        for ((url, bundle), step) in zip(verifier.bundlesWithURLs, steps.steps) {
            bundles[url.key.href] = bundle
            if case .fetch = step { missing[url.key.href] = url }
        }
        var outcome = Outcome()
        let bodies = try bodies(of: site.href)
        let scratch: ScratchFolder
        do throws(SystemError) {
            // In the store's file system, so that large bodies can be moved.
            scratch = try ScratchFolder(beside: folder.updates, mode: 0o700)
        } catch {
            throw LarderError(error)
        }
        outcome.scratch = scratch
        var responses: [String: SuppliedResponses.Response] = [:]
        // The unpacked files, and the URLs of stored bodies, which later files may be equal to.
        var unpackedPaths: [UpdateList.Blob: String] = [:]
        var storedURLs: [UpdateList.Blob: WebURL] = [:]
        try findFaults(for: verifier, missing, bodies, &outcome)
        guard outcome.problems.isEmpty else { return addRefusal(to: outcome, site.href, version) }
        for (index, file) in update.list.files.enumerated() {
            guard !interruption.isRequested else { throw .interrupted }
            let url = try verifier.url(of: file.url)
            let href = url.key.href
            guard let body = file.body else {
                outcome.otherURLs.append(url.key)
                responses[href] = .init(
                    status: file.status, fields: file.fields, body: nil, isPage: file.isPage)
                continue
            }
            guard let bundle = bundles[href] else {
                outcome.add(url, "the manifest does not list it")
                continue
            }
            if case .mismatch(let mismatch)? = bundle.finding(
                knowing: [body.sha256], byteCount: body.byteCount)?.verdict
            {
                outcome.add(url, "the manifest lists another digest: \(mismatch)")
                continue
            }
            guard missing.removeValue(forKey: href) != nil else {
                storedURLs[body] = storedURLs[body] ?? url
                continue
            }
            let path = "\(scratch.path)/\(index)"
            guard let source = try source(of: file, verifier, bodies, unpackedPaths, storedURLs) else {
                outcome.lacksBase = true
                let base =
                    file.base.map { "\($0.url) with the SHA-256 \($0.blob.sha256.hex)" } ?? "an equal file"
                outcome.add(url, "it is made from \(base), which is not stored")
                continue
            }
            try mapUpdateError { () throws(UpdateError) in
                switch source {
                case .frame(let base): try update.unpack(index, base: base, to: path)
                case .copy(let content): try content.copy(to: path)
                }
            }
            unpackedPaths[body] = path
            outcome.byteCount += body.byteCount
            responses[href] = .init(
                status: file.status, fields: file.fields, body: .file(path: path), isPage: file.isPage)
        }
        for url in missing.values.sorted(by: { $0.href < $1.href }) {
            outcome.lacksBase = true
            outcome.add(url, "it is neither stored nor in the update")
        }
        if outcome.problems.isEmpty, addsStartPage, bundles[site.key.href] == nil,
            responses[site.key.href] == nil,
            let page = try startPage(of: site.key, verifier, responses, bodies, scratch)
        {
            responses[site.key.href] = page
            outcome.otherURLs.append(site.key)
        }
        outcome.responses = SuppliedResponses(responses)
        return addRefusal(to: outcome, site.href, version)
    }

    /// Makes the response at the URL of a site, as a web server does: with the body of `index.html`, or if the release has no
    /// such file, a redirect to its first page. Returns nil if the stored response already has that body, or if the release
    /// has no page.
    private func startPage(
        of site: WebURL, _ verifier: ManifestVerifier, _ responses: [String: SuppliedResponses.Response],
        _ bodies: Bodies, _ scratch: ScratchFolder
    ) throws(LarderError) -> SuppliedResponses.Response? {
        let pages = verifier.bundleURLs.filter { url in
            [".html", ".htm", ".xhtml"].contains { url.path.lowercased().hasSuffix($0) }
        }
        let index = WebURL("index.html", base: site)?.key
        guard let index, pages.contains(where: { $0.key == index }) else {
            let fields = pages.first.map { (page: WebURL) -> HTTPFields in ["Location": page.href] }
            return fields.map { .init(status: 302, fields: $0, body: nil, isPage: true) }
        }
        var page = responses[index.href]
        if page == nil, let reader = bodies.reader {
            page = try mapStoreError { () throws(StoreError) -> SuppliedResponses.Response? in
                guard let stored = try reader.response(for: index.href), let body = stored.body,
                    try reader.response(for: site.href)?.body?.sha256 != body.sha256
                else { return nil }
                return .init(
                    status: stored.status, fields: HTTPFields(block: stored.fields.utf8.span),
                    body: try reader.content(of: body), isPage: true)
            }
        }
        guard var page, let content = page.body else { return nil }
        // A copy: the crawl moves the file of each response into the store.
        let path = "\(scratch.path)/start"
        try mapUpdateError { () throws(UpdateError) in try content.copy(to: path) }
        (page.body, page.isPage) = (.file(path: path), true)
        return page
    }

    /// Adds the message of a refusal if there are problems.
    private func addRefusal(to outcome: Outcome, _ site: String, _ version: String?) -> Outcome {
        guard let first = outcome.problems.first else { return outcome }
        var outcome = outcome
        if outcome.lacksBase {
            outcome.refusal =
                "the update file \(update.path) is refused: " + needText(site, version)
            return outcome
        }
        let others = outcome.problems.count > 1 ? " and \(outcome.problems.count - 1) more" : ""
        outcome.refusal =
            "the update file \(update.path) is refused: it does not fit the stored files of \(site): \(first.url)\(others): "
            + "\(first.reason); ask its publisher for another update"
        return outcome
    }

    /// The release that the update needs and the one that is stored, as far as they are known, and what to do.
    private func needText(_ site: String, _ version: String?) -> String {
        let stored = version.map { "this machine has \($0)" } ?? "this machine does not have it"
        if let needed = update.list.fromVersion, needed != version {
            return
                "it needs release \(needed) of \(site), and \(stored): apply the earlier update first, or preload the whole "
                + "release"
        }
        let has = version.map { ", which has \($0)" } ?? ""
        return
            "it needs files of \(site) that are not stored on this machine\(has): apply the earlier updates first, or "
            + "preload the whole release"
    }

    /// Finds files of other sites, and bases that are not stored, before anything is unpacked. An update may have larger bodies
    /// if it lists larger bases (`UpdateLimits`), so these must exist.
    private func findFaults(
        for verifier: ManifestVerifier, _ missing: [String: WebURL], _ bodies: Bodies,
        _ outcome: inout Outcome
    ) throws(LarderError) {
        let owners = try mapStoreError { () throws(StoreError) in
            try SiteOwners(bodies.reader, besides: bodies.site)
        }
        for file in update.list.files {
            let url = try verifier.url(of: file.url)
            if let owner = try mapStoreError({ () throws(StoreError) in try owners.owner(of: url, file.body) }
            ) {
                outcome.add(url, "it belongs to the stored site \(owner)")
                continue
            }
            guard missing[url.key.href] != nil, let base = file.base else { continue }
            let baseURL = try verifier.url(of: base.url)
            let isStored = try mapStoreError { () throws(StoreError) in
                try bodies.find(base.blob, at: baseURL) != nil
            }
            if !isStored {
                outcome.lacksBase = true
                outcome.add(
                    url,
                    "it is made from \(base.url) with the SHA-256 \(base.blob.sha256.hex), which is not stored"
                )
            }
        }
    }

    /// The stored bodies of a site. Creates the folder of the store if it does not exist.
    private func bodies(of site: String) throws(LarderError) -> Bodies {
        try mapStoreError { () throws(StoreError) in
            try folder.create()
            do throws(StoreError) {
                return Bodies(reader: try StoreReader(folder), site: site)
            } catch  where error.reason == .missing {
                return Bodies(reader: nil, site: site)
            }
        }
    }

    /// The bytes from which a body is made.
    private enum Source {
        /// The frame of the file in the update; `base` if it refers to another body.
        case frame(base: FrameBase?)
        /// An equal body.
        case copy(BodyContent)
    }

    /// Finds the stored or unpacked bytes from which a body is made; nil if there are none.
    private func source(
        of file: UpdateList.File, _ verifier: ManifestVerifier, _ bodies: Bodies,
        _ unpackedPaths: [UpdateList.Blob: String], _ storedURLs: [UpdateList.Blob: WebURL]
    ) throws(LarderError) -> Source? {
        guard let base = file.base else {
            if file.frame != nil { return .frame(base: nil) }
            guard let body = file.body else { return nil }
            if let path = unpackedPaths[body] { return .copy(.file(path: path)) }
            guard let url = storedURLs[body] else { return nil }
            return try mapStoreError { () throws(StoreError) in
                try bodies.find(body, at: url).map { .copy($0) }
            }
        }
        let url = try verifier.url(of: base.url)
        return try mapStoreError { () throws(StoreError) -> Source? in
            guard let content = try bodies.find(base.blob, at: url) else { return nil }
            guard file.frame != nil else { return .copy(content) }
            // The size was limited when the list was read.
            let frameBase = FrameBase(byteCount: base.blob.byteCount)
            try content.eachPiece { frameBase.append($0) }
            return frameBase.isFull ? .frame(base: frameBase) : nil
        }
    }
}

extension UpdateUnpacking.Outcome {
    fileprivate mutating func add(_ url: WebURL, _ reason: String) {
        problems.append(PreloadReport.Problem(url: url.href, reason: reason, isRequired: true))
    }
}
