public import Store
package import Web

/// The result of an export.
public struct ExportReport: Sendable, Equatable {
    public let site: String
    /// The exported snapshot; nil for the live snapshot with its overlay.
    public let snapshot: SnapshotName?
    /// The format of the archive.
    public let format: ArchiveFormat
    /// The files that were written.
    public internal(set) var files: [File] = []
    /// For a split WARC: files of an earlier, longer export under the same name, which were removed.
    public internal(set) var removedFiles: [String] = []
    /// The number of exported responses.
    public internal(set) var responses = 0
    /// The number of pages among them.
    public internal(set) var pages = 0
    /// For one page, if the site was named and not the page: the number of its other pages.
    public internal(set) var otherPages = 0
    /// The number of pages that were written as frozen copies, without their scripts.
    public internal(set) var frozenPages = 0
    /// The number of pages that the mirror serves as frozen copies, and that were written with their scripts, as
    /// the server sent them.
    public internal(set) var pagesWithScripts = 0
    /// The total size of the bodies.
    public internal(set) var byteCount: Int64 = 0
    /// The number of responses that were left out because they were fetched with credentials.
    public internal(set) var leftOutPrivate = 0
    /// The number of header fields that were left out because they set cookies, which belong to one user.
    public internal(set) var leftOutCookies = 0
    /// The number of responses that the patterns leave out.
    public internal(set) var leftOutByPattern = 0
    /// The number of responses that the format cannot contain, such as responses to POST in a folder. Those in `missing` are
    /// counted there.
    public internal(set) var leftOutByFormat = 0
    /// The number of redirects among them. In files, links go to the targets of redirects.
    public internal(set) var leftOutRedirects = 0
    /// The number of responses with status 404 or 410 among them that are not in `missing`.
    public internal(set) var leftOutNotFound = 0
    /// URLs whose stored bodies are missing or damaged.
    public internal(set) var damaged: [String] = []
    /// URLs that the exported pages need, and that are not stored. Empty for WARC, WACZ and HAR of a whole site.
    public internal(set) var missing: [MissingAsset] = []
    /// For a whole site in its live snapshot: URLs that the export lacks because they could not be fetched.
    public internal(set) var failed: [FailedURL] = []
    /// For files: URLs of pages and scripts that load modules, workers or data, which browsers do not load
    /// from files. They work if a server serves the files.
    public internal(set) var urlsNeedingServer: [String] = []
    /// For one page: assets that are too large for one file.
    public internal(set) var tooLarge: [OversizedAsset] = []
    /// For a program: the shared libraries that it needs on the machine that runs it.
    public internal(set) var libraries: [String] = []
    /// For a screenshot: whether it ends at the maximum height, so that the page most likely continues.
    public internal(set) var isTruncated = false
    /// Whether the file was read back and is correct; nil if that was not requested.
    public internal(set) var isVerified: Bool?
    /// The SHA-256 of the public key of the signature; nil if the file is not signed.
    public internal(set) var signer: String?

    /// A file that was written.
    public struct File: Sendable, Equatable {
        public let path: String
        public let byteCount: Int64
    }

    /// An asset that is not stored.
    public struct MissingAsset: Sendable, Equatable {
        public let url: String
        /// The URL of a page or asset that needs it.
        public let neededBy: String
        /// Whether the server answered 404 or 410: the original site has no such file.
        public internal(set) var isBroken = false

        init(url: String, neededBy: String) { (self.url, self.neededBy) = (url, neededBy) }
    }

    /// A URL that could not be fetched.
    public struct FailedURL: Sendable, Equatable {
        public let url: String
        /// Why it could not be fetched, such as "the server answered 503".
        public let reason: String
    }

    /// An asset that was left out because of its size.
    public struct OversizedAsset: Sendable, Equatable {
        public let url: String
        public let byteCount: Int64
    }

    package init(site: String, snapshot: SnapshotName?, format: ArchiveFormat) {
        self.site = site
        self.snapshot = snapshot
        self.format = format
    }

    /// Records the results of a screenshot or PDF.
    ///
    /// - Parameter missing: URLs that the page requested and that are not stored, each with the URL of the page.
    package mutating func recordRendering(
        _ file: ArchiveFile, missing: [String: String], isVerified: Bool?, isTruncated: Bool
    ) {
        (self.isVerified, self.isTruncated) = (isVerified, isTruncated)
        files = [File(path: file.path, byteCount: file.byteCount)]
        (responses, pages, byteCount) = (1, 1, file.byteCount)
        self.missing = Self.missing(missing)
    }

    /// Counts the other pages of the site, if the export contains its start page only.
    package mutating func countOtherPages(
        _ plan: ExportPlan, _ reader: StoreReader
    ) throws(ArchiveError) {
        guard plan.format.isSinglePage, plan.page == nil else { return }
        var count = 0
        try ArchiveError.storing { () throws(StoreError) in
            try reader.eachVisibleResponse(ofSite: plan.site.id, asOf: plan.snapshot) { row in
                if row.response.role == 0, row.response.request == .get, row.response.body != nil,
                    (200..<300).contains(row.response.status)
                {
                    count += 1
                }
                return true
            }
        }
        otherPages = max(0, count - 1)
    }

    /// Returns the list for a dictionary from missing URLs to the URLs that need them, sorted by URL.
    static func missing(_ urls: [String: String]) -> [MissingAsset] {
        urls.sorted { $0.key < $1.key }.map { MissingAsset(url: $0.key, neededBy: $0.value) }
    }

    /// Whether the archive contains everything that it should, undamaged.
    public var isComplete: Bool { damaged.isEmpty && tooLarge.isEmpty && isVerified != false }

