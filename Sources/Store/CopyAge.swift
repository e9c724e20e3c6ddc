/// When a stored response was fetched, and when it was last checked. All lists, pages and commands that show the age of a
/// copy take it from here, so that they agree.
///
/// The row of a response has the time of the last answer, which the cache policies need. A later run that receives the same
/// response again updates it. The response was then fetched by the run that made its snapshot, whose beginning is the date of
/// the snapshot, and is shown for each of its responses: before and after such a check.
package struct CopyAge: Sendable, Equatable {
    /// When the run began that received the response, in seconds since 1970. If a server or a proxy loaded the response, an
    /// archive contained it, or an earlier snapshot had it: when it was received.
    package let fetched: Int64
    /// When a later run last received the same response; nil if none did.
    package let checked: Int64?

    package init(fetched: Int64, checked: Int64?) { (self.fetched, self.checked) = (fetched, checked) }

    /// The age of a snapshot: when its run began, and when an update last found it unchanged.
    package init(of snapshot: Snapshot, in site: Site) {
        fetched = snapshot.started
        checked = site.confirmationDate(of: snapshot).flatMap { $0 > snapshot.started ? $0 : nil }
    }

    /// - Parameter snapshot: The snapshot that has the row of the response; nil if it is not known.
    package init(of response: StoredResponse, in snapshot: Snapshot?) {
        self.init(
            of: response, started: snapshot?.started, finished: snapshot?.finished,
            isOverlay: snapshot?.base != nil)
    }

    /// - Parameters:
    ///   - started: When the run of the response's snapshot began; nil if it is not known.
    ///   - finished: When it ended; nil if it has not.
    ///   - isOverlay: Whether the snapshot is an overlay, whose responses servers loaded one by one.
    init(of response: StoredResponse, started: Int64?, finished: Int64?, isOverlay: Bool) {
        guard let started, let finished, !isOverlay, response.provenance.kind == .fetched,
            response.fetched >= started
        else {
            (fetched, checked) = (response.fetched, nil)
            return
        }
        fetched = started
        checked = response.fetched > abs(finished) ? response.fetched : nil
    }

    /// An SQL expression for `fetched`. The statement needs the `snapshot` of the response.
    ///
    /// - Parameter response: The alias of `response` in the statement.
    static func fetchedInSQL(_ response: String = "response") -> String {
        """
        CASE WHEN snapshot.base IS NULL AND snapshot.finished IS NOT NULL AND \(response).fetched >= snapshot.started
            AND (\(response).flags & \(ResponseFlags.provenanceFlags.rawValue)) = 0
            THEN snapshot.started ELSE \(response).fetched END
        """
    }
}
