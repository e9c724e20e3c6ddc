/// What a file says that lies beside the beginning of a body while the rest is on its way: should the run be killed,
/// the next one goes on with it.
package struct PartHead: Sendable, Equatable {
    /// How a file beside `path` is called.
    package static let ending = ".head"

    /// When the machine was started: what was written since then is there as long as the machine runs, though nobody
    /// saw to it that it reached the disk.
    package var boot: String
    package var href: String
    /// The header block of the answer that began the body.
    package var fields: String

    package init(boot: String, href: String, fields: String) {
        (self.boot, self.href, self.fields) = (boot, href, fields)
    }

    package var text: String { "\(boot)\n\(href)\n\(fields)" }

    package init?(text: String) {
        let lines = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
        guard lines.count == 3, !lines[0].isEmpty else { return nil }
        self.init(boot: String(lines[0]), href: String(lines[1]), fields: String(lines[2]))
    }
}
