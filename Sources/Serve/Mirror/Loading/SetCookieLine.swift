/// A cookie that an origin sets, as the larder's name for the origin can set it.
enum SetCookieLine {
    /// Without the domain, which the larder is not in, and without `Secure` unless the cookie's name demands it: the
    /// larder speaks http. `SameSite=None` is for secure cookies alone.
    static func led(_ value: String) -> String {
        let parts = value.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map(trimmed)
        let isBound = parts.first.map { $0.lowercased() }.map { $0.hasPrefix("__secure-") || $0.hasPrefix("__host-") }
        let kept = parts.enumerated().filter { number, part in
            guard number > 0 else { return true }
            let words = part.lowercased().utf8.split(separator: UInt8(ascii: "="), maxSplits: 1).map(trimmed)
            return switch words.first {
            case "domain": false
            case "secure": isBound ?? false
            case "samesite": isBound ?? false || words.last != "none"
            default: true
            }
        }
        return kept.map { $0.element }.joined(separator: "; ")
    }

    private static func trimmed(_ text: Substring.UTF8View) -> String {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        return String(decoding: text.drop(while: isSpace).reversed().drop(while: isSpace).reversed(), as: UTF8.self)
    }
}
