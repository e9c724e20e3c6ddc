internal import Bundles
internal import Store
internal import Web

/// A request that a server is to be asked about.
struct LoadJob: Sendable {
    let policy: CachePolicy
    let method: String
    let request: CacheRequest
    let rules: CacheRules
    /// Under which the answer is kept.
    let key: RequestKey
    let body: [UInt8]
    /// What is held for the request, and as the policies see it.
    let held: StoredResponse?
    let shelved: ShelvedCopy?
    let entry: CacheEntry?
    /// What the action adds to the request: conditions, as a rule.
    var additional: HTTPFields
    /// Whether the server is asked by the client's own range, and by its own conditions.
    var keepsRange: Bool
    var keepsConditions: Bool
    let layout: OriginLayout
    let shim: Shim?
    let verifier: BodyVerifier
    let mayReach: ResponseFlags
    /// No other site's page asks: what is known of the user there may be told.
    let isNear: Bool
    /// What a manifest in force requires of what comes.
    let required: Bundle?
    /// Told what the server says before its answer.
    var interim: (@Sendable (_ status: Int, _ fields: HTTPFields) -> Void)?

    /// Somebody's credentials go along.
    var hasCredentials: Bool { request.fields.contains("Cookie") || request.fields.contains("Authorization") }

    /// Whether the rest is asked for of a body of which parts are held.
    var isCompletion: Bool { additional.contains("Range") }

    var wasConditional: Bool { additional.contains("If-None-Match") || additional.contains("If-Modified-Since") }

    /// What the server is asked. Nothing in it tells of the larder's own addresses: `Asker.lead` saw to those.
    var upstream: LoadRequest {
        var fields = upstreamFields
        for name in Self.ownFields { fields.remove(name) }
        // A part of what is coded could not be decoded.
        if fields.contains("Range") { fields.set("Accept-Encoding", "identity") }
        // With a site at the root all origins share one name, and with it the browser's cookies: they are the site's.
        if let root = layout.root, !root.isRoot(request.url) {
            fields.remove("Cookie")
            fields.remove("Authorization")
        }
        return LoadRequest(
            method: method, url: request.url, fields: fields, body: body, mayReach: mayReach, isAnonymous: !isNear,
            interim: interim)
    }

    private var upstreamFields: HTTPFields {
        request.upstreamFields(additional, keepingRange: keepsRange, keepingConditions: keepsConditions)
    }

    private static let ownFields = [
        "Host", "Larder-Policy", "Accept-Encoding", "Content-Length", "Expect",
    ]

    /// Those who ask for the same get the same answer. Nil for what may do something each time that it is asked.
    var flightKey: String? {
        guard request.method.isAnsweredByStored, body.isEmpty else { return nil }
        let authority = (layout.authority ?? "") + layout.folder
        return """
            \(policy.rawValue) \(method) \(request.url.href) \(authority) \(isNear) \(mayReach.rawValue)
            \(upstreamFields.block)
            """
    }

    /// The same, of which the whole is asked for, whatever is held.
    var unconditional: LoadJob {
        var job = self
        job.additional = [:]
        (job.keepsRange, job.keepsConditions) = (false, false)
        return job
    }
}
