/// A client of a TUF repository, as a state machine: the detailed client workflow of TUF 1.0.37 (section 5). It decides which
/// file comes next and whether it is trusted. A driver reads, fetches and writes the files.
///
///     var client = TUFClient(now: now)
///     while let request = try client.nextRequest() {
///         for change in try client.receive(answer(request)) { apply(change) }
///     }
///     client.find("app.js")
///     …the same loop…
///     let target = client.target
///
/// After an error the client makes no more requests. The metadata that it trusted until then is stored, and the next update
/// starts from it.
package struct TUFClient: Sendable {
    /// A metadata file that the client needs next.
    package struct Request: Sendable, Equatable {
        package enum Source: Sendable, Equatable {
            /// The trusted metadata that the driver stored for this client.
            case storage
            /// The repository.
            case server
        }

        package let source: Source
        /// The name of the file. For the server it may contain percent escapes, and belongs below the URL of the metadata.
        package let name: String
        /// A larger file is answered with `tooLarge`, and need not be read to its end.
        package let maxBytes: Int
    }

    package enum Answer: Sendable {
        case bytes([UInt8])
        /// The server or the storage has no such file: status 404, 403 (which object stores send for it) or 410.
        case missing
        /// The file is larger than `maxBytes`.
        case tooLarge
        /// The network or the server failed.
        case failed(String)
    }

    /// A change of the stored metadata. The driver makes it before it continues, so that nothing is lost
    /// if it is stopped.
    package enum Change: Sendable, Equatable {
        case store(name: String, bytes: [UInt8])
        case remove(name: String)
    }

    private enum State {
        case loadingRoot
        case fetchingRoot
        /// No newer root is available, or enough were fetched.
        case endingRoots
        case loadingTimestamp
        case fetchingTimestamp
        case loadingSnapshot
        case fetchingSnapshot
        /// The snapshot is current, and the task decides which role is needed next.
        case visitingRoles
        case loadingTargets(TrustedMetadata.Delegation)
        case fetchingTargets(TrustedMetadata.Delegation)
        /// All that was asked for is known.
        case idle
        case failed(TUFError)
    }

    /// The reason to load metadata of targets roles.
    private enum Task {
        /// The top-level targets role.
        case refresh
        case find(DelegationSearch)
        case list(DelegationListing)
    }

    private var state = State.loadingRoot
    private var trusted: TrustedMetadata?
    private var rotations = 0
    private var task = Task.refresh
    /// The target that `find` looked for; nil while its search goes on, or if it is not listed.
    package private(set) var target: TUFTarget?
    /// All targets, after `list`.
    package private(set) var targets: [TUFTarget] = []
    private let now: Int64
    private let limits: TUFLimits

    /// Creates a client that updates its top-level metadata. The storage must have the trusted `root.json`.
    ///
    /// - Parameter now: the start of the update in seconds since 1970, which all expiry is compared with (5.1).
    package init(now: Int64, limits: TUFLimits = TUFLimits()) {
        self.now = now
        self.limits = limits
    }

    /// Returns the version of root metadata that a user wants to trust. Its own keys must have signed it.
    package static func versionOfTrustedRoot(_ bytes: [UInt8]) throws(TUFError) -> Int {
        try TrustedMetadata(root: bytes, now: 0).root.role.version
    }

    /// Returns the file that the client needs next; nil if all that was asked for is known.
    ///
    /// - Throws: why the update cannot go on.
    package mutating func nextRequest() throws(TUFError) -> Request? {
        do throws(TUFError) {
            switch state {
            case .endingRoots:
                try trusted?.checkRoot()
                state = .loadingTimestamp
            case .visitingRoles:
                try visitRoles()
            case .failed(let error):
                throw error
            case .loadingRoot, .fetchingRoot, .loadingTimestamp, .fetchingTimestamp, .loadingSnapshot,
                .fetchingSnapshot, .loadingTargets, .fetchingTargets, .idle:
                break
            }
            return request
        } catch {
            state = .failed(error)
            throw error
        }
    }

    private var request: Request? {
        switch state {
        case .loadingRoot: storedFile("root.json", limits.maxRootBytes)
        case .fetchingRoot: servedFile("\(rootVersion + 1).root.json", limits.maxRootBytes)
        case .loadingTimestamp: storedFile("timestamp.json", limits.maxTimestampBytes)
        case .fetchingTimestamp: servedFile("timestamp.json", limits.maxTimestampBytes)
        case .loadingSnapshot: storedFile("snapshot.json", limits.maxSnapshotBytes)
        case .fetchingSnapshot:
            servedMetadata("snapshot", try? trusted?.snapshotFile(), limits.maxSnapshotBytes)
        case .loadingTargets(let delegation):
            storedFile(Self.fileName(of: delegation.role), limits.maxTargetsBytes)
        case .fetchingTargets(let delegation):
            servedMetadata(delegation.role, try? trusted?.file(of: delegation.role), limits.maxTargetsBytes)
        case .endingRoots, .visitingRoles, .idle, .failed: nil
        }
    }

    private func storedFile(_ name: String, _ maxBytes: Int) -> Request {
        Request(source: .storage, name: name, maxBytes: maxBytes)
    }

    private func servedFile(_ name: String, _ maxBytes: Int) -> Request {
        Request(source: .server, name: name, maxBytes: maxBytes)
    }

    /// The request for a file that other metadata describes. It has at most the described size, and with consistent
    /// snapshots its version in its name.
    private func servedMetadata(_ role: String, _ file: MetaFile?, _ maxBytes: Int) -> Request {
        let prefix = if usesConsistentSnapshots, let file { "\(file.version)." } else { "" }
        return servedFile(prefix + Self.fileName(of: role), min(file?.byteCount ?? maxBytes, maxBytes))
    }

    /// The name of a role's metadata file. Names of delegated roles are escaped, since they may contain slashes.
    private static func fileName(of role: String) -> String { TUFPath.escapedName(role) + ".json" }

    /// The version of the trusted root; 0 before it is loaded.
    package var rootVersion: Int { trusted?.root.role.version ?? 0 }

    /// The earliest expiry of the trusted top-level metadata in seconds since 1970; nil before the end of the update.
    package var expires: Int64? {
        guard let trusted, let timestamp = trusted.timestamp, let snapshot = trusted.snapshot else {
            return nil
        }
        return min(
            trusted.root.role.header.expires, timestamp.role.header.expires, snapshot.role.header.expires)
    }

    /// The version of the trusted snapshot, which grows with every change of the targets; nil before it is known.
    package var snapshotVersion: Int? { trusted?.snapshot?.role.version }

    /// Whether target files have names with digests.
    package var usesConsistentSnapshots: Bool { trusted?.root.role.usesConsistentSnapshots ?? false }

    /// The ids of the keys that sign the root.
    package var rootKeyIDs: [String] { trusted?.root.role.roles["root"]?.keyIDs ?? [] }

    /// Receives the answer to `request`, and returns the changes of the stored metadata.
    ///
    /// - Throws: why the file is not trusted. The client is then at its end.
    package mutating func receive(_ answer: Answer) throws(TUFError) -> [Change] {
        guard let request else { return [] }
        do throws(TUFError) {
            return try accept(try Self.bytes(of: answer, to: request), request)
        } catch {
            state = .failed(error)
            throw error
        }
    }

    /// The bytes of an answer; nil if the file does not exist.
    private static func bytes(of answer: Answer, to request: Request) throws(TUFError) -> [UInt8]? {
        switch answer {
        case .bytes(let bytes) where bytes.count <= request.maxBytes: return bytes
        case .bytes, .tooLarge:
            throw TUFError(.tooLarge, request.name, "is over \(request.maxBytes) bytes")
        case .missing: return nil
        case .failed(let reason): throw TUFError(.unreachable, request.name, reason)
        }
    }

    private mutating func accept(_ bytes: [UInt8]?, _ request: Request) throws(TUFError) -> [Change] {
        switch state {
        case .loadingRoot:
            guard let bytes else {
                throw TUFError(.missing, request.name, "there is no trusted root to start from")
            }
            trusted = try TrustedMetadata(root: bytes, now: now)
            state = .fetchingRoot
            return []
        case .fetchingRoot:
            return try acceptRoot(bytes, request)
        case .loadingTimestamp:
            if let bytes { trusted?.load(timestamp: bytes) }
            state = .fetchingTimestamp
            return []
        case .fetchingTimestamp:
            let bytes = try Self.unwrap(bytes, request)
            let isNew = try trusted?.update(timestamp: bytes) ?? false
            // Also if it is not new: an earlier update may have ended directly after its timestamp.
            state = .loadingSnapshot
            return isNew ? [.store(name: "timestamp.json", bytes: bytes)] : []
        case .loadingSnapshot:
            let isCurrent = if let bytes { try trusted?.load(snapshot: bytes) ?? false } else { false }
            state = isCurrent ? .visitingRoles : .fetchingSnapshot
            return []
        case .fetchingSnapshot:
            let bytes = try Self.unwrap(bytes, request)
            try trusted?.update(snapshot: bytes, file: request.name)
            state = .visitingRoles
            return [.store(name: "snapshot.json", bytes: bytes)]
        case .loadingTargets(let delegation):
            let isCurrent = if let bytes { trusted?.load(bytes, of: delegation) ?? false } else { false }
            state = isCurrent ? .visitingRoles : .fetchingTargets(delegation)
            return []
        case .fetchingTargets(let delegation):
            let bytes = try Self.unwrap(bytes, request)
            try trusted?.update(bytes, of: delegation, file: request.name)
            state = .visitingRoles
            return [.store(name: Self.fileName(of: delegation.role), bytes: bytes)]
        case .endingRoots, .visitingRoles, .idle, .failed:
            return []
        }
    }

    private mutating func acceptRoot(_ bytes: [UInt8]?, _ request: Request) throws(TUFError) -> [Change] {
        guard let bytes else {
            state = .endingRoots
            return []
        }
        let dropsOthers = try trusted?.update(root: bytes, file: request.name) ?? false
        rotations += 1
        if rotations >= limits.maxRootRotations { state = .endingRoots }
        // First the removals: if the driver is stopped between them and the new root, the next update accepts that root again.
        return (dropsOthers ? [.remove(name: "timestamp.json"), .remove(name: "snapshot.json")] : [])
            + [.store(name: "root.json", bytes: bytes)]
    }

    /// Returns the bytes that the server sent for a request without which the update cannot continue.
    private static func unwrap(_ bytes: [UInt8]?, _ request: Request) throws(TUFError) -> [UInt8] {
        guard let bytes else { throw TUFError(.missing, request.name, "the server does not have it") }
        return bytes
    }

    // MARK: Targets

    /// Looks for a target in the trusted metadata (5.6.7). `target` is the result once there are no more requests.
    package mutating func find(_ path: String) {
        target = nil
        start(.find(DelegationSearch(path, maxRoles: limits.maxVisitedRoles)))
    }

    /// Loads the metadata of all roles. `targets` is the result once there are no more requests.
    package mutating func list() {
        targets = []
        start(.list(DelegationListing(maxRoles: limits.maxListedRoles)))
    }

    private mutating func start(_ task: Task) {
        self.task = task
        if case .idle = state { state = .visitingRoles }
    }

    /// Continues the task until it needs metadata of another role, or ends.
    private mutating func visitRoles() throws(TUFError) {
        guard var trusted else { return }
        defer { self.trusted = trusted }
        let needed: TrustedMetadata.Delegation?
        switch task {
        case .refresh:
            needed = try trusted.metadata(of: .targets) == nil ? .targets : nil
        case .find(var search):
            needed = try search.advance(&trusted)
            target = search.target
            task = .find(search)
        case .list(var listing):
            needed = try listing.advance(&trusted)
            if needed == nil { targets = try listing.targets(&trusted, maxRoles: limits.maxVisitedRoles) }
            task = .list(listing)
        }
        state = needed.map { .loadingTargets($0) } ?? .idle
    }
}
