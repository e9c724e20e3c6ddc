internal import Glibc
internal import LarderKit
internal import Reports

/// Times as people read them: in local time, or relative to now.
enum LocalTime {
    /// `2026-11-20 15:10`
    static func minute(_ seconds: Int64) -> String {
        var (time, parts) = (time_t(seconds), tm())
        localtime_r(&time, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%Y-%m-%d %H:%M", &parts)
        return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// `2026-11-20 15:10`
    static func minute(_ date: Timestamp) -> String { minute(date.secondsSinceEpoch) }

    /// `3 hours ago`
    static func age(of date: Timestamp) -> String { age(of: date.secondsSinceEpoch) }

    /// `3 hours ago`
    static func age(of seconds: Int64) -> String { Wording.age(Int64(time(nil)) - seconds) }

    /// `in 5 hours`, or `now`
    static func wait(until seconds: Int64) -> String {
        let left = seconds - Int64(time(nil))
        guard left >= 60 else { return "now" }
        let age = Wording.age(left)
        return "in " + (age.hasSuffix(" ago") ? String(age.dropLast(4)) : age)
    }
}
