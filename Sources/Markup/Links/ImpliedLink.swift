/// A link that a body makes without writing it down in one piece: a script puts a chunk's address together from its number,
/// a table of hashes and a suffix. It has no place, so nothing can be spliced there.
package struct ImpliedLink: Hashable, Sendable {
    /// What the reference is relative to.
    package enum Base: UInt8, Sendable {
        /// The body, as for any other link.
        case body = 0
        /// The folder that a bundler's output was put into, which no file of it names; see ``reference(fromBodyAt:)``.
        case build = 1
    }

    package var reference: String
    package var kind: LinkKind
    package var flags: LinkFlags
    package var base: Base

    package init(_ reference: String, _ kind: LinkKind, _ flags: LinkFlags = [], from base: Base = .body) {
        self.reference = reference
        self.kind = kind
        self.flags = flags
        self.base = base
    }

    /// The reference as it is relative to the body at `path`.
    ///
    /// A bundler writes the paths below its output folder into the files there: if a script at `/app/assets/a.js` names
    /// `assets/b.js`, then the output folder is `/app/`. When the first folder of the reference is none of the body's own,
    /// the body stands in the output folder itself.
    package func reference(fromBodyAt path: String) -> String {
        guard base == .build, !reference.hasPrefix("/"), let slash = reference.utf8.firstIndex(of: UInt8(ascii: "/"))
        else { return reference }
        let folder = Array(reference.utf8[...slash])
        let segments = path.utf8.prefix { $0 != UInt8(ascii: "?") }.split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        // The last segment is the file, the first one is what stands in front of the path.
        guard let place = segments.dropLast().lastIndex(where: { $0.elementsEqual(folder.dropLast()) }) else {
            return reference
        }
        return String(repeating: "../", count: segments.count - 1 - place) + reference
    }
}
