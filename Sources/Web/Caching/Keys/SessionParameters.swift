/// Parts of URLs that name who asks, or where from, and not what is asked for: session IDs, marks of campaigns.
package enum SessionParameters {
    /// In lower case.
    private static let names: Set<String> = [
        "jsessionid", "phpsessid", "sessionid", "session_id", "sessid", "sess_id", "phpsession", "cfid", "cftoken",
        "oscsid", "zenid", "xtcsid", "osclsid",
        "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "twclid", "ttclid", "igshid",
        "li_fat_id",
        "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi", "mkt_tok", "vero_id", "oly_enc_id", "oly_anon_id",
    ]
    private static let prefixes = ["utm_", "aspsessionid", "hsa_", "pk_campaign", "pk_kwd", "mtm_"]
    /// These mean something else as often: they count where the value looks like a key.
    private static let vagueNames: Set<String> = ["sid", "s", "session", "sess", "token"]
    private static let leastKey = 16

    /// The URL without such parts, which leads to the same page, the rest of it untouched; nil when it has none.
    package static func stripped(_ url: WebURL) -> WebURL? {
        // Most have none, and everything that is linked is asked about.
        guard mayHaveSome(url) else { return nil }
        let path = Array(url.path.utf8)
        guard url.query?.isEmpty == false || hasMarks(path) else { return nil }
        let query = url.query.map { Array($0.utf8) }
        let newPath = strippedPath(path)
        let newQuery = query.flatMap { strippedQuery($0[...]) }
        guard newPath != nil || newQuery != nil else { return nil }
        var target = newPath ?? path
        if let kept = newQuery ?? query, newQuery == nil || !kept.isEmpty { target += [UInt8(ascii: "?")] + kept }
        // What stands before the path and its query is kept as it is, credentials too; a fragment asks nobody.
        let whole = Array(url.withoutFragment.href.utf8.dropLast(url.target.utf8.count)) + target
        return WebURL(utf8: whole.span)
    }

    private static func mayHaveSome(_ url: WebURL) -> Bool {
        var href = url.href
        return href.withUTF8 { bytes in
            bytes.contains { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "(") }
        }
    }

    private static func hasMarks(_ path: [UInt8]) -> Bool {
        path.contains { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "(") }
    }

    /// Without `;jsessionid=…` behind a segment and without segments like `(S(…))`; nil when there are none.
    private static func strippedPath(_ path: [UInt8]) -> [UInt8]? {
        guard hasMarks(path) else { return nil }
        var kept: [ArraySlice<UInt8>] = []
        for segment in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            if isCookieless(segment) { continue }
            let parts = segment.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            let rest = parts.enumerated().filter { $0.offset == 0 || !isSession($0.element) }.map(\.element)
            kept.append(Array(rest.joined(separator: [UInt8(ascii: ";")]))[...])
        }
        let stripped = Array(kept.joined(separator: [UInt8(ascii: "/")]))
        return stripped == path ? nil : stripped
    }

    /// ASP.NET without cookies: `(S(lit3py55t21z5v55vlm25s55))`.
    private static func isCookieless(_ segment: ArraySlice<UInt8>) -> Bool {
        guard segment.count > leastKey, segment.starts(with: "(".utf8), segment.suffix(2).elementsEqual("))".utf8)
        else {
            return false
        }
        let inner = segment.dropFirst().dropLast(2)
        return inner.dropFirst().first == UInt8(ascii: "(") && inner.dropFirst(2).allSatisfy(\.isASCIIAlphanumeric)
    }

    /// Nil when nothing is to be left out.
    private static func strippedQuery(_ query: ArraySlice<UInt8>) -> [UInt8]? {
        let parameters = query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        let kept = parameters.filter { !isSession($0) }
        return kept.count < parameters.count ? Array(kept.joined(separator: [UInt8(ascii: "&")])) : nil
    }

    private static func isSession(_ parameter: ArraySlice<UInt8>) -> Bool {
        let name = parameter.prefix { $0 != UInt8(ascii: "=") }
        guard !name.isEmpty, name.count <= 64 else { return false }
        let text = String(decoding: name.map(\.lowercasedASCII), as: UTF8.self)
        if names.contains(text) || prefixes.contains(where: text.hasPrefix) { return true }
        return vagueNames.contains(text) && isKey(parameter.dropFirst(name.count + 1))
    }

    /// Long, with letters and digits, and nothing that a name or a sentence would have.
    private static func isKey(_ value: ArraySlice<UInt8>) -> Bool {
        value.count >= leastKey && value.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") }
            && value.contains(where: \.isASCIIDigit) && value.contains(where: \.isASCIIAlpha)
    }
}
