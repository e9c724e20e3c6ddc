/// One reference as it stands in a body.
package struct LinkOccurrence: Hashable, Sendable {
    /// The bytes of the reference as written, without the quotes and the white space around it. Never empty.
    package var range: Range<Int>
    package var kind: LinkKind
    package var context: LinkContext
    package var flags: LinkFlags

    package init(range: Range<Int>, kind: LinkKind, context: LinkContext, flags: LinkFlags = []) {
        self.range = range
        self.kind = kind
        self.context = context
        self.flags = flags
    }

    /// What a crawl does with it: its kind's role.
    package var role: LinkRole { kind.role }
}
