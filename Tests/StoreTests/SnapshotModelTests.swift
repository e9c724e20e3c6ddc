import Testing

@testable import Store

/// Random operations on snapshots, after each of which readers must see the same as in a simple model.
@Suite struct SnapshotModelTests {
    private static let names = ["one", "two"]
    private static let hrefs = (0..<5).map { "http://a.test/\($0)" }

    /// Applies the same random operations to a store and to the model.
    private struct Player {
        let store: StockedFolder
        var random: TestRandom
        var writer: StoreWriter
        var model = SnapshotModel()
        var open: [String: OpenSnapshot] = [:]
        var now: Int64 = 1000
        var log: [String] = []
        /// Whether a snapshot was dropped. Its responses have moved to the next snapshot, so that counts may be larger.
        var hasDropped = false
        /// Whether an unchanged snapshot was merged, so that a snapshot may have more responses than in the model.
        var hasJoined = false

        init(seed: UInt64) throws {
            store = try StockedFolder()
            random = TestRandom(seed: seed)
            writer = try StoreWriter(store.folder)
        }

        mutating func step() throws {
            now += 1
            let name = SnapshotModelTests.names.randomElement(using: &random) ?? ""
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<5: try open[name].map { try add(to: $0, of: name) } ?? begin(name)
            case 5..<9: try open[name].map { try add(to: $0, of: name) }
            case 9..<13:
                let ending: SnapshotEnding =
                    Bool.random(using: &random) ? .publish(now: now) : .publishIfChanged(now: now)
                try open[name].map { try end($0, of: name, ending) }
            case 13:
                let ending = Bool.random(using: &random) ? SnapshotEnding.keepOpen : .publishSoFar
                try open[name].map { try end($0, of: name, ending) }
            case 14:
                let ending = Bool.random(using: &random) ? SnapshotEnding.forget : .reject(now: now)
                try open[name].map { try end($0, of: name, ending) }
            case 15: now += 12 * 60 * 60
            case 16:
                log.append("reopen")
                open.removeAll()
                writer = try StoreWriter(store.folder)
            case 17: try rollBack(name)
            default: try drop(name)
            }
        }

        private mutating func begin(_ name: String) throws {
            let snapshot = try writer.begin(site: name, start: [name], now: now)
            log.append("begin \(name) \(snapshot.id)")
            open[name] = snapshot
            let continued = model.sites[name]?.continued(now: now)
            #expect(snapshot.isContinued == (continued != nil), "\(log)")
            if let continued { #expect(snapshot.id == continued, "\(log)") }
            if !snapshot.isContinued {
                model.sites[name]?.finishPublished()
                model.sites[name, default: .init()].snapshots.append(.init(id: snapshot.id, started: now))
            }
        }

        private mutating func add(to snapshot: OpenSnapshot, of name: String) throws {
            let hrefs = SnapshotModelTests.hrefs.shuffled(using: &random).prefix(
                Int.random(in: 1...3, using: &random))
            for href in hrefs {
                let text =
                    Int.random(in: 0..<4, using: &random) == 0
                    ? "" : "\(Int.random(in: 0..<6, using: &random))"
                log.append("add \(snapshot.id) \(href.suffix(1)) '\(text)'")
                let response = try store.response(
                    href, text.isEmpty ? nil : text, status: text.isEmpty ? 404 : 200, fetched: now)
                try writer.add([response], to: snapshot)
                model.add(text, at: href, to: snapshot.id, of: name)
            }
        }

        private mutating func end(_ snapshot: OpenSnapshot, of name: String, _ ending: SnapshotEnding) throws
        {
            log.append("end \(snapshot.id) \(ending)")
            let unchanged = try writer.end(snapshot, ending)
            let isUnchanged = hasDropped ? unchanged != nil : model.sites[name]?.isUnchanged(snapshot.id)
            open[name] = nil
            switch ending {
            case .publishIfChanged where isUnchanged == true:
                #expect(unchanged != nil, "\(log)")
                model.sites[name]?.join(snapshot.id)
                hasJoined = true
            case .publish, .publishIfChanged:
                #expect(unchanged == nil, "\(log)")
                model.sites[name]?.change(snapshot.id) { $0.isFinished = true }
                model.sites[name]?.published = snapshot.id
            case .publishSoFar: model.sites[name]?.published = snapshot.id
            case .keepOpen: break
            case .reject where model.sites[name]?.published != nil:
                model.sites[name]?.change(snapshot.id) { ($0.isFinished, $0.isRejected) = (true, true) }
            case .forget where model.sites[name]?.published == snapshot.id: break
            case .reject, .forget:
                model.sites[name]?.snapshots.removeAll { $0.id == snapshot.id }
                if model.sites[name]?.snapshots.isEmpty == true { model.sites[name] = nil }
            }
        }

        /// Publishes a random snapshot of the site, which must fail if it is not complete.
        private mutating func rollBack(_ name: String) throws {
            guard let site = try store.site(name), let snapshot = site.snapshots.randomElement(using: &random)
            else { return }
            log.append("publish \(snapshot.id)")
            guard open[name] == nil, snapshot.finished != nil else {
                #expect(throws: StoreError.self, "\(log)") {
                    try writer.publish(snapshot: snapshot.id, of: site)
                }
                return
            }
            try writer.publish(snapshot: snapshot.id, of: site)
            model.sites[name]?.published = snapshot.id
            model.sites[name]?.change(snapshot.id) { $0.isRejected = false }
        }

