// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// For tests, and programs that only tests and benchmarks run: not optimised where `scripts/build-tests` builds the modules
/// optimised. Optimising the tests would take longer than they run.
let testSettings =
    settings + (Context.environment["LARDER_OPTIMISED_MODULES"] == nil ? [] : [.unsafeFlags(["-Onone"])])

/// The transitive dependencies of each target so far.
var dependencies: [String: [String]] = [:]

/// Lists the direct and the transitive dependencies of a target. SwiftPM rebuilds a module only if one of the modules listed here
/// changes; without the transitive ones it would keep outdated layouts of their values. `ModuleImportTests` makes sure that a module
/// imports only the direct ones.
@MainActor func all(_ names: [String], of target: String) -> [Target.Dependency] {
    var all: [String] = []
    for name in names.flatMap({ [$0] + (dependencies[$0] ?? []) }) where !all.contains(name) {
        all.append(name)
    }
    dependencies[target] = all
    return all.map { .init(stringLiteral: $0) }
}

@MainActor func module(_ name: String, _ imports: [String]) -> Target {
    .target(name: name, dependencies: all(imports, of: name), swiftSettings: settings)
}

@MainActor func tests(_ name: String, _ imports: [String]) -> Target {
    .testTarget(
        name: name, dependencies: all(imports + ["TestOrigin"], of: name), swiftSettings: testSettings)
}

