internal import Web

/// What of an answer a request is to get, by its conditions and ranges (RFC 9110 §13 and §14.2). A pure value.
enum Selection: Equatable {
    case whole
    /// 304
    case notModified
    /// 412
    case failed
    /// 416
    case unsatisfiable
    /// 206; one part, or several as a message of their own.
    case parts([Range<Int>])

    /// What several parts cost, each, beside their bytes.
    static let partCost = 120

    /// - Parameters:
    ///   - fields: those of the request.
    ///   - now: when the answer is given, should it not say itself when it was made.
    ///   - role: a cache goes by the date of an answer that tells no other (RFC 9111, section 4.3.2).
    init(of answer: Answer, method: String, fields: HTTPFields, now: HTTPDate, as role: Preconditions.Role = .origin) {
        // §13.2.1: a condition counts only where the answer would be a success without it. Whoever answers 206 has
        // looked at the range already.
        guard (200..<300).contains(answer.status), answer.status != 206 else {
            self = .whole
            return
        }
        var known = HTTPFields()
        if let tag = answer.entityTag { known.append("ETag", tag) }
        if let date = answer.lastModified { known.append("Last-Modified", date) }
        let validator = Validator(known)
        let conditions = Preconditions(fields)
        if role == .cache, answer.lastModified == nil, let date = answer.date {
            known.append("Last-Modified", date.text)
        }
        switch conditions.evaluate(Validator(known), method: CacheRequest.Method(method), as: role) {
        case .notModified: self = .notModified
        case .failed: self = .failed
        case .proceed:
            // §14.2: only GET has ranges.
            guard method == "GET", answer.status == 200, let text = fields["Range"], let ranges = ByteRanges(text),
                conditions.allowsRange(of: validator, date: answer.date ?? now)
            else {
                self = .whole
                return
            }
            self = Self.parts(of: ranges, in: answer.bodyByteCount)
        }
    }

    private static func parts(of ranges: ByteRanges, in byteCount: Int) -> Selection {
        var parts = ranges.resolved(in: byteCount)
        // Of nothing, everything is what there is.
        guard !parts.isEmpty else { return byteCount == 0 ? .whole : .unsatisfiable }
        if parts.count > 1 {
            let joined = joiningNear(parts)
            if joined.count < parts.count { parts = joined }
        }
        // §15.3.7.2: not more trouble than the whole.
        let cost = parts.lazy.map { $0.count + Self.partCost }.reduce(0, +)
        return parts.count > 1 && cost >= byteCount ? .whole : .parts(parts)
    }

    /// Sorted, and those made one that are nearer to each other than a part costs.
    private static func joiningNear(_ parts: [Range<Int>]) -> [Range<Int>] {
        var joined: [Range<Int>] = []
        for part in parts.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = joined.last, part.lowerBound - last.upperBound <= partCost {
                joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, part.upperBound)
            } else {
                joined.append(part)
            }
        }
        return joined
    }
}

extension Answer {
    /// When it was made, if it says so.
    var date: HTTPDate? {
        guard hasDate, let line = HeadLines(self).first(where: { HeadLines.isNamed($0, ["date"]) }) else { return nil }
        return HTTPDate(String(decoding: HeadLines.value(line), as: UTF8.self))
    }
}
