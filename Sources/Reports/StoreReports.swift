package import Store
package import Web

/// How a larder is kept: where, in which version, how much room it takes, and who writes to it just now.
public struct StoreReport: Sendable, Equatable {
    public let path: String
    /// Of the PostgreSQL that keeps it; nil for a folder.
    public let serverVersion: String?
    /// The PostgreSQL follows another one, and may only be read.
    public let isStandby: Bool
    /// Of its tables.
    public let version: Int64
    /// What this larder brings them to.
    public let newestVersion: Int64
    /// A copy to it has not ended.
    public let isCopying: Bool
    public let sites: Int
    public let visits: Int
    public let parts: [Part]
    public let writers: [Writer]

    /// What takes room: files and folders, or tables with their indexes.
    public struct Part: Sendable, Equatable {
        public let name: String
        public let byteCount: Int64
    }

    /// Somebody who may write. Of a folder all are told as one.
    public struct Writer: Sendable, Equatable {
        /// The sites that are being prefetched.
        public let sites: [String]
        /// Nobody else may write meanwhile, as while it is collected.
        public let isAlone: Bool
        /// The number of its session in the PostgreSQL, from where it came, and when, in seconds since 1970.
        public let session: Int64?
        public let address: String?
        public let since: Int64?
    }

    /// It wants to be brought up to date.
    public var needsMigration: Bool { version < newestVersion }
    public var byteCount: Int64 { parts.reduce(0) { $0 + $1.byteCount } }

    /// - Parameter path: as whoever asks names the larder.
    package init(_ condition: StoreCondition, path: String) {
        self.path = path
        serverVersion = condition.serverVersion
        isStandby = condition.isStandby
        version = condition.version
        newestVersion = condition.newestVersion
        isCopying = condition.isCopying
        sites = condition.sites
        visits = condition.visits
        parts = condition.parts.map { Part(name: $0.name, byteCount: $0.byteCount) }
        writers = condition.writers.map {
            Writer(
                sites: $0.sites, isAlone: $0.isAlone, session: $0.session, address: $0.address,
                since: $0.since)
        }
    }

    /// The report for programs.
    public var json: String { members.text() }
}

extension StoreReport: JSONObject {
    package var members: JSONMembers {
        [
            "path": path, "kind": serverVersion == nil ? "folder" : "postgresql", "server": serverVersion,
            "standby": isStandby, "version": version, "newestVersion": newestVersion,
            "needsMigration": needsMigration, "copying": isCopying, "sites": sites, "visits": visits,
            "bytes": byteCount, "parts": parts, "writers": writers,
        ]
    }
}

extension StoreReport.Part: JSONObject {
    package var members: JSONMembers { ["name": name, "bytes": byteCount] }
}

extension StoreReport.Writer: JSONObject {
    package var members: JSONMembers {
        ["sites": sites, "alone": isAlone, "session": session, "address": address, "since": since]
    }
}

/// What a copy of a larder brought to where it went.
public struct CopyReport: Sendable, Equatable {
    public let from: String
    public let to: String
    /// An earlier one that was interrupted was gone on with.
    public let isContinued: Bool
    /// What is there now.
    public let sites: Int
    public let visits: Int
    public let addresses: Int
    public let responses: Int
    public let bodies: Int
    /// What this run brought of the bodies.
    public let copiedBodies: Int
    public let copiedByteCount: Int64
    /// Bodies that are not what their digests say, or are gone: they are left out with what has them.
    public let damaged: [InspectionReport.Damage]
    public let leftOutResponses: Int
    /// Bodies that were read back and are what they were; nil where nobody asked for it.
    public let verifiedBodies: Int?
    /// What was read back and is not what was written.
    public let unlike: [InspectionReport.Damage]

    /// Everything that is held is held there too, as it was fetched.
    public var isWhole: Bool { damaged.isEmpty && unlike.isEmpty }

    package init(_ result: StoreCopyResult, from: String, to: String, isVerified: Bool) {
        self.from = from
        self.to = to
        isContinued = result.isContinued
        sites = result.sites
        visits = result.visits
        addresses = result.addresses
        responses = result.responses
        bodies = result.bodies
        copiedBodies = result.copiedBodies
        copiedByteCount = result.copiedBytes
        damaged = result.damaged.map(InspectionReport.Damage.init)
        leftOutResponses = result.leftOutResponses
        verifiedBodies = isVerified ? result.verifiedBodies : nil
        unlike = result.unlike.map(InspectionReport.Damage.init)
    }

    /// The report for programs.
    public var json: String { members.text() }
}

extension CopyReport: JSONObject {
    package var members: JSONMembers {
        [
            "from": from, "to": to, "whole": isWhole, "continued": isContinued, "sites": sites,
            "visits": visits, "addresses": addresses, "responses": responses, "bodies": bodies,
            "copiedBodies": copiedBodies, "copiedBytes": copiedByteCount, "damaged": damaged,
            "leftOutResponses": leftOutResponses, "verifiedBodies": verifiedBodies, "unlike": unlike,
        ]
    }
}

/// What brought a larder's tables up to date.
public struct MigrationReport: Sendable, Equatable {
    public let path: String
    /// What each step brought; empty where nothing had to be done.
    public let steps: [String]

    package init(path: String, steps: [String]) {
        self.path = path
        self.steps = steps
    }

    /// The report for programs.
    public var json: String { members.text() }
}

extension MigrationReport: JSONObject {
    package var members: JSONMembers { ["path": path, "steps": steps] }
}
