package import Web

/// What an export wrote, and what it left out.
public struct ExportReport: Sendable, Equatable {
    public let site: String
    /// As of which visit; nil for what is served, with what servers loaded on top of it.
    public let visit: Int64?
    public let form: ArchiveForm
    public internal(set) var files: [File] = []
    /// Of a WARC in parts: further ones of an earlier export under the same name, which went.
    public internal(set) var removed: [String] = []
    public internal(set) var responses = 0
    /// Of them, pages.
    public internal(set) var pages = 0
    /// Of the bodies.
    public internal(set) var byteCount: Int64 = 0
    /// Responses that were fetched with credentials, and not asked for.
    public internal(set) var leftOutPrivate = 0
    /// Fields that set cookies, of responses that are in it: they are one visitor's, and not asked for.
    public internal(set) var leftOutCookies = 0
    /// What no pattern asked for, or one kept out.
    public internal(set) var leftOutByPattern = 0
    /// What the form has no place for, such as answers to POST in a folder.
    public internal(set) var leftOutByForm = 0
    /// Addresses whose bodies are gone or damaged.
    public internal(set) var damaged: [String] = []
    /// Of one page: what it needs and is not held, by its address. A folder lists that itself.
    public internal(set) var missing: [Miss] = []
    /// Of files: pages and scripts that load modules, workers or data, which browsers keep from files: a server
    /// in front of them shows all of it.
    public internal(set) var wantServer: [String] = []
    /// Of one page: what it needs, and has no room in one file.
    public internal(set) var tooLarge: [Large] = []
    /// Of a picture: it ends at the height that one can have, and the page goes on, most likely.
    public internal(set) var isCut = false
    /// What was written was read back, and is what was held; nil where nobody asked for that.
    public internal(set) var isVerified: Bool?
    /// SHA-256 of the public key with which it is signed; nil where nobody asked for that.
    public internal(set) var signer: String?

    public struct File: Sendable, Equatable {
        public let path: String
        public let byteCount: Int64
    }

    /// An address that is not held.
    public struct Miss: Sendable, Equatable {
        public let url: String
        public let neededBy: String
    }

    /// A body that was left out for its size.
    public struct Large: Sendable, Equatable {
        public let url: String
        public let byteCount: Int64
    }

    package init(site: String, visit: Int64?, form: ArchiveForm) {
        self.site = site
        self.visit = visit
        self.form = form
    }

    /// Of a page that a browser showed.
    package mutating func tell(
        _ file: ArchiveFile, missing: [String: String], isVerified: Bool?, isCut: Bool
    ) {
        (self.isVerified, self.isCut) = (isVerified, isCut)
        files = [File(path: file.path, byteCount: file.byteCount)]
        (responses, pages, byteCount) = (1, 1, file.byteCount)
        self.missing = Self.missing(missing)
    }

    static func missing(_ urls: [String: String]) -> [Miss] {
        urls.sorted { $0.key < $1.key }.map { Miss(url: $0.key, neededBy: $0.value) }
    }

    /// Everything that was asked for is in the archive.
    public var isComplete: Bool { damaged.isEmpty && tooLarge.isEmpty && isVerified != false }

    /// The report for programs.
    public var json: String { members.text() }
}

extension ExportReport: JSONObject {
    package var members: JSONMembers {
        [
            "site": site, "visit": visit, "format": form.rawValue,
            "files": files.map { ["path": $0.path, "bytes": $0.byteCount] as JSONMembers },
            "removed": removed,
            "responses": responses, "pages": pages, "bytes": byteCount, "leftOutPrivate": leftOutPrivate,
            "leftOutCookies": leftOutCookies, "leftOutByPattern": leftOutByPattern,
            "leftOutByForm": leftOutByForm, "damaged": damaged,
            "verified": isVerified, "signer": signer, "missing": missing, "wantServer": wantServer,
            "tooLarge": tooLarge, "cut": isCut,
        ]
    }
}

extension ExportReport.Miss: JSONObject {
    package var members: JSONMembers { ["url": url, "neededBy": neededBy] }
}

extension ExportReport.Large: JSONObject {
    package var members: JSONMembers { ["url": url, "bytes": byteCount] }
}

/// What an import took in, and what it did not.
public struct ImportReport: Sendable, Equatable {
    public let site: String
    public let visit: Int64
    /// From here on readers see the visit.
    public internal(set) var isPublished = false
    /// What the visit has of them: of answers that replace each other, the newest.
    public internal(set) var responses = 0
    /// Of them, pages.
    public internal(set) var pages = 0
    /// Of them, such as have the body of another one.
    public internal(set) var revisits = 0
    /// Of the bodies.
    public internal(set) var byteCount: Int64 = 0
    /// Answers that are not there, as another one at the same address was newer, whichever came first.
    public internal(set) var superseded = 0
    /// What answers no request, such as what archives say of themselves.
    public internal(set) var other = 0
    /// What answers are not kept for: failures of servers, parts, and such, by status.
    public internal(set) var unkept: [Int: Int] = [:]
    public internal(set) var refused: [Fault] = []
    /// More than are listed.
    public internal(set) var refusedCount = 0
    public internal(set) var doubtful: [Fault] = []
    public internal(set) var doubtfulCount = 0
    /// What is none of the site's, such as `.DS_Store`.
    public internal(set) var leftOut: [Fault] = []
    public internal(set) var leftOutCount = 0
    /// SHA-256 of the public keys by which archives are signed, where that holds.
    public internal(set) var signers: [String] = []

    public struct Fault: Sendable, Equatable {
        /// Nil where it is not known.
        public let url: String?
        /// The archive, and where in it.
        public let place: String
        public let reason: String
        /// The site that it would have to be taken as.
        public internal(set) var site: String?
    }

    static let mostFaults = 1000

    init(site: String, visit: Int64) {
        self.site = site
        self.visit = visit
    }

    mutating func add(_ fault: ArchiveFault) {
        let told = Fault(url: fault.url, place: fault.place, reason: fault.reason, site: fault.site)
        switch fault.gravity {
        case .refused:
            refusedCount += 1
            if refused.count < Self.mostFaults { refused.append(told) }
        case .doubtful:
            doubtfulCount += 1
            if doubtful.count < Self.mostFaults { doubtful.append(told) }
        case .leftOut:
            leftOutCount += 1
            if leftOut.count < Self.mostFaults { leftOut.append(told) }
        }
    }

    /// Something was refused for becoming many times as large.
    public var hasGrownTooMuch: Bool { refused.contains { ArchiveLimits.isExcess($0.reason) } }

    /// Everything that the archives have of the site was taken.
    public var isComplete: Bool { refusedCount == 0 && isPublished }

    /// The report for programs.
    public var json: String { members.text() }
}

extension ImportReport.Fault: JSONObject {
    package var members: JSONMembers { ["url": url, "place": place, "reason": reason] }
}

extension ImportReport: JSONObject {
    package var members: JSONMembers {
        [
            "site": site, "visit": visit, "published": isPublished, "responses": responses, "pages": pages,
            "revisits": revisits, "bytes": byteCount, "superseded": superseded, "other": other,
            "unkept": unkept.sorted { $0.key < $1.key }.map {
                ["status": $0.key, "count": $0.value] as JSONMembers
            },
            "refusedCount": refusedCount, "refused": refused, "doubtfulCount": doubtfulCount,
            "doubtful": doubtful, "leftOutCount": leftOutCount, "leftOut": leftOut, "signers": signers,
        ]
    }
}
