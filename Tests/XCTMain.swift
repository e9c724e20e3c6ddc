import Testing

/// Runs the tests. SwiftPM takes this file in place of a generated one, which would look for XCTest's tests in an index of all
/// sources, and builds that index only in debug builds.
@main
struct TestProgram {
    /// Several programs are linked into this one, and each `async` main function has the same name.
    @_silgen_name("$ss13_runAsyncMainyyyyYaKcF")
    private static func runAsyncMain(_ body: @Sendable @escaping () async throws -> Void)

    static func main() {
        // `swift test` also asks for the tests of XCTest, of which there are none.
        if CommandLine.arguments.contains("--testing-library"),
            !CommandLine.arguments.contains("swift-testing")
        {
            return
        }
        runAsyncMain { await Testing.__swiftPMEntryPoint() as Never }
    }
}
