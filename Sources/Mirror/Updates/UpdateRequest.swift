internal import HTTPServer
internal import Portal
internal import Rollouts
internal import Web

/// A request below `/-/updates/APP/`, as the protocols of the update server read it.
struct UpdateRequest: Sendable {
    let app: AppName
    /// The first segment after the name of the app, such as `expo`.
    let service: String
    /// The rest of the path as it was sent, without the slash before it; empty if there is none.
    let path: String
    /// The method, such as `GET`.
    let method: String
    let fields: HTTPFields
    /// The parameters of the query.
    let parameters: [String: String]
    let body: [UInt8]
    /// The origin of this server as devices address it, such as `https://updates.example.com`.
    let origin: String

    /// The maximum size of a body. Reports have a few hundred bytes, but Capgo's client collects them.
    var maxBodyBytes: Int { service == "capgo" ? CapgoEvents.maxBytes : 16 * 1024 }

    /// Returns nil if the path names no app, or no service of it.
    ///
    /// - Parameter origin: the origin for URLs; nil for the one that the request names.
    init?(_ request: Request, scheme: String, origin: String?) {
        let target = PortalRequest(target: request.targetText)
        guard target.path.hasPrefix(UpdatePaths.prefix) else { return nil }
        let parts = target.path.dropFirst(UpdatePaths.prefix.count).split(
            separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, let app = AppName(String(parts[0])) else { return nil }
        self.app = app
        service = String(parts[1])
        path = parts.count > 2 ? String(parts[2]) : ""
        method = request.method
        fields = request.fields
        parameters = target.fields
        body = Array(request.body)
        self.origin = origin ?? "\(scheme)://\(request.authority)"
    }

    /// A parameter of the query; nil if it is missing or empty.
    subscript(parameter name: String) -> String? { parameters[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// The URL at which this server serves a stored file of the app.
    func url(ofStored url: String) -> String {
        guard url.hasPrefix(app.storedBase) else { return url }
        return "\(origin)\(UpdatePaths.prefix)\(app.text)/files/\(url.dropFirst(app.storedBase.count))"
    }

    /// Whether it asks for something, and changes nothing.
    var isReading: Bool { method == "GET" || method == "HEAD" }

    /// The release with the URLs at which this server serves its files.
    func serving(_ release: Release) -> Release { release.mappingURLs { self.url(ofStored: $0) } }
}
