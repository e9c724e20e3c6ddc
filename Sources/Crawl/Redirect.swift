package import Web

/// A response that redirects.
package struct Redirect {
    /// The target without its fragment; nil if the `Location` header is missing or invalid.
    package let url: WebURL?

    /// Returns nil for other statuses, including 300, which offers a choice, and 304, which confirms a stored
    /// response.
    package init?(_ status: Int, _ fields: HTTPFields, from url: WebURL) {
        switch status {
        case 301, 302, 303, 307, 308: self.url = fields["Location"].flatMap { WebURL($0, base: url)?.key }
        default: return nil
        }
    }
}
