/// Entries of `localStorage` in which the scripts of an origin's pages keep copies of other scripts.
///
/// A page that finds such copies requests only the other scripts, often several in one request. Its requests thus depend on the
/// pages that the browser showed before, and a prefetch cannot store every combination. Served and exported pages therefore
/// start without these entries and send the same requests as in a new browser.
package struct ScriptCopies: Sendable, Equatable {
    /// The origin of the pages.
    package let origin: String
    /// The keys of the entries.
    package let keys: [String]

    package init(origin: String, keys: [String]) { (self.origin, self.keys) = (origin, keys) }

    /// Reads a member of a site's settings; nil if it is malformed.
    package init?(_ json: JSONValue) {
        guard let origin = json["origin"]?.string, let keys = json["keys"]?.array else { return nil }
        self.init(origin: origin, keys: keys.compactMap(\.string))
    }
}

extension ScriptCopies {
    /// The entries of all origins in the settings of a site, which are JSON.
    package static func all(inSettings settings: JSONValue?) -> [ScriptCopies] {
        settings?["scriptCopies"]?.array?.compactMap { ScriptCopies($0) } ?? []
    }
}

extension ScriptCopies: JSONObject {
    package var members: JSONMembers { ["origin": origin, "keys": keys] }
}

extension ScriptCopies {
    /// Whether the value of an entry contains a script: at least half of its longest passages.
    ///
    /// Entries often contain scripts as JSON, in which quotation marks, backslashes and line breaks are escaped. Passages
    /// are therefore the parts between these characters.
    package static func contains(_ value: [UInt8], _ script: [UInt8]) -> Bool {
        let passages = script.split { [0x22, 0x5c].contains($0) || $0 < 0x20 || $0 >= 0x7f }
            .filter { $0.count >= minPassageLength }.sorted { $0.count > $1.count }.prefix(maxPassages)
        guard passages.count >= minPassages else { return false }
        let found = passages.count { value.firstOffset(of: Array($0), in: 0..<value.count) != nil }
        return found * 2 >= passages.count
    }

    /// The minimum length of a passage in bytes. Shorter ones occur in unrelated texts.
    private static let minPassageLength = 40
    /// The minimum number of passages by which a script can be recognised.
    private static let minPassages = 3
    /// The maximum number of passages that are searched for.
    private static let maxPassages = 20
}