        private mutating func drop(_ name: String) throws {
            guard let site = try store.site(name), let snapshot = site.snapshots.randomElement(using: &random)
            else { return }
            log.append("drop \(snapshot.id)")
            guard open[name] == nil, snapshot.id != site.published else {
                #expect(throws: StoreError.self, "\(log)") {
                    try writer.drop(snapshot: snapshot.id, of: site)
                }
                return
            }
            // Rejected snapshots may lose responses that they confirmed.
            let later = site.snapshots.filter {
                $0.id > snapshot.id && $0.finished != nil && !$0.isRejected
            }.map(\.id)
            let before = later.map { model.sites[name]?.shown(by: $0).mapValues(\.text) }
            try writer.drop(snapshot: snapshot.id, of: site)
            model.sites[name]?.drop(snapshot.id)
            hasDropped = true
            #expect(later.map { model.sites[name]?.shown(by: $0).mapValues(\.text) } == before, "\(log)")
        }

        func check() throws {
            let reader = try store.reader()
            for href in SnapshotModelTests.hrefs {
                let response = try reader.response(for: href)
                let text = try response.map { response in
                    try response.body.flatMap(reader.content).map {
                        String(decoding: try $0.load(), as: UTF8.self)
                    }
                        ?? ""
                }
                #expect(text == model.answer(for: href), "\(href.suffix(1)) after \(log)")
            }
            let sites = try reader.sites()
            #expect(sites.map(\.name) == model.sites.keys.sorted(), "\(log)")
            for site in sites {
                let expected = model.sites[site.name]
                #expect(site.published == expected?.published, "\(log)")
                #expect(site.snapshots.map(\.id) == expected?.snapshots.map(\.id), "\(log)")
                let counts = expected?.snapshots.map(\.rows.count) ?? []
                let isAsCounted = zip(site.snapshots.map(\.responseCount), counts).allSatisfy {
                    hasDropped || hasJoined ? $0 >= $1 : $0 == $1
                }
                #expect(isAsCounted, "\(log)")
                for snapshot in expected?.snapshots ?? [] {
                    for (href, row) in snapshot.rows {
                        let own = try reader.response(for: href, ofSnapshot: snapshot.id)
                        #expect(
                            own?.snapshot == row.snapshot && own?.status == (row.text.isEmpty ? 404 : 200),
                            "\(log)"
                        )
                    }
                }
            }
            let names = try reader.snapshotNames()
            let shown = model.sites.flatMap { name, site in
                site.shown.map {
                    let number = names[$0.value.snapshot]?.number ?? 0
                    return "\(name) \($0.key) \(number) \($0.value.text.isEmpty ? 404 : 200)"
                }
            }
            #expect(
                try store.column(
                    "SELECT site || ' ' || url || ' ' || snapshot || ' ' || status FROM larder_response WHERE shown ORDER BY 1"
                ) == shown.sorted(), "\(log)")
        }
    }

    @Test(arguments: 0..<10) func `readers see the same as in the model`(seed: UInt64) throws {
        var player = try Player(seed: seed)
        for _ in 0..<60 {
            try player.step()
            try player.check()
        }
        #expect(try player.store.inspect().isSound)
    }

    @Test(arguments: 0..<4) func `the difference of two snapshots matches what readers see of each`(
        seed: UInt64
    ) throws {
        var player = try Player(seed: 100 + seed)
        for _ in 0..<120 { try player.step() }
        for site in player.model.sites.values {
            for first in site.snapshots {
                for second in site.snapshots {
                    let (old, new) = (site.shown(by: first.id), site.shown(by: second.id))
                    let difference = try player.store.reader().difference(from: first.id, to: second.id)
                    func isThere(_ shown: [String: (snapshot: Int64, text: String)], _ href: String) -> Bool {
                        shown[href]?.text.isEmpty == false
                    }
                    let added = Self.hrefs.filter { !isThere(old, $0) && isThere(new, $0) }
                    let gone = Self.hrefs.filter { isThere(old, $0) && !isThere(new, $0) }
                    let changed = Self.hrefs.filter {
                        isThere(old, $0) && isThere(new, $0) && old[$0]?.text != new[$0]?.text
                    }
                    #expect(difference.changed == changed)
                    #expect((difference.added + difference.moved.map(\.to)).sorted() == added)
                    #expect((difference.gone + difference.moved.map(\.from)).sorted() == gone)
                    for move in difference.moved { #expect(old[move.from]?.text == new[move.to]?.text) }
                }
            }
        }
    }
}

