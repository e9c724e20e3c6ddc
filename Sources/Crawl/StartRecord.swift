package import Web

/// Which releases of an app have started. A release that was begun and not confirmed has failed when the next start begins.
///
/// Snapshots are named by their numbers.
package struct StartRecord: Sendable, Equatable {
    /// The snapshot that was begun last, unless it was confirmed.
    package private(set) var begun: Int64?
    /// The snapshot that was confirmed last.
    package private(set) var confirmed: Int64?
    /// The SHA-256 of the manifests whose releases did not start, the latest last. They are not fetched again.
    package private(set) var failedManifests: [String] = []

    /// The maximum number of failed manifests. The oldest ones are removed beyond it.
    private static let maxFailedManifests = 10

    package init() {}

    /// Reads a stored record. Malformed members have their default values.
    init(_ json: JSONValue) {
        begun = json["begun"]?.int.map { Int64($0) }
        confirmed = json["confirmed"]?.int.map { Int64($0) }
        failedManifests = json["failed"]?.array?.compactMap(\.string) ?? []
    }

    package var isEmpty: Bool { self == StartRecord() }

    /// Whether the live snapshot was begun before, and not confirmed.
    package func hasFailed(_ live: Int64) -> Bool { begun == live }

    package mutating func begin(_ live: Int64) {
        begun = confirmed == live ? nil : live
    }

    /// - Parameter manifest: the SHA-256 of the manifest of the live snapshot.
    package mutating func confirm(_ live: Int64, manifest: String?) {
        (begun, confirmed) = (nil, live)
        failedManifests.removeAll { $0 == manifest }
    }

    /// Records that a release did not start, and that an earlier snapshot, which had started before, is live in its place.
    package mutating func didFail(manifest: String?, replacedBy live: Int64) {
        (begun, confirmed) = (nil, live)
        guard let manifest else { return }
        failedManifests.removeAll { $0 == manifest }
        failedManifests = failedManifests.suffix(Self.maxFailedManifests - 1) + [manifest]
    }
}

extension StartRecord: JSONObject {
    package var members: JSONMembers {
        ["begun": IfAny(begun), "confirmed": IfAny(confirmed), "failed": IfAny(failedManifests)]
    }
}
