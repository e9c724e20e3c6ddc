internal import Glibc

/// How the loop fetches. Every limit on what a server may send is here.
package struct FetchOptions: Sendable {
    package var userAgent: String
    /// Bodies that grow past `spoolThreshold` go to files in this folder.
    package var spoolFolder: String
    package var spoolThreshold = 512 * 1024
    /// After content coding is undone, so that a small download cannot become an endless body.
    package var maxBody = 8 * 1024 * 1024 * 1024
    package var maxHeader = 256 * 1024
    package var connectTimeout: Duration = .seconds(20)
    /// A transfer that gets nothing for so long is given up.
    package var stallTimeout: Duration = .seconds(30)
    /// Connections that stay open for the next request.
    package var keptConnections = 64
    /// The hosts that no proxy is asked for, as libcurl takes them.
    package var directHosts = FetchOptions.directHosts(
        given: (getenv("no_proxy") ?? getenv("NO_PROXY")).map { String(cString: $0) })

    package init(userAgent: String, spoolFolder: String) {
        self.userAgent = userAgent
        self.spoolFolder = spoolFolder
    }

    /// What `$no_proxy` names, and this machine: a proxy would look for it in itself.
    package static func directHosts(given: String?) -> String {
        let loopback = "localhost,.localhost,127.0.0.0/8,::1"
        guard let given, !given.isEmpty else { return loopback }
        // libcurl takes the star for every host only while it stands alone.
        return given == "*" ? given : "\(given),\(loopback)"
    }
}
