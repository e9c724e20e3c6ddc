extension OriginAnswer {
    /// The response to a conditional or range request: 304, 206 or 416 if the validators and ranges require
    /// it.
    func applied(to request: OriginRequest) -> OriginAnswer {
        guard let validators, status == 200 else { return self }
        var answer = self
        if let tag = validators.entityTag { answer.fields.append(("ETag", tag)) }
        if let date = validators.lastModified { answer.fields.append(("Last-Modified", date)) }
        if isUnmodified(for: request, validators) {
            answer.status = 304
            answer.body = []
            answer.framing = .length(nil)
            return answer
        }
        guard validators.allowsRanges else { return answer }
        answer.fields.append(("Accept-Ranges", "bytes"))
        guard let range = request["Range"], let selection = Self.parseRange(range, of: body.count) else {
            return answer
        }
        if let condition = request["If-Range"], condition != validators.entityTag,
            condition != validators.lastModified
        {
            return answer
        }
        guard case .bytes(let bytes) = selection else {
            answer.status = 416
            answer.fields.append(("Content-Range", "bytes */\(body.count)"))
            answer.body = []
            return answer
        }
        answer.status = 206
        answer.fields.append(
            ("Content-Range", "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(body.count)"))
        answer.body = Array(body[bytes])
        return answer
    }

    private func isUnmodified(for request: OriginRequest, _ validators: Validators) -> Bool {
        if let condition = request["If-None-Match"] {
            guard let tag = validators.entityTag else { return false }
            return condition == "*"
                || condition.split(separator: ",").contains { Self.opaque($0) == Self.opaque(tag[...]) }
        }
        guard let condition = request["If-Modified-Since"] else { return false }
        return condition == validators.lastModified
    }

    /// The tag without a weak prefix. RFC 9110 8.8.3.2: If-None-Match uses the weak comparison.
    private static func opaque(_ tag: Substring) -> Substring {
        var tag = tag.drop { $0 == " " }
        while tag.last == " " { tag.removeLast() }
        return tag.hasPrefix("W/") ? tag.dropFirst(2) : tag
    }

    /// The part of a body that a range selects.
    enum Wanted: Equatable {
        case bytes(Range<Int>)
        case beyondTheEnd
    }

    /// Parses a single `bytes=` range. Returns nil for other units, several ranges and invalid ranges, which
    /// are ignored.
    static func parseRange(_ value: String, of count: Int) -> Wanted? {
        guard value.hasPrefix("bytes="), !value.contains(",") else { return nil }
        let ends = value.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        switch (Int(ends[0]), Int(ends[1])) {
        case (let first?, let last?) where first <= last:
            return first < count ? .bytes(first..<min(last + 1, count)) : .beyondTheEnd
        case (let first?, nil) where ends[1].isEmpty:
            return first < count ? .bytes(first..<count) : .beyondTheEnd
        case (nil, let suffix?) where ends[0].isEmpty:
            return suffix > 0 && count > 0 ? .bytes(max(0, count - suffix)..<count) : .beyondTheEnd
        default:
            return nil
        }
    }
}
