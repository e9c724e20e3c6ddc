/// The way in which a response came into the store, which decides how far it can be trusted.
package struct Provenance: Sendable, Hashable {
    package enum Kind: String, Sendable, CaseIterable {
        /// Fetched from its origin by a prefetch or an update.
        case fetched
        /// Loaded by a server or a proxy for a client, into the overlay.
        case loaded
        /// Recorded by a proxy into a site that the user named.
        case recorded
        /// Read from an archive. The author of the archive chose the URL, the headers and the body.
        case imported
    }

    package let kind: Kind
    /// The network zone of the origin, as in `ResponseFlags.zoneFlags`. Always empty for an import, because an
    /// archive must not decide which zones its pages may request from.
    package let zone: ResponseFlags
    /// Whether the request had credentials: cookies, a login or a client certificate.
    package let usedCredentials: Bool

    package init(_ flags: ResponseFlags) {
        kind =
            if flags.contains(.isImported) {
                .imported
            } else if flags.contains(.isRecorded) {
                .recorded
            } else if flags.contains(.isLoaded) {
                .loaded
            } else {
                .fetched
            }
        zone = flags.intersection(.zoneFlags)
        usedCredentials = flags.contains(.isPrivate)
    }
}

extension ResponseFlags {
    static let isLoaded = ResponseFlags(rawValue: 1 << 12)
    package static let isRecorded = ResponseFlags(rawValue: 1 << 13)
    package static let isImported = ResponseFlags(rawValue: 1 << 14)
    /// Set in addition to `isImported` if the user named the site of the archive and the URL is on that
    /// site's own host. Such a response replaces earlier responses of the site for the URL.
    package static let isOfNamedSite = ResponseFlags(rawValue: 1 << 15)

    /// The flags that make up `Provenance.Kind`.
    package static let provenanceFlags: ResponseFlags = [.isLoaded, .isRecorded, .isImported, .isOfNamedSite]

    package var provenance: Provenance { Provenance(self) }
}

extension StoredResponse {
    package var provenance: Provenance { flags.provenance }

    package var isImported: Bool { flags.contains(.isImported) }

    /// Whether the response is shown only if no response from the origin is stored for the URL. The exception
    /// is a reader that requests the response's own snapshot.
    var isSubordinate: Bool { isImported && !flags.contains(.isOfNamedSite) }
}

// MARK: - SQL

/// SQL expressions for the order of imported responses, for statements that choose among the responses of a
/// URL.
extension Provenance {
    private static let imported = ResponseFlags.isImported.rawValue
    private static let kinds = ResponseFlags.isImported.union(.isOfNamedSite).rawValue

    static func isImported(_ response: String) -> String { "((\(response).flags & \(imported)) <> 0)" }

    /// Returns an SQL condition for `StoredResponse.isSubordinate`.
    static func isSubordinate(_ response: String) -> String {
        "((\(response).flags & \(kinds)) = \(imported))"
    }

    /// An SQL number for `response`, which needs its `snapshot` row in the query. Readers prefer the highest
    /// number.
    ///
    /// A response from the origin has its snapshot. A subordinate import has 0, after all of those. An import
    /// into a named site replaces earlier responses of that site but not of others: it has the snapshot of
    /// the site's last earlier response from the origin.
    static let precedence = """
        CASE WHEN (response.flags & \(imported)) = 0 THEN response.snapshot
            WHEN (response.flags & \(kinds)) = \(imported) THEN 0
            ELSE coalesce((
                SELECT max(earlier.snapshot) FROM response AS earlier JOIN snapshot AS earlier_snapshot ON earlier_snapshot.id = earlier.snapshot
                WHERE earlier.url = response.url AND earlier.request = response.request
                    AND earlier.snapshot < response.snapshot AND earlier_snapshot.site = snapshot.site
                    AND (earlier.flags & \(imported)) = 0), 0) END
        """

    /// Returns an SQL condition: whether readers see `newer`, of the same site, URL and request, in place of
    /// `response`.
    static func isPreferred(_ newer: String, to response: String) -> String {
        """
        (\(isSubordinate(response)) > \(isSubordinate(newer))
            OR \(isSubordinate(response)) = \(isSubordinate(newer)) AND \(newer).snapshot > \(response).snapshot)
        """
    }

    /// An SQL condition: whether another response hides the subordinate import `response` from readers of all
    /// sites.
    static let isHiddenByOrigin = """
        (\(isSubordinate("response")) AND EXISTS (
            SELECT 1 FROM response AS live JOIN snapshot ON snapshot.id = live.snapshot JOIN site ON site.id = snapshot.site
            WHERE live.url = response.url AND live.request = response.request AND NOT \(isImported("live"))
                AND \(Schema.isVisible("live"))))
        """

    /// The SQL for the name of the kind, for the view `larder_response`.
    static let kindName = """
        CASE WHEN (response.flags & \(imported)) <> 0 THEN '\(Kind.imported.rawValue)'
            WHEN (response.flags & \(ResponseFlags.isRecorded.rawValue)) <> 0 THEN '\(Kind.recorded.rawValue)'
            WHEN (response.flags & \(ResponseFlags.isLoaded.rawValue)) <> 0 THEN '\(Kind.loaded.rawValue)'
            ELSE '\(Kind.fetched.rawValue)' END
        """

    /// SQL that marks the imports of a database that did not record provenance. Only an import could store a
    /// snapshot whose responses are all older than the snapshot itself: either the site was never prefetched,
    /// or it is the first snapshot of a site that was prefetched later.
    static let markEarlierImports = """
        UPDATE response SET flags = flags | \(imported)
        WHERE snapshot IN (
            SELECT snapshot.id FROM snapshot JOIN site ON site.id = snapshot.site
            WHERE snapshot.base IS NULL AND snapshot.finished IS NOT NULL
                AND (site.settings = '' OR snapshot.id = (SELECT min(id) FROM snapshot AS first_snapshot WHERE first_snapshot.site = site.id))
                AND EXISTS (SELECT 1 FROM response AS own WHERE own.snapshot = snapshot.id)
                AND NOT EXISTS (
                    SELECT 1 FROM response AS own WHERE own.snapshot = snapshot.id AND own.fetched >= snapshot.started));
        """
}
