// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

func room(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies + ["TestOrigin"], swiftSettings: settings)
}

let package = Package(
    name: "larder",
    products: [
        .library(name: "LarderKit", targets: ["LarderKit"]),
        .executable(name: "larder", targets: ["larder"]),
    ],
    targets: [
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CTLS", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CICU", pkgConfig: "icu-uc", providers: [.apt(["libicu-dev"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CCodings"),

        room("System", []),
        room("Web", ["CICU"]),
        room("Markup", ["Web", "CXML2"]),
        room("Digest", ["COpenSSL"]),
        room("Store", ["System", "Web", "Digest", "CSQLite", "CLinux"]),
        room("Codings", ["Web", "CCodings"]),
        room("Fetch", ["System", "Web", "Codings", "CCurl", "CLinux"]),
        room("Bundles", ["Web", "Markup", "Digest"]),
        room("TLS", ["System", "Web", "CTLS"]),
        room("Browser", ["System", "Web"]),
        room("Crawl", ["System", "Web", "Markup", "Digest", "Codings", "Store", "Fetch", "Bundles"]),
        room("Reports", ["System", "Web", "Digest", "Store"]),
        room("Search", ["System", "Web", "Markup", "Store", "Reports"]),
        room("Check", ["System", "Web", "Markup", "Digest", "Store", "Fetch", "Bundles", "Crawl", "Reports", "Search"]),
        room("Archives", ["System", "Web", "Markup", "Digest", "Codings", "Store"]),
        room("Serve", ["System", "Web", "Markup", "Digest", "Store", "Bundles", "TLS", "Reports", "Search", "CLinux"]),
        room(
            "LarderKit",
            [
                "System", "Web", "Markup", "Digest", "Store", "Fetch", "Bundles", "TLS", "Browser", "Crawl", "Reports",
                "Search", "Check", "Archives", "Serve",
            ]),
        .executableTarget(
            name: "larder", dependencies: ["System", "Web", "Reports", "LarderKit"],
            resources: [.embedInCode("Demo/Site"), .embedInCode("Demo/demo.json")], swiftSettings: settings),

        .target(name: "TestOrigin", dependencies: ["Web"], path: "Tests/TestOrigin", swiftSettings: settings),
        tests("TestOriginTests", []),
        tests("SystemTests", ["System"]),
        tests("WebTests", ["Web"]),
        tests("MarkupTests", ["Web", "Markup"]),
        tests("DigestTests", ["Digest"]),
        tests("StoreTests", ["System", "Web", "Digest", "Store", "StoreFaults"]),
        tests("FetchTests", ["System", "Web", "Codings", "Fetch"]),
        tests("TLSTests", ["System", "TLS"]),
        tests("BundlesTests", ["Web", "Digest", "Bundles"]),
        tests("BrowserRoomTests", ["System", "Web", "Browser"]),
        tests("CrawlTests", ["System", "Web", "Store", "Fetch", "Crawl", "Soak"]),
        tests("ReportsTests", ["System", "Web", "Store", "Reports"]),
        tests("SearchTests", ["System", "Web", "Markup", "Store", "Reports", "Search"]),
        tests("CheckTests", ["System", "Web", "Digest", "Bundles", "Store", "Fetch", "Check", "LarderKit"]),
        tests("ArchivesTests", ["System", "Web", "Markup", "Digest", "Codings", "Store", "Archives"]),
        tests("ServeTests", ["System", "Web", "Markup", "Store", "Fetch", "TLS", "Reports", "Serve", "LarderKit"]),
        tests("LarderKitTests", ["System", "Web", "Digest", "Bundles", "Store", "Fetch", "Crawl", "Check", "LarderKit"]),
        tests("CLITests", ["System", "Web", "Digest", "Store", "Fetch", "Crawl", "Check", "LarderKit", "larder"]),
        tests("BrowserTests", ["System", "Web", "Markup", "TLS", "Browser", "Serve", "LarderKit"]),

        .executableTarget(
            name: "Fuzz", dependencies: ["Web", "Markup", "Bundles", "TLS", "Archives", "Search", "Serve"], path: "Tests/Fuzz", exclude: ["Corpus"],
            swiftSettings: settings),
        .executableTarget(
            name: "Soak", dependencies: ["System", "Web", "Store", "Fetch", "Crawl", "TestOrigin"], path: "Tests/Soak",
            swiftSettings: settings),
        .executableTarget(
            name: "StoreFaults", dependencies: ["Store"], path: "Tests/StoreFaults", swiftSettings: settings),
        .executableTarget(
            name: "StoreBenchmark", dependencies: ["Web", "Store"], path: "Benchmarks/Store", swiftSettings: settings),
        .executableTarget(
            name: "BrowserBenchmark", dependencies: ["System", "Browser", "TestOrigin"], path: "Benchmarks/Browser",
            swiftSettings: settings),
        .executableTarget(
            name: "MarkupBenchmark", dependencies: ["Web", "Markup", "CXML2"], path: "Benchmarks/Markup",
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
