/// What the body that an URL has in a visit links to.
package struct NewLinks: Sendable {
    package struct Target: Sendable {
        /// Nil when the number was told before.
        package let href: String?
        /// The number that its writer uses for this URL only.
        package let number: UInt32

        package init(href: String?, number: UInt32) {
            self.href = href
            self.number = number
        }
    }

    package let source: Target
    package var pages: [Target] = []
    package var requisites: [Target] = []
    /// What may be no link at all.
    package var guesses: [Target] = []

    package init(from source: Target) {
        self.source = source
    }

    var count: Int { pages.count + requisites.count + guesses.count }
}
