import Check
import Crawl
import Fetch
import Store
import TestOrigin
import Testing
import Web

@testable import LarderKit
@testable import Mirror
@testable import Portal

/// The principal of a job decides which network zones its first requests may connect to.
@Suite struct PrincipalTests {
    private let origin: TestOrigin
    private let scratch: TemporaryFolder
    private let larder: Larder

    init() throws {
        origin = try TestOrigin()
        scratch = try TemporaryFolder()
        larder = Larder(at: scratch.file("store"))
        origin.on("/", .page("front <a href=/two>2</a>"))
        origin.on("/two", .page("two"))
        _ = try StoreWriter(larder.folder)
    }

    /// Runs a command of the portal as a job of a principal.
    private func runCommand(
        _ command: PortalCommand, by principal: Principal,
        _ configure: (inout NetworkOptions) -> Void = { _ in }
    ) -> JobEnd {
        var network = NetworkOptions()
        configure(&network)
        return PortalCommandRunner(larder: larder, network: network).run(
            command, JobRun(1, by: principal) { _ in }
        )
        .end
    }

    private func storedZone() throws -> NetworkZone? {
        try StoreReader(larder.folder).sites().first.flatMap { SitePlan(text: $0.settings).zone }
    }

    @Test(arguments: [false, true])
    func `a remote user's command never connects to addresses of this machine`(
        mayReachPrivate: Bool
    ) throws {
        for command in [
            PortalCommand.prefetch(address: origin.url("/"), SiteSettingsForm()),
            .fetch(url: origin.url("/two")),
        ] {
            let end = runCommand(command, by: .remoteUser) { $0.mayReachPrivate = mayReachPrivate }
            #expect(end == .failed)
        }
        #expect(origin.requests.isEmpty)
        #expect(runCommand(.fetch(url: origin.url("/two")), by: .localUser) == .done)
        #expect(runCommand(.prefetch(address: origin.url("/"), SiteSettingsForm()), by: .localUser) == .done)
    }

    @Test(arguments: [Principal.remoteUser, .schedule])
    func `a remote user may update a site that the local user added on this machine`(
        principal: Principal
    ) async throws {
        #expect(try await larder.prefetch([origin.url("/")]).isPublished)
        #expect(try storedZone() == .thisMachine)
        let before = origin.requests(to: "/").count
        #expect(runCommand(.update(site: origin.url("/")), by: principal) == .done)
        #expect(origin.requests(to: "/").count == before + 1)
        #expect(runCommand(.prefetch(address: origin.url("/"), SiteSettingsForm()), by: principal) == .done)
        #expect(origin.requests(to: "/").count == before + 2)
        #expect(try storedZone() == .thisMachine)
    }

    @Test func `an update of a site that a remote user added stays in its zone for every principal`()
        async throws
    {
        let proxy = try SocksProxy(to: origin.port)
        let address = "http://public.test:\(origin.port)/"
        let end = runCommand(.prefetch(address: address, SiteSettingsForm()), by: .remoteUser) {
            $0.proxy = "socks5h://127.0.0.1:\(proxy.port)"
        }
        #expect(end == .done)
        #expect(try storedZone() == .publicNetwork)
        let before = origin.requests.count
        // From now on, the name resolves to this machine.
        var options = PrefetchOptions()
        options.network.resolve = ["public.test:\(origin.port):127.0.0.1"]
        for report in try await larder.update([address], options: options) { #expect(!report.isPublished) }
        #expect(origin.requests.count == before)
        #expect(try await larder.prefetch([address], options: options).isPublished, "the user names it")
        #expect(try storedZone() == .thisMachine)
    }

    @Test(arguments: [Principal.remoteUser, .localUser, .schedule])
    func `commands from other machines never use the local user's credentials`(principal: Principal) throws {
        let proxy = try SocksProxy(to: origin.port)
        let address = "http://public.test:\(origin.port)/"
        // Includes cookies of a login in a browser.
        let cookie = "public.test\tFALSE\t/\tFALSE\t4102444800\tsession\tmine"
        try larder.folder.storeLogin(of: "public.test", [cookie])
        for command in [
            PortalCommand.prefetch(address: address, SiteSettingsForm()), .update(site: address),
            .fetch(url: address + "two"),
        ] {
            let end = runCommand(command, by: principal) {
                $0.proxy = "socks5h://127.0.0.1:\(proxy.port)"
                $0.headers = ["X-Api-Key: hunter2", "public.test Authorization: Bearer hunter2"]
            }
            #expect(end == .done, "\(command)")
        }
        #expect(origin.requests.count >= 4)
        for request in origin.requests where request.target != "/robots.txt" {
            let sent = ["X-Api-Key", "Authorization", "Cookie"].compactMap { request[$0] }
            #expect(sent.isEmpty == (principal == .remoteUser), "\(request.target): \(sent)")
        }
    }

    @Test func `reports to other machines omit URLs that only private responses mention`() async throws {
        origin.on("/open/", .page("<img src=/open/lost.png>open"))
        origin.on("/secret/", .page("<a href=/secret/plan>plan</a><img src=/secret/lost.png>"))
        origin.on("/secret/plan", .page("plan"))
        for path in ["/open/lost.png", "/secret/lost.png"] { origin.on(path, .failure(500)) }
        var options = PrefetchOptions()
        options.plan.scope.extent = .path
        _ = try await larder.prefetch([origin.url("/open/")], options: options)
        options.network.headers = ["X-Api-Key: hunter2"]
        _ = try await larder.prefetch([origin.url("/secret/")], options: options)
        func outcome(_ command: PortalCommand, _ principal: Principal) -> [String] {
            PortalCommandRunner(larder: larder, network: NetworkOptions(), hidesPrivate: true)
                .run(command, JobRun(1, by: principal) { _ in }).outcome.flatMap(\.parts)
        }
        for (command, tells) in [
            (PortalCommand.check(site: origin.url("/secret/")), "secret/lost.png"),
            (.forecast(limit: "1"), ""),
            (.pin(.init(isSite: true, name: origin.url("/secret/"))), ""),
        ] {
            #expect(outcome(command, .localUser).contains { $0.contains(tells) }, "\(command)")
            let reported = outcome(command, .remoteUser)
            #expect(
                !reported.contains { $0.contains("/secret/l") || $0.contains("/secret/p") }, "\(reported)")
            #expect(!reported.contains { $0.hasSuffix("B") }, "\(reported)")
        }
        let open = outcome(.check(site: origin.url("/open/")), .remoteUser)
        #expect(open.contains { $0.contains("/open/lost.png") }, "\(open)")
    }

    @Test func `a site stored without a zone is updated within the principal's zone`() async throws {
        _ = try await larder.prefetch([origin.url("/")])
        var plan = SitePlan(text: try #require(try StoreReader(larder.folder).sites().first).settings)
        plan.zone = nil
        try StoreWriter(larder.folder).storeSettings(plan.text, ofSite: origin.url("/"))
        let before = origin.requests.count
        #expect(runCommand(.update(site: origin.url("/")), by: .remoteUser) == .failed)
        #expect(runCommand(.update(site: origin.url("/")), by: .schedule) == .failed)
        #expect(origin.requests.count == before)
        #expect(try await larder.update([origin.url("/")]).map(\.isPublished) == [true])
        #expect(try storedZone() == .thisMachine)
    }
}
