// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// What each target may import, and what comes with that.
var behind: [String: [String]] = [:]

/// A module is built anew when one changes that stands here, and not when one does that those import: it would go on with
/// values laid out as they were. So all of them stand here; a test sees to it that each is imported by whom it is meant for.
@MainActor func all(_ names: [String], behind name: String) -> [Target.Dependency] {
    var all: [String] = []
    for name in names.flatMap({ [$0] + (behind[$0] ?? []) }) where !all.contains(name) { all.append(name) }
    behind[name] = all
    return all.map { .init(stringLiteral: $0) }
}

@MainActor func room(_ name: String, _ dependencies: [String]) -> Target {
    .target(name: name, dependencies: all(dependencies, behind: name), swiftSettings: settings)
}

@MainActor func tests(_ name: String, _ dependencies: [String]) -> Target {
    .testTarget(
        name: name, dependencies: all(dependencies + ["TestOrigin"], behind: name), swiftSettings: settings)
}

@MainActor func program(
    _ name: String, _ dependencies: [String], path: String? = nil, exclude: [String] = [],
    resources: [Resource] = []
) -> Target {
    .executableTarget(
        name: name, dependencies: all(dependencies, behind: name), path: path, exclude: exclude,
        resources: resources,
        swiftSettings: settings)
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
        .systemLibrary(name: "CPQ"),
        .systemLibrary(name: "CCodings"),

        room("System", []),
        room("Web", ["CICU"]),
        room("Markup", ["Web", "CXML2"]),
        room("Digest", ["COpenSSL"]),
        room("Codings", ["Web", "CCodings"]),
        room("Store", ["System", "Web", "Digest", "Codings", "CSQLite", "CPQ", "CLinux"]),
        room("Fetch", ["System", "Web", "Codings", "CCurl", "CLinux"]),
        room("Bundles", ["Web", "Markup", "Digest"]),
        room("TLS", ["System", "Web", "CTLS"]),
        room("Browser", ["System", "Web"]),
        room("Crawl", ["System", "Web", "Markup", "Digest", "Codings", "Store", "Fetch", "Bundles"]),
        room("Reports", ["Web", "Digest", "Store"]),
        room("Search", ["System", "Web", "Markup", "Store", "Reports"]),
        room(
            "Check",
            ["System", "Web", "Markup", "Digest", "Store", "Fetch", "Bundles", "Crawl", "Reports", "Search"]),
        room("Archives", ["System", "Web", "Markup", "Digest", "Codings", "Store", "Bundles"]),
        room(
            "Serve",
            ["System", "Web", "Markup", "Digest", "Store", "Bundles", "TLS", "Reports", "Search", "CLinux"]),
        room(
            "LarderKit",
            [
                "System", "Web", "Markup", "Digest", "Store", "Fetch", "Bundles", "TLS", "Browser", "Crawl",
                "Reports",
                "Search", "Check", "Archives", "Serve",
            ]),
        program(
            "larder", ["System", "Web", "Reports", "LarderKit"],
            resources: [.embedInCode("Demo/Site"), .embedInCode("Demo/demo.json")]),

        .target(
            name: "TestOrigin", dependencies: all(["Web"], behind: "TestOrigin"), path: "Tests/TestOrigin",
            swiftSettings: settings),
        program(
            "Fuzz", ["Web", "Markup", "Bundles", "TLS", "Fetch", "Archives", "Search", "Serve"],
            path: "Tests/Fuzz", exclude: ["Corpus"]),
        program(
            "Soak", ["System", "Web", "Store", "Fetch", "Crawl", "TestOrigin"], path: "Tests/Soak",
            exclude: ["torture.py"]),
        program("StoreFaults", ["Store"], path: "Tests/StoreFaults"),
        program("StoreBenchmark", ["Web", "Store"], path: "Benchmarks/Store"),
        program(
            "SearchBenchmark", ["Web", "Digest", "Store", "Search"], path: "Benchmarks/Search",
            exclude: ["questions.tsv"]),
        program("BrowserBenchmark", ["System", "Browser", "TestOrigin"], path: "Benchmarks/Browser"),
        program("MarkupBenchmark", ["Web", "Markup", "CXML2"], path: "Benchmarks/Markup"),

        tests("TestOriginTests", []),
        tests("SystemTests", ["System"]),
        tests("WebTests", ["Web"]),
        tests("MarkupTests", ["Web", "Markup"]),
        tests("DigestTests", ["Digest"]),
        tests("CodingsTests", ["System", "Web", "Codings"]),
        tests("StoreTests", ["System", "Web", "Digest", "Store", "StoreFaults"]),
        tests("FetchTests", ["System", "Web", "Fetch"]),
        tests("TLSTests", ["TLS"]),
        tests("BundlesTests", ["Web", "Digest", "Bundles"]),
        tests("BrowserTests", ["System", "Web", "Browser"]),
        tests("CrawlTests", ["System", "Web", "Markup", "Store", "Fetch", "Crawl", "Soak"]),
        tests("ReportsTests", ["Web", "Store", "Reports"]),
        tests("SearchTests", ["System", "Store", "Reports", "Search"]),
        tests(
            "CheckTests",
            ["System", "Web", "Digest", "Bundles", "Store", "Fetch", "Crawl", "Check", "LarderKit"]),
        tests("ArchivesTests", ["System", "Web", "Markup", "Digest", "Codings", "Store", "Archives"]),
        tests(
            "ServeTests",
            [
                "System", "Web", "Codings", "Markup", "Digest", "Store", "Fetch", "Bundles", "TLS", "Reports",
                "Search",
                "Serve", "LarderKit",
            ]),
        tests(
            "LarderKitTests",
            [
                "System", "Web", "Digest", "Bundles", "Store", "Fetch", "Crawl", "Reports", "Check", "Serve",
                "LarderKit",
            ]),
        tests(
            "CLITests",
            ["System", "Web", "Digest", "Store", "Fetch", "Crawl", "Check", "LarderKit", "larder"]),
        tests("InBrowserTests", ["System", "Web", "Markup", "TLS", "Browser", "Serve", "LarderKit"]),
    ],
    swiftLanguageModes: [.v6]
)
