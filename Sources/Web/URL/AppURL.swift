/// The URL of a file in a release of an app, which `larder publish` stored: `https://APP.app.invalid/RELEASE/PATH`.
///
/// RFC 2606 reserves the domain, so that these URLs never belong to anyone else, and no command fetches them.
package struct AppURL: Sendable, Hashable {
    /// The name of the app.
    package let app: String
    /// The ID of the release: the first segment of the path.
    package let release: String

    /// Returns nil for a URL that is not below a release of an app.
    package init?(_ href: String) {
        let parts = href.utf8.split(
            separator: UInt8(ascii: "/"), maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].elementsEqual("https:".utf8), parts[1].isEmpty, !parts[3].isEmpty,
            parts[2].count > Self.domain.utf8.count,
            parts[2].suffix(Self.domain.utf8.count).elementsEqual(Self.domain.utf8)
        else { return nil }
        app = String(decoding: parts[2].dropLast(Self.domain.utf8.count), as: UTF8.self)
        release = String(decoding: parts[3], as: UTF8.self)
    }

    /// The beginning of the URLs of all files of the release.
    package var base: String { Self.base(ofApp: app) + release + "/" }

    private static let domain = ".app.invalid"
    private static let siteSuffix = " (app)"

    /// A pattern for LIKE in SQL that the URLs of all apps match.
    package static let likePattern = base(ofApp: "%") + "%"

    /// The beginning of the URLs of all files of an app.
    package static func base(ofApp app: String) -> String { "https://\(app)\(domain)/" }

    /// The name of the site that has the releases of an app.
    package static func site(ofApp app: String) -> String { app + siteSuffix }

    /// The name of the app whose releases a site has; nil for all other sites.
    package static func app(ofSite name: String) -> String? {
        name.hasSuffix(siteSuffix) ? String(name.dropLast(siteSuffix.count)) : nil
    }

    /// The name of the manifest that is added to each release. The names of hidden files begin with a dot, and they are not
    /// published, so that no file has this name.
    package static let manifestName = ".larder-manifest.json"
    /// The name of the zip file of all other files that is added to a release for all platforms.
    package static let archiveName = ".larder-files.zip"
}
