internal import Bundles
internal import Origins
internal import Web

/// Decides whether an answer of a mirror contains the digests and signatures of its origin (`ResponseIntegrity`).
///
/// A browser refuses a response whose signature is wrong. In a mirror, the signature of a good response can become wrong:
/// the body may be rewritten, the URL is another one, fields are changed, and the signature may expire while the
/// response is stored. The fields are then left out, and pages lose their demand for a key (`ResponseRenderer`). The
/// decision depends only on the stored response and the layout, so that the answers for pages and for their assets
/// agree, also with copies in the browser's cache.
struct ServedSignatures {
    let layout: OriginLayout

    /// A request URL for a response that is served in place of another, or below a path: signatures of its parts fail.
    private static let unknownURL = "http://unknown.invalid/"

    /// Whether a browser accepts the signatures in an answer with the stored body.
    ///
    /// - Parameters:
    ///   - stated: the digests and signatures of the origin's response.
    ///   - own: the origin's fields with the digests and signatures.
    ///   - outgoing: the other fields of the answer.
    ///   - received: the time of the response, at which its signatures count.
    func areValid(
        _ stated: ResponseIntegrity, _ own: [HTTPFields.Field], beside outgoing: [(String, String)],
        status: Int,
        _ url: WebURL, isOfRequestedURL: Bool, received: Int64
    ) -> Bool {
        // A signature that expires would fail one day.
        if stated.expires { return false }
        let address =
            isOfRequestedURL && layout.keepsRelativeLinks(of: url)
            ? layout.address(of: url.withoutFragment).flatMap { WebURL($0) } : nil
        guard let address = address ?? WebURL(Self.unknownURL) else { return false }
        let fields = HTTPFields(outgoing.map { HTTPFields.Field(name: $0.0, value: $0.1) } + own)
        let here = ResponseIntegrity(
            of: SignedMessage(url: address, status: status, fields: fields), at: received)
        return here.refusal == nil && here.signers == stated.signers
    }

    /// The fields to add to an answer whose body is the origin's, byte for byte.
    func fields(
        of stored: HTTPFields, beside outgoing: [(String, String)], status: Int, _ url: WebURL,
        _ source: AnswerSource, received: Int64
    ) -> [(String, String)] {
        let own = Self.fields(in: stored)
        guard !own.isEmpty, !layout.isTransparent else { return [] }
        let stated = ResponseIntegrity(
            of: SignedMessage(url: url, status: status, fields: stored), at: received)
        // What browsers refuse on the web, they refuse here too.
        let isSent =
            stated.refusal != nil
            || areValid(
                stated, own, beside: outgoing, status: status, url, isOfRequestedURL: source.isOfRequestedURL,
                received: received)
        return isSent ? own.map { ($0.name, $0.value) } : []
    }

    static func fields(in stored: HTTPFields) -> [HTTPFields.Field] {
        stored.list.filter { ResponseIntegrity.fieldNames.contains($0.name) }
    }
}
