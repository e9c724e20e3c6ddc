import Testing

@testable import Store

/// Whatever is done to visits in whatever order, readers see what a model of a few lines says.
@Suite struct VisitModelTests {
    private static let names = ["one", "two"]
    private static let hrefs = (0..<5).map { "http://a.test/\($0)" }

    /// Does to a store and to the model what chance says.
    private struct Player {
        let store: StockedFolder
        var random: TestRandom
        var writer: StoreWriter
        var model = VisitModel()
        var open: [String: OpenVisit] = [:]
        var now: Int64 = 1000
        var log: [String] = []
        /// From then on a visit has what one before and one after it have.
        var hasDropped = false

        init(seed: UInt64) throws {
            store = try StockedFolder()
            random = TestRandom(seed: seed)
            writer = try StoreWriter(store.folder)
        }

        mutating func step() throws {
            now += 1
            let name = VisitModelTests.names.randomElement(using: &random) ?? ""
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<5: try open[name].map { try add(to: $0, of: name) } ?? begin(name)
            case 5..<9: try open[name].map { try add(to: $0, of: name) }
            case 9..<13: try open[name].map { try end($0, of: name, .publish(now: now)) }
            case 13:
                let ending = Bool.random(using: &random) ? VisitEnding.keepOpen : .publishSoFar
                try open[name].map { try end($0, of: name, ending) }
            case 14: try open[name].map { try end($0, of: name, .forget) }
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
            let visit = try writer.begin(site: name, start: [name], now: now)
            log.append("begin \(name) \(visit.id)")
            open[name] = visit
            let continued = model.sites[name]?.continued(now: now)
            #expect(visit.isContinued == (continued != nil), "\(log)")
            if let continued { #expect(visit.id == continued, "\(log)") }
            if !visit.isContinued {
                model.sites[name]?.finishPublished()
                model.sites[name, default: .init()].visits.append(.init(id: visit.id, started: now))
            }
        }

        private mutating func add(to visit: OpenVisit, of name: String) throws {
            let hrefs = VisitModelTests.hrefs.shuffled(using: &random).prefix(
                Int.random(in: 1...3, using: &random))
            for href in hrefs {
                let text =
                    Int.random(in: 0..<4, using: &random) == 0
                    ? "" : "\(Int.random(in: 0..<6, using: &random))"
                log.append("add \(visit.id) \(href.suffix(1)) '\(text)'")
                let response = try store.response(
                    href, text.isEmpty ? nil : text, status: text.isEmpty ? 404 : 200, fetched: now)
                try writer.add([response], to: visit)
                model.add(text, at: href, to: visit.id, of: name)
            }
        }

        private mutating func end(_ visit: OpenVisit, of name: String, _ ending: VisitEnding) throws {
            log.append("end \(visit.id) \(ending)")
            try writer.end(visit, ending)
            open[name] = nil
            switch ending {
            case .publish:
                model.sites[name]?.change(visit.id) { $0.isFinished = true }
                model.sites[name]?.published = visit.id
            case .publishSoFar: model.sites[name]?.published = visit.id
            case .keepOpen: break
            case .holdBack where model.sites[name]?.published != nil:
                model.sites[name]?.change(visit.id) { $0.isFinished = true }
            case .forget where model.sites[name]?.published == visit.id: break
            case .holdBack, .forget:
                model.sites[name]?.visits.removeAll { $0.id == visit.id }
                if model.sites[name]?.visits.isEmpty == true { model.sites[name] = nil }
            }
        }

        /// Any visit of the site, which may be one that cannot be published.
        private mutating func rollBack(_ name: String) throws {
            guard let site = try store.site(name), let visit = site.visits.randomElement(using: &random)
            else { return }
            log.append("publish \(visit.id)")
            guard open[name] == nil, visit.finished != nil else {
                #expect(throws: StoreError.self, "\(log)") { try writer.publish(visit: visit.id, of: site) }
                return
            }
            try writer.publish(visit: visit.id, of: site)
            model.sites[name]?.published = visit.id
        }

        private mutating func drop(_ name: String) throws {
            guard let site = try store.site(name), let visit = site.visits.randomElement(using: &random)
            else { return }
            log.append("drop \(visit.id)")
            guard open[name] == nil, visit.id != site.published else {
                #expect(throws: StoreError.self, "\(log)") { try writer.drop(visit: visit.id, of: site) }
                return
            }
            let later = site.visits.filter { $0.id > visit.id && $0.finished != nil }.map(\.id)
            let before = later.map { model.sites[name]?.shown(by: $0).mapValues(\.text) }
            try writer.drop(visit: visit.id, of: site)
            model.sites[name]?.drop(visit.id)
            hasDropped = true
            #expect(later.map { model.sites[name]?.shown(by: $0).mapValues(\.text) } == before, "\(log)")
        }

        func check() throws {
            let reader = try store.reader()
            for href in VisitModelTests.hrefs {
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
                #expect(site.visits.map(\.id) == expected?.visits.map(\.id), "\(log)")
                let counts = expected?.visits.map(\.rows.count) ?? []
                let isAsCounted = zip(site.visits.map(\.responseCount), counts).allSatisfy {
                    hasDropped ? $0 >= $1 : $0 == $1
                }
                #expect(isAsCounted, "\(log)")
                for visit in expected?.visits ?? [] {
                    for (href, row) in visit.rows {
                        let own = try reader.response(for: href, ofVisit: visit.id)
                        #expect(
                            own?.visit == row.visit && own?.status == (row.text.isEmpty ? 404 : 200), "\(log)"
                        )
                    }
                }
            }
            let shown = model.sites.flatMap { name, site in
                site.shown.map { "\(name) \($0.key) \($0.value.visit) \($0.value.text.isEmpty ? 404 : 200)" }
            }
            #expect(
                try store.column(
                    "SELECT site || ' ' || url || ' ' || visit || ' ' || status FROM larder_response WHERE shown ORDER BY 1"
                ) == shown.sorted(), "\(log)")
        }
    }

    @Test(arguments: 0..<10) func `readers see what the model says`(seed: UInt64) throws {
        var player = try Player(seed: seed)
        for _ in 0..<60 {
            try player.step()
            try player.check()
        }
        #expect(try player.store.inspect().isSound)
    }

    @Test(arguments: 0..<4) func `what differs between visits is what they show`(seed: UInt64) throws {
        var player = try Player(seed: 100 + seed)
        for _ in 0..<120 { try player.step() }
        for site in player.model.sites.values {
            for first in site.visits {
                for second in site.visits {
                    let (old, new) = (site.shown(by: first.id), site.shown(by: second.id))
                    let difference = try player.store.reader().difference(from: first.id, to: second.id)
                    func isThere(_ shown: [String: (visit: Int64, text: String)], _ href: String) -> Bool {
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

/// What the sites of one store show, in as few words as possible: what the store is held against.
struct VisitModel {
    struct Visit: Equatable {
        let id: Int64
        let started: Int64
        var isFinished = false
        var rows: [String: Row] = [:]
    }

    struct Row: Equatable {
        /// In which it came: this one, or an earlier one that said the same.
        var visit: Int64
        /// Empty for what is gone.
        let text: String
    }

    struct Site: Equatable {
        var visits: [Visit] = []
        var published: Int64?

        /// Of each address what the newest visit says that is not newer than the one that is published; of a
        /// site without such a visit, what the newest says at all.
        var shown: [String: (visit: Int64, text: String)] { shown(by: published ?? .max) }

        func shown(by last: Int64) -> [String: (visit: Int64, text: String)] {
            var shown: [String: (visit: Int64, text: String)] = [:]
            for visit in visits where visit.id <= last {
                for (href, row) in visit.rows { shown[href] = (row.visit, row.text) }
            }
            return shown
        }

        /// The visit that a run at this time goes on with.
        func continued(now: Int64) -> Int64? {
            guard let last = visits.last, !last.isFinished else { return nil }
            let days: Int64 = last.id == published ? 14 : 1
            return last.started > now - days * 24 * 60 * 60 ? last.id : nil
        }

        /// A new visit ends one that was served as far as it came.
        mutating func finishPublished() {
            if let published { change(published) { $0.isFinished = true } }
        }

        mutating func change(_ visit: Int64, _ body: (inout Visit) -> Void) {
            guard let place = visits.firstIndex(where: { $0.id == visit }) else { return }
            body(&visits[place])
        }

        /// What later visits took from it they have themselves from now on.
        mutating func drop(_ visit: Int64) {
            guard let place = visits.firstIndex(where: { $0.id == visit }) else { return }
            var rows = visits.remove(at: place).rows
            guard place < visits.count else { return }
            let isGrowing = place == visits.count - 1 && !visits[place].isFinished
            // The next one has the row of what came in it.
            let next = visits[place].id
            func moved(_ row: Row) -> Row {
                Row(visit: row.visit == visit ? next : row.visit, text: row.text)
            }
            for later in visits.indices { visits[later].rows = visits[later].rows.mapValues(moved) }
            rows = rows.mapValues(moved)
            if !isGrowing { visits[place].rows.merge(rows) { own, _ in own } }
        }
    }

    var sites: [String: Site] = [:]

    /// What says the same as the newest that there is of its address, in whichever site, is no row of its own.
    mutating func add(_ text: String, at href: String, to visit: Int64, of name: String) {
        let rows = sites.flatMap { name, site in
            site.visits.compactMap { $0.rows[href] }.map { (name: name, row: $0) }
        }
        let newest = rows.max { $0.row.visit < $1.row.visit }
        let isSame = newest.map { $0.name == name && $0.row.text == text } ?? false
        let came = isSame ? newest?.row.visit : visit
        sites[name]?.change(visit) { $0.rows[href] = Row(visit: came ?? visit, text: text) }
    }

    /// What a reader of the whole store gets: what is published before what never was, then what is newest.
    func answer(for href: String) -> String? {
        sites.values.compactMap { site in
            site.shown[href].map { (isPublished: site.published != nil, visit: $0.visit, text: $0.text) }
        }.max { left, right in
            left.isPublished != right.isPublished ? right.isPublished : left.visit < right.visit
        }?.text
    }
}