    /// The report as JSON.
    public var json: String { members.text() }
}

extension ExportReport: JSONObject {
    package var members: JSONMembers {
        [
            "site": site, "snapshot": snapshot?.number,
            "overlay": IfAny(snapshot?.isOverlay == true ? true : nil), "format": format.rawValue,
            "files": files.map { ["path": $0.path, "bytes": $0.byteCount] as JSONMembers },
            "removed": removedFiles,
            "responses": responses, "pages": pages, "otherPages": otherPages, "bytes": byteCount,
            "leftOutPrivate": leftOutPrivate,
            "leftOutCookies": leftOutCookies, "leftOutByPattern": leftOutByPattern,
            "leftOutByForm": leftOutByFormat, "leftOutRedirects": leftOutRedirects,
            "leftOutNotFound": leftOutNotFound, "failed": failed, "damaged": damaged,
            "verified": isVerified, "signer": signer, "missing": missing, "wantServer": urlsNeedingServer,
            "tooLarge": tooLarge, "libraries": libraries, "cut": isTruncated, "frozenPages": frozenPages,
            "pagesWithScripts": pagesWithScripts,
        ]
    }
}

extension ExportReport.MissingAsset: JSONObject {
    package var members: JSONMembers { ["url": url, "neededBy": neededBy, "broken": isBroken] }
}

extension ExportReport.FailedURL: JSONObject {
    package var members: JSONMembers { ["url": url, "reason": reason] }
}

extension ExportReport.OversizedAsset: JSONObject {
    package var members: JSONMembers { ["url": url, "bytes": byteCount] }
}

/// The result of an import.
public struct ImportReport: Sendable, Equatable {
    public let site: String
    public let snapshot: Int64
    /// The URL of the first page in the archives; nil if they have none.
    package internal(set) var start: String?
    /// Whether the snapshot is live.
    public internal(set) var isPublished = false
    /// The number of imported responses. Of several responses with the same URL, only the newest counts.
    public internal(set) var responses = 0
    /// The number of pages among them.
    public internal(set) var pages = 0
    /// The number of responses among them that share the body of another one (WARC `revisit`).
    public internal(set) var revisits = 0
    /// The total size of the bodies.
    public internal(set) var byteCount: Int64 = 0
    /// The number of responses that were not imported because another one with the same URL was newer.
    public internal(set) var superseded = 0
    /// The number of records that are not responses, such as metadata of the archive.
    public internal(set) var other = 0
    /// The number of responses that are never stored, by status: server errors, partial responses, and
    /// similar ones.
    public internal(set) var skippedByStatus: [Int: Int] = [:]
    /// The first 1,000 records that were rejected.
    public internal(set) var refused: [Fault] = []
    /// The number of rejected records.
    public internal(set) var refusedCount = 0
    /// The first 1,000 faults that do not prevent an import.
    public internal(set) var doubtful: [Fault] = []
    /// The number of such faults.
    public internal(set) var doubtfulCount = 0
    /// The first 1,000 files that do not belong to a site, such as `.DS_Store`.
    public internal(set) var leftOut: [Fault] = []
    /// The number of such files.
    public internal(set) var leftOutCount = 0
    /// The SHA-256 of the public keys of valid signatures of the archives.
    public internal(set) var signers: [String] = []

    /// A record or file that was not imported, or is doubtful.
    public struct Fault: Sendable, Equatable {
        /// The URL; nil if it is not known.
        public let url: String?
        /// The archive, and the position in it.
        public let place: String
        public let reason: String
        /// The name of the site into which it could be imported.
        public internal(set) var site: String?
    }

    /// The maximum length of each list of faults. Further faults are only counted.
    static let maxReportedFaults = 1000

    init(site: String, snapshot: Int64) {
        self.site = site
        self.snapshot = snapshot
    }

    mutating func add(_ fault: ArchiveFault) {
        let reported = Fault(url: fault.url, place: fault.place, reason: fault.reason, site: fault.site)
        switch fault.severity {
        case .refused:
            refusedCount += 1
            if refused.count < Self.maxReportedFaults { refused.append(reported) }
        case .doubtful:
            doubtfulCount += 1
            if doubtful.count < Self.maxReportedFaults { doubtful.append(reported) }
        case .leftOut:
            leftOutCount += 1
            if leftOut.count < Self.maxReportedFaults { leftOut.append(reported) }
        }
    }

    /// Whether something was rejected because it is too large in relation to its compressed size.
    public var exceedsExpansionLimit: Bool { refused.contains { ArchiveLimits.isExcess($0.reason) } }

    /// Whether nothing was rejected, and the snapshot is live.
    public var isComplete: Bool { refusedCount == 0 && isPublished }

    /// The report as JSON.
    public var json: String { members.text() }
}

extension ImportReport.Fault: JSONObject {
    package var members: JSONMembers { ["url": url, "place": place, "reason": reason] }
}

extension ImportReport: JSONObject {
    package var members: JSONMembers {
        [
            "site": site, "snapshot": snapshot, "live": isPublished, "responses": responses, "pages": pages,
            "revisits": revisits, "bytes": byteCount, "superseded": superseded, "other": other,
            "unkept": skippedByStatus.sorted { $0.key < $1.key }.map {
                ["status": $0.key, "count": $0.value] as JSONMembers
            },
            "refusedCount": refusedCount, "refused": refused, "doubtfulCount": doubtfulCount,
            "doubtful": doubtful, "leftOutCount": leftOutCount, "leftOut": leftOut, "signers": signers,
        ]
    }
}
