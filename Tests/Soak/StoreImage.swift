import Store

/// The content of the last snapshot in a store, as far as it must be equal after two crawls of the same site.
struct StoreImage: Equatable {
    /// The status, the role, and the form and digest of the body, by target.
    private(set) var rows: [String: String] = [:]
    /// The id of the live snapshot; nil if there is none.
    private(set) var published: Int64?

    /// - Parameter base: the URL of the origin, whose port differs between runs.
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

    /// The targets whose responses the next run reuses without a request.
    var reusableTargets: Set<String> { Set(rows.filter { !$0.value.hasPrefix("4") }.keys) }

    /// The first ten differences as text.
    func differences(from other: StoreImage) -> [String] {
        let keys = Set(rows.keys).union(other.rows.keys)
        return keys.filter { rows[$0] != other.rows[$0] }.sorted().prefix(10).map {
            "\($0): \(rows[$0] ?? "nothing") in place of \(other.rows[$0] ?? "nothing")"
        }
    }
}
