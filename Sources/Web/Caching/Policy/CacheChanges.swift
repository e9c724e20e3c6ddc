/// Works out what a server's answer to a request changes in the store.
struct CacheChanges {
    let request: CacheRequest
    let profile: CacheProfile
    let rules: CacheRules

    /// RFC 9111, section 4.3.5: a HEAD brings what is stored up to date, or shows that it is out of date.
    func change(of entry: CacheEntry, byHead answer: CacheAnswer) -> CacheConclusion.Change {
        var outdated = entry
        outdated.isInvalidated = true
        switch answer.status {
        case 200 where entry.status == 200:
            let tags = answer.fields.entityTag.map { $0 == entry.fields.entityTag } ?? true
            let dates = answer.fields["Last-Modified"].map { $0 == entry.fields["Last-Modified"] } ?? true
            let lengths = answer.fields.contentLength.map { $0 == entry.fields.contentLength } ?? true
            guard tags, dates, lengths else { return .update(outdated) }
            return updating(refreshed(entry, by: answer))
        case 404, 410: return .update(outdated)
        default: return .none
        }
    }

    /// A whole answer, or a part (RFC 9111, sections 3 and 3.4).
    func storing(_ answer: CacheAnswer, over entry: CacheEntry?) -> CacheConclusion.Change {
        if let entry, CacheStatus.isPassing(answer.status), !CacheStatus.isPassing(entry.status) { return .none }
        if answer.status == 206, let entry {
            // Of another version, a part is worth less than a whole and more than other parts (RFC 9111, section 3.4).
            if let tag = answer.fields.entityTag, let held = entry.fields.entityTag, tag.matchesStrongly(held) {
                let updated = refreshed(entry, by: answer)
                return entry.isPart ? .extend(updated) : .update(updated)
            }
            if !entry.isPart { return .none }
        }
        let storability = Storability.judge(
            request, status: answer.status, fields: answer.fields, profile: profile,
            forced: rules.storage(for: request.url, answer.fields.contentType))
        switch storability {
        case .refused: return .none
        case .storable(let policy): return .store(self.entry(answer.status, answer.fields, answer), policy)
        }
    }

    /// The entry with the head that a 304, a HEAD or a part brought, and its times.
    func refreshed(_ entry: CacheEntry, by answer: CacheAnswer) -> CacheEntry {
        var result = self.entry(entry.status, entry.fields.updated(by: answer.fields, in: profile), answer)
        result.isPart = entry.isPart
        return result
    }

    private func entry(_ status: Int, _ fields: HTTPFields, _ answer: CacheAnswer) -> CacheEntry {
        let freshness = Freshness(
            status: status, fields: fields, requestTime: answer.requestTime, responseTime: answer.responseTime,
            profile: profile, forced: rules.lifetime(for: request.url, fields.contentType))
        return CacheEntry(
            status: status, fields: fields.storable(in: profile), freshness: freshness, isPart: status == 206)
    }

    /// The stored head becomes this one, if it may still be stored: a 304 can say that it may not.
    func updating(_ entry: CacheEntry) -> CacheConclusion.Change {
        // Whatever asked, HEAD or a recorded POST, what is stored was let in before.
        let plain = CacheRequest(url: request.url, fields: request.fields, isRecorded: true)
        let storability = Storability.judge(
            plain, status: entry.status, fields: entry.fields, profile: profile,
            forced: rules.storage(for: request.url, entry.fields.contentType))
        return storability.isStorable ? .update(entry) : .none
    }
}
