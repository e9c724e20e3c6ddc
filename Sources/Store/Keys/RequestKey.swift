internal import Digest

/// What tells answers to other requests than a plain GET apart: the method, and the MD5 of the body that was sent.
///
/// With it a recorded API call is answered offline.
package struct RequestKey: Hashable, Sendable {
    /// Empty for a plain GET.
    package let text: String

    package static let get = RequestKey(stored: "")

    /// Stands beside a site's name for the manifest that is in force in a visit: no request is ever answered by it.
    package static let manifest = RequestKey(stored: "manifest")

    /// A HEAD is answered by what a GET got.
    package init(method: String, body: Span<UInt8>) {
        let isPlain = body.isEmpty && (method == "GET" || method == "HEAD")
        text = isPlain ? "" : "\(method) \(DigestStream.digest(.md5, of: body).hex)"
    }

    init(stored text: String) {
        self.text = text
    }
}