@MainActor func program(
    _ name: String, _ imports: [String], path: String? = nil, exclude: [String] = [],
    resources: [Resource] = []
) -> Target {
    .executableTarget(
        name: name, dependencies: all(imports, of: name), path: path, exclude: exclude,
        resources: resources,
        swiftSettings: name == "larder" ? settings : testSettings)
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
        // libstemmer has no file for pkg-config, and libpsl needs none: both are in the default folders.
        .systemLibrary(name: "CStemmer", providers: [.apt(["libstemmer-dev"])]),
        .systemLibrary(name: "CPSL", providers: [.apt(["libpsl-dev"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CPQ"),
        .systemLibrary(name: "CCodings"),

        module("System", []),
        module("Web", ["CICU", "CPSL"]),
        module("Markup", ["Web", "Codings", "CXML2"]),
        module("Digest", ["Web", "COpenSSL"]),
        module("TUF", ["Web", "Digest"]),
        module("Codings", ["Web", "CCodings"]),
        module("Database", ["System", "Digest", "CSQLite", "CPQ", "CLinux"]),
        module("Store", ["System", "Web", "Digest", "Codings", "Database", "CSQLite", "CLinux", "CStemmer"]),
        module("Updates", ["System", "Web", "Digest", "Codings", "Store"]),
        module("Fetch", ["System", "Web", "Codings", "CCurl", "CLinux"]),
        module("Bundles", ["Web", "Markup", "Digest"]),
        module("Rollouts", ["Web", "Digest", "Bundles"]),
        module("TLS", ["System", "Web", "CTLS"]),
        module("HTTPServer", ["System", "Web", "Markup", "Digest", "TLS", "CLinux"]),
        module("Browser", ["System", "Web"]),
        module("Cluster", ["System", "Web", "Digest", "Database", "Store"]),
        module(
            "Crawl", ["System", "Web", "Markup", "Digest", "Codings", "Store", "Cluster", "Fetch", "Bundles"]),
        module("Reports", ["Web", "Digest", "Store", "Rollouts"]),
        module("Search", ["System", "Web", "Markup", "Store", "Reports"]),
        module(
            "Check",
            [
                "System", "Web", "Codings", "Markup", "Digest", "TUF", "Store", "Fetch", "Bundles", "Crawl",
                "Reports",
            ]),
        module(
            "Prefetch",
            [
                "System", "Web", "Markup", "Digest", "Codings", "Database", "Store", "Updates", "Cluster",
                "Fetch", "Bundles",
                "Crawl", "Reports",
                "Search", "Check",
            ]),
        module("Archives", ["System", "Web", "Markup", "Digest", "Codings", "Store", "Bundles"]),
        module("Origins", ["Web", "Digest", "Store"]),
        module(
            "Portal",
            ["System", "Web", "Digest", "Store", "HTTPServer", "Origins", "Reports", "Search", "CLinux"]),
        module(
            "Mirror",
            [
                "System", "Web", "Codings", "Markup", "Digest", "Store", "Bundles", "Rollouts", "TLS",
                "HTTPServer",
                "Origins",
                "Portal", "Reports", "CLinux",
            ]),
        module(
            "LarderKit",
            [
                "System", "Web", "Markup", "Digest", "TUF", "Store", "Updates", "Fetch", "Bundles",
                "Rollouts", "TLS",
                "HTTPServer",
                "Browser",
                "Crawl", "Reports", "Search", "Check", "Prefetch", "Archives", "Portal", "Mirror",
            ]),
        program(
            "larder", ["System", "Web", "Reports", "LarderKit"],
            resources: [.embedInCode("Demo/Site"), .embedInCode("Demo/demo.json")]),

        .target(
            name: "TestOrigin", dependencies: all(["Web"], of: "TestOrigin"), path: "Tests/TestOrigin",
            swiftSettings: testSettings),
        program(
            "Fuzz",
            [
                "System", "Web", "Markup", "Digest", "TUF", "Codings", "Updates", "Bundles", "Rollouts",
                "TLS",
                "HTTPServer",
                "Archives", "Search",
            ],
            path: "Tests/Fuzz", exclude: ["Corpus"]),
        program(
            "Soak", ["System", "Web", "Store", "Fetch", "Crawl", "TestOrigin"], path: "Tests/Soak",
            exclude: ["torture.py"]),
        program("StoreFaults", ["Store"], path: "Tests/StoreFaults"),
        program("StoreBenchmark", ["Web", "Store", "Cluster"], path: "Benchmarks/Store"),
        program(
            "SearchBenchmark", ["Web", "Digest", "Store", "Search"], path: "Benchmarks/Search",
            exclude: ["questions.tsv"]),
        program("BrowserBenchmark", ["System", "Browser", "TestOrigin"], path: "Benchmarks/Browser"),
        program("MarkupBenchmark", ["Web", "Markup", "CXML2"], path: "Benchmarks/Markup"),

        tests("TestOriginTests", []),
        tests("SystemTests", ["System"]),
        tests("RolloutsTests", ["Web", "Digest", "Bundles", "Rollouts"]),
        tests("WebTests", ["Web"]),
        tests("MarkupTests", ["Web", "Markup"]),
        tests("DigestTests", ["Web", "Digest"]),
        tests("TUFTests", ["Web", "Digest", "TUF"]),
        tests("CodingsTests", ["System", "Web", "Codings"]),
        tests("StoreTests", ["System", "Web", "Digest", "Database", "Store", "Cluster", "StoreFaults"]),
        tests("UpdatesTests", ["System", "Web", "Digest", "Codings", "Store", "Updates"]),
        tests("FetchTests", ["System", "Web", "Codings", "Fetch"]),
        tests("TLSTests", ["TLS"]),
        tests("BundlesTests", ["Web", "Digest", "Bundles"]),
        tests("BrowserTests", ["System", "Web", "Browser"]),
        tests(
            "CrawlTests",
            [
                "System", "Web", "Codings", "Markup", "Digest", "Store", "Cluster", "Fetch", "Bundles",
                "Crawl",
                "Soak",
            ]),
        tests("ReportsTests", ["Web", "Digest", "Store", "Reports"]),
        tests("SearchTests", ["System", "Web", "Store", "Reports", "Search"]),
        tests(
            "CheckTests",
            [
                "System", "Web", "Digest", "Bundles", "Store", "Fetch", "Crawl", "Reports", "Check",
                "Prefetch",
                "LarderKit",
            ]),
        tests("ArchivesTests", ["System", "Web", "Markup", "Digest", "Codings", "Store", "Archives"]),
        tests(
            "ServeTests",
            [
                "System", "Web", "Codings", "Markup", "Digest", "Store", "Fetch", "Bundles", "Rollouts",
                "TLS", "HTTPServer", "Reports",
                "Search",
                "Origins", "Portal", "Mirror", "LarderKit",
            ]),
        tests(
            "LarderKitTests",
            [
                "System", "Web", "Digest", "TUF", "Bundles", "Database", "Store", "Fetch", "Crawl", "Reports",
                "Check", "Prefetch",
                "Portal", "Mirror", "LarderKit",
            ]),
        tests(
            "CLITests",
            [
                "System", "Web", "Digest", "Database", "Store", "Cluster", "Fetch", "Crawl", "Check",
                "LarderKit",
                "larder",
            ]),
        tests(
            "InBrowserTests",
            [
                "System", "Web", "Digest", "Markup", "Store", "TLS", "HTTPServer", "Browser", "Crawl",
                "Mirror",
                "LarderKit",
            ]),
    ],
    swiftLanguageModes: [.v6]
)
