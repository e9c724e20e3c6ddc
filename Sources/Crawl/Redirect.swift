package import Web

/// An answer that leads elsewhere.
package struct Redirect {
    /// Nil when it does not say where.
    package let url: WebURL?

    /// Nil for a status that is no redirect. 300 and 304 are none: the one offers a choice, the other was not asked for.
    package init?(_ status: Int, _ fields: HTTPFields, from url: WebURL) {
        switch status {
        case 301, 302, 303, 307, 308: self.url = fields["Location"].flatMap { WebURL($0, base: url)?.key }
        default: return nil
        }
    }
}
