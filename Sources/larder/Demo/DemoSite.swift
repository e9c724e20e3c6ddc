/// The site of `larder demo`. It is embedded in the binary, so that the demo needs no files and no network.
enum DemoSite {
    /// A file of the site, with its media type.
    struct File {
        let type: String
        let body: [UInt8]
    }

    /// The manifest with the site's bundle and its MD5 digest: manifests/demo.json.
    static var manifest: [UInt8] { PackageResources.demo_json }

    /// A release of the site: the content of its bundle and manifest.
    enum Release: Sendable {
        case first
        /// The manifest is of the second release, but the bundle's URL returns a login page.
        case broken, second
    }

    static let manifestPath = "/bundles.json"
    private static let bundlePath = "/bundles/main.weex.js"
    private static let second = Array("// release 2\n".utf8)
    private static let secondManifest = Array(
        """
        {"site": "demo", "start": ["/"], "bundles": [
            {"url": "/bundles/main.weex.js", "md5": "b1da4f7676daa2df6e4da7bd4519bbe6"}]}
        """.utf8)

    /// The file at a request's target in the given release; nil if there is none.
    static func file(at target: String, of release: Release) -> File? {
        switch target {
        case manifestPath: File(type: "application/json", body: release == .first ? manifest : secondManifest)
        case bundlePath where release == .broken:
            File(type: "text/html", body: Array("<h1>Log in first</h1>".utf8))
        case bundlePath where release == .second: File(type: "text/javascript", body: second)
        default: file(at: target)
        }
    }

    /// The file at a request's target in the first release; nil if there is none. Ignores the query.
    static func file(at target: String) -> File? {
        let path = String(target.prefix { $0 != "?" })
        guard let body = bodies[path] else { return nil }
        return File(
            type: types[path.split(separator: ".").last ?? ""] ?? "text/html; charset=utf-8", body: body)
    }

    // The names of embedded resources omit the folder, so the file names below Site must be unique.
    private static let bodies: [String: [UInt8]] = [
        "/": PackageResources.index_html,
        "/bundles/main.weex.js": PackageResources.main_weex_js,
        "/fonts/stencil.woff2": PackageResources.stencil_woff2,
        "/gallery.html": PackageResources.gallery_html,
        "/images/apples-300.png": PackageResources.apples_300_png,
        "/images/apples-600.png": PackageResources.apples_600_png,
        "/images/bread-300.png": PackageResources.bread_300_png,
        "/images/bread-600.png": PackageResources.bread_600_png,
        "/images/jar.svg": PackageResources.jar_svg,
        "/images/jars-300.png": PackageResources.jars_300_png,
        "/images/jars-600.png": PackageResources.jars_600_png,
        "/images/paper.png": PackageResources.paper_png,
        "/images/wave.svg": PackageResources.wave_svg,
        "/index.html": PackageResources.index_html,
        "/jar.html": PackageResources.jar_html,
        "/recipes/country-bread.html": PackageResources.country_bread_html,
        "/recipes/plum-jam.html": PackageResources.plum_jam_html,
        "/scripts/main.js": PackageResources.main_js,
        "/scripts/modules/greeting.js": PackageResources.greeting_js,
        "/scripts/modules/jars.js": PackageResources.jars_js,
        "/site.webmanifest": PackageResources.site_webmanifest,
        "/styles/palette.css": PackageResources.palette_css,
        "/styles/site.css": PackageResources.site_css,
    ]

    private static let types: [Substring: String] = [
        "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8",
        "png": "image/png",
        "svg": "image/svg+xml",
        "webmanifest": "application/manifest+json",
        "woff2": "font/woff2",
    ]
}
