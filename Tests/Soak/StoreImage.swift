import Store

/// What a store shows of one snapshot: everything that two crawls of the same site must have in common.
struct StoreImage: Equatable {
    /// Status, role, form and digest of the body, by URL.
    private(set) var rows: [String: String] = [:]
    private(set) var published: Int64?

    /// - Parameter base: the origin's address, which differs from run to run.
    init(_ folder: StoreFolder, base: String) throws {
        let reader = try StoreReader(folder)
        guard let site = try reader.sites().first, let snapshot = site.snapshots.last else { return }
        published = site.published
        var rows: [String: String] = [:]
        try reader.eachResponse(ofSnapshot: snapshot.id) { response in
            let digest =
                response.body.map { body in body.sha256.map { String($0, radix: 16) }.joined() } ?? "-"
            let target = String(response.href.dropFirst(base.utf8.count))
            rows[target] = "\(response.status) \(response.role) \(response.body?.form ?? "-") \(digest)"
        }
        self.rows = rows
    }

    /// What an interrupted run has and need not ask for again.
    var held: Set<String> { Set(rows.filter { !$0.value.hasPrefix("4") }.keys) }

    /// At most some of what differs, to be shown.
    func differences(from other: StoreImage) -> [String] {
        let keys = Set(rows.keys).union(other.rows.keys)
        return keys.filter { rows[$0] != other.rows[$0] }.sorted().prefix(10).map {
            "\($0): \(rows[$0] ?? "nothing") in place of \(other.rows[$0] ?? "nothing")"
        }
    }
}
