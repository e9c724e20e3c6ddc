internal import LarderKit

/// What is missing at one host for one reason.
struct MissingGroup: Equatable {
    let host: String
    let reason: String
    let first: PrefetchReport.Missing
    var count: Int

    /// The commonest first.
    static func groups(of missing: [PrefetchReport.Missing]) -> [MissingGroup] {
        var groups: [MissingGroup] = []
        var places: [String: Int] = [:]
        for item in missing {
            let host = host(of: item.url)
            if let place = places[host + "\n" + item.reason] {
                groups[place].count += 1
            } else {
                places[host + "\n" + item.reason] = groups.count
                groups.append(MissingGroup(host: host, reason: item.reason, first: item, count: 1))
            }
        }
        return groups.enumerated().sorted { left, right in
            left.element.count != right.element.count
                ? left.element.count > right.element.count : left.offset < right.offset
        }.map(\.element)
    }

    /// What stands between the scheme and the path.
    private static func host(of url: String) -> String {
        let bytes = Array(url.utf8)
        let start = bytes.firstRange(of: Array("://".utf8))?.upperBound ?? 0
        return String(
            decoding: bytes[start...].prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }, as: UTF8.self)
    }
}