/// A simple model of the sites and snapshots of one store.
struct SnapshotModel {
    struct Snapshot: Equatable {
        let id: Int64
        let started: Int64
        var isFinished = false
        var isRejected = false
        var rows: [String: Row] = [:]
    }

    struct Row: Equatable {
        /// The snapshot that first had the response: this one, or an earlier one with the same text.
        var snapshot: Int64
        /// Empty for a tombstone.
        let text: String
    }

    struct Site: Equatable {
        var snapshots: [Snapshot] = []
        var published: Int64?

        /// For each URL, the row of the newest snapshot up to the published one, without rejected ones. Without a published
        /// snapshot, all snapshots count.
        var shown: [String: (snapshot: Int64, text: String)] { shown(by: published ?? .max) }

        func shown(by last: Int64) -> [String: (snapshot: Int64, text: String)] {
            var shown: [String: (snapshot: Int64, text: String)] = [:]
            for snapshot in snapshots
            where snapshot.id <= last && (!snapshot.isRejected || snapshot.id == last || last == .max) {
                for (href, row) in snapshot.rows { shown[href] = (row.snapshot, row.text) }
            }
            return shown
        }

        /// The snapshot that a run at this time continues.
        func continued(now: Int64) -> Int64? {
            guard let last = snapshots.last, !last.isFinished else { return nil }
            let days: Int64 = last.id == published ? 14 : 1
            return last.started > now - days * 24 * 60 * 60 ? last.id : nil
        }

