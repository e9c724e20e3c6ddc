/// What the sites of one store show, in as few words as possible: what the store is held against.
struct VisitModel {
    struct Visit: Equatable {
        let id: Int64
        let started: Int64
        var isFinished = false
        /// The text by address; empty for what is gone.
        var rows: [String: String] = [:]
    }

    struct Site: Equatable {
        var visits: [Visit] = []
        var published: Int64?

        /// Of each address what the newest visit says that is not newer than the one that is published; of a site without
        /// such a visit, what the newest says at all.
        var shown: [String: (visit: Int64, text: String)] { shown(by: published ?? .max) }

        func shown(by last: Int64) -> [String: (visit: Int64, text: String)] {
            var shown: [String: (visit: Int64, text: String)] = [:]
            for visit in visits where visit.id <= last {
                for (href, text) in visit.rows { shown[href] = (visit.id, text) }
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
            let rows = visits.remove(at: place).rows
            guard place < visits.count else { return }
            let isGrowing = place == visits.count - 1 && !visits[place].isFinished
            if !isGrowing { visits[place].rows.merge(rows) { own, _ in own } }
        }
    }

    var sites: [String: Site] = [:]

    /// What a reader of the whole store gets: what is published before what never was, then what is newest.
    func answer(for href: String) -> String? {
        sites.values.compactMap { site in
            site.shown[href].map { (isPublished: site.published != nil, visit: $0.visit, text: $0.text) }
        }.max { left, right in
            left.isPublished != right.isPublished ? right.isPublished : left.visit < right.visit
        }?.text
    }
}
