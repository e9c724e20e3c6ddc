/// The site of `larder demo`, kept inside the binary so that the demo needs no file and no network.
enum DemoSite {
    struct File {
        let type: String
        let body: [UInt8]
    }

    /// The manifest that names the site's bundle and its MD5: manifests/demo.json.
    static var manifest: [UInt8] { PackageResources.demo_json }

    /// What the site has of its bundle, and what its manifest says of it.
    enum Release: Sendable {
        case first
        /// A new one is announced, and something else is sent.
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

    /// Of a release, where its files differ from those of the first.
    static func file(at target: String, of release: Release) -> File? {
        switch target {
        case manifestPath: File(type: "application/json", body: release == .first ? manifest : secondManifest)
        case bundlePath where release == .broken:
            File(type: "text/html", body: Array("<h1>Log in first</h1>".utf8))
        case bundlePath where release == .second: File(type: "text/javascript", body: second)
        default: file(at: target)
        }
    }

    /// The file at a request's target, whatever its query; nil when the site has none there.
    static func file(at target: String) -> File? {
        let path = String(target.prefix { $0 != "?" })
        guard let body = bodies[path] else { return nil }
        return File(
            type: types[path.split(separator: ".").last ?? ""] ?? "text/html; charset=utf-8", body: body)
    }

    // Embedded resources are named by their file names alone, so no two files below Site may share one.
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
