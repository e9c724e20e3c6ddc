/// How the loop fetches. Every limit on what a server may send is here.
package struct FetchOptions: Sendable {
    package var userAgent: String
    /// Bodies that grow past `spoolThreshold` go to files in this folder.
    package var spoolFolder: String
    package var spoolThreshold = 1024 * 1024
    /// After content coding is undone, so that a small download cannot become an endless body.
    package var maxBody = 8 * 1024 * 1024 * 1024
    package var maxHeader = 256 * 1024
    package var connectTimeout: Duration = .seconds(20)
    /// A transfer that gets nothing for so long is given up.
    package var stallTimeout: Duration = .seconds(30)
    /// Connections that stay open for the next request.
    package var keptConnections = 64

    package init(userAgent: String, spoolFolder: String) {
        self.userAgent = userAgent
        self.spoolFolder = spoolFolder
    }
}
