internal import Web

extension StoreWriter {
    /// Adds what was loaded while serving to what is shown: beside or in place of what was held for the request, else to the
    /// site that starts on its host, else to a site of its own.
    ///
    /// Fails with `.busy` where it would need a site that is just being prefetched for the first time.
    package func add(
        loaded response: NewResponse, over held: StoredResponse?, origin: String, host: String, now: Int64
    ) throws(StoreError) {
        if let visit = try shownVisit(of: held, host: host) { return try add([response], to: visit) }
        let start = origin + "/"
        let visit = try begin(site: start, start: [start], now: now)
        do throws(StoreError) {
            try add([response], to: visit)
            try end(visit, .publish(now: now))
        } catch {
            // The first error is the one that tells.
            try? end(visit, .forget)
            throw error
        }
    }

    private func shownVisit(of held: StoredResponse?, host: String) throws(StoreError) -> OpenVisit? {
        guard let held, let visit = try visit(of: held) else { return try shownVisit(onHost: host) }
        return visit
    }

    private func visit(of held: StoredResponse) throws(StoreError) -> OpenVisit? {
        try prepare("SELECT site FROM visit WHERE id = ?").first(.integer(held.visit)) { row in
            OpenVisit(site: row.integer(0), id: held.visit, isContinued: true)
        }
    }

    private func shownVisit(onHost host: String) throws(StoreError) -> OpenVisit? {
        var found: OpenVisit?
        try eachRow("SELECT id, published, start FROM site WHERE published IS NOT NULL ORDER BY published") { row in
            let starts = row.text(2).utf8.split(separator: UInt8(ascii: "\n")).compactMap { String($0) }
            guard starts.contains(where: { WebURL($0)?.host == host }) else { return }
            found = OpenVisit(site: row.integer(0), id: row.integer(1), isContinued: true)
        }
        return found
    }
}