        /// Whether the snapshot follows the published one and has the same texts, so that it is merged with it.
        func isUnchanged(_ snapshot: Int64) -> Bool {
            guard let place = snapshots.firstIndex(where: { $0.id == snapshot }), place > 0,
                snapshots[place - 1].id == published, snapshots[place - 1].isFinished
            else { return false }
            let (rows, earlier) = (snapshots[place].rows, snapshots[place - 1].rows)
            // A URL that does not exist, which only one of the runs requested, changes nothing.
            return earlier.allSatisfy { href, row in row.text.isEmpty || rows[href] != nil }
                && rows.allSatisfy { href, row in
                    row.snapshot < snapshot || row.text == earlier[href]?.text
                        || row.text.isEmpty && earlier[href] == nil
                }
        }

        /// The published snapshot takes over the rows of the last one.
        mutating func join(_ snapshot: Int64) {
            guard let published, let last = snapshots.popLast() else { return }
            change(published) { published in
                for (href, row) in last.rows {
                    if row.snapshot == snapshot {
                        published.rows[href] = Row(snapshot: published.id, text: row.text)
                    } else if published.rows[href] == nil {
                        published.rows[href] = row
                    }
                }
            }
        }

        /// A new snapshot finishes a published one that was incomplete.
        mutating func finishPublished() {
            if let published { change(published) { $0.isFinished = true } }
        }

        mutating func change(_ snapshot: Int64, _ body: (inout Snapshot) -> Void) {
            guard let place = snapshots.firstIndex(where: { $0.id == snapshot }) else { return }
            body(&snapshots[place])
        }

        /// Later snapshots get their own copies of the responses that they inherited from it.
        mutating func drop(_ snapshot: Int64) {
            guard let place = snapshots.firstIndex(where: { $0.id == snapshot }) else { return }
            let removed = snapshots.remove(at: place)
            guard place < snapshots.count else { return }
            let readable = snapshots.indices.filter {
                $0 >= place && (snapshots[$0].isFinished || $0 < snapshots.count - 1)
            }
            // The next snapshot takes over the rows that first were in this one.
            let heir =
                removed.isRejected
                ? place
                : readable.first { !snapshots[$0].isRejected } ?? readable.first ?? snapshots.count - 1
            let takesAll = !removed.isRejected && !readable.isEmpty
            let next = snapshots[heir].id
            func moved(_ row: Row) -> Row {
                Row(snapshot: row.snapshot == snapshot ? next : row.snapshot, text: row.text)
            }
            let inherited = takesAll ? removed.rows : [:]
            for later in snapshots.indices {
                // A rejected snapshot between the two loses the rows that it only confirmed.
                if later < heir {
                    snapshots[later].rows = snapshots[later].rows.filter { $1.snapshot != snapshot }
                }
                snapshots[later].rows = snapshots[later].rows.mapValues(moved)
            }
            snapshots[heir].rows.merge(inherited.mapValues(moved)) { own, _ in own }
        }
    }

    var sites: [String: Site] = [:]

    /// Adds a response. If the newest row of its URL is of the same site, has the same text and was not rejected, it
    /// confirms that row.
    mutating func add(_ text: String, at href: String, to snapshot: Int64, of name: String) {
        let rows = sites.flatMap { name, site in
            site.snapshots.compactMap { $0.rows[href] }.map { (name: name, row: $0) }
        }
        let newest = rows.max { $0.row.snapshot < $1.row.snapshot }
        let isSame = newest.map { newest in
            let isRejected = sites[name]?.snapshots.contains { $0.id == newest.row.snapshot && $0.isRejected }
            return newest.name == name && newest.row.text == text && isRejected != true
        }
        let first = isSame == true ? newest?.row.snapshot : snapshot
        sites[name]?.change(snapshot) { $0.rows[href] = Row(snapshot: first ?? snapshot, text: text) }
    }

    /// The text that a reader of the store gets: sites with a published snapshot precede others, then the newest row wins.
    func answer(for href: String) -> String? {
        sites.values.compactMap { site in
            site.shown[href].map {
                (isPublished: site.published != nil, snapshot: $0.snapshot, text: $0.text)
            }
        }.max { left, right in
            left.isPublished != right.isPublished ? right.isPublished : left.snapshot < right.snapshot
        }?.text
    }
}
