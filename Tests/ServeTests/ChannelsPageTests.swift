import Rollouts
import Store
import Testing
import Web

@testable import Portal
@testable import Reports

/// The portal's page of the updates that apps get.
@Suite struct ChannelsPageTests {
    private let shelf: PortalShelf

    init() throws {
        shelf = try PortalShelf([.init(href: PortalShelf.site, title: "Recipes")])
    }

    private func publish(_ changes: (inout Channel, HTTPDate) throws -> Void) throws {
        var channel = Channel("beta <1>")
        try changes(&channel, HTTPDate(secondsSinceEpoch: PortalShelf.now - 3600))
        let text = channel.storedText
        try ChannelDatabase(shelf.folder).change(.init(app: "shop", channel: channel.name)) { _ in .init(text)
        }
    }

    @Test func `the updates of each channel are listed with their state, the newest first`() throws {
        try publish { channel, now in
            let old = channel.publish(.embedded(.ios, runtimeVersion: "1.0"), at: now)
            channel.publish(
                .embedded(.ios, runtimeVersion: "1.0"), share: try #require(Share("10%")), at: now)
            try ChannelDatabase(shelf.folder).change(.init(app: "shop", channel: "beta <1>")) { _ in .init("")
            }
            for device in 0..<3 as Range<Int64> {
                try ChannelDatabase(shelf.folder).report(
                    old.id, of: .init(app: "shop", channel: "beta <1>"), device: device,
                    hasFailed: device == 0
                ) { _, _ in nil }
            }
        }
        let page = try shelf.get("/-/channels")
        #expect(page.status == 200)
        #expect(page.body.contains("shop · beta &lt;1&gt;"))
        let newest = try #require(page.body.firstRange(of: "For some devices"))
        let oldest = try #require(page.body.firstRange(of: "For all devices"))
        #expect(newest.lowerBound < oldest.lowerBound)
        #expect(page.body.contains("<td class=\"number\">10%</td>"))
        #expect(page.body.contains("60 minutes ago") && page.body.contains("ios, 1.0"))
        let channel = try shelf.get("/-/channels?format=json").json()["channels"]?.array?.first
        #expect(channel?["app"]?.string == "shop")
        #expect(channel?["updates"]?.array?.map { $0["state"]?.string } == ["partial", "live"])
        #expect(channel?["updates"]?.array?.map { $0["installed"]?.int } == [0, 2])
        #expect(channel?["updates"]?.array?.map { $0["failed"]?.int } == [0, 1])
        #expect(try shelf.get("/").body.contains("href=\"/-/channels\""))
        #expect(try shelf.get("/-/channels", in: .german).body.contains("Für einen Teil der Geräte"))
    }

    /// A device for which the newest release is not, and one that has reported that it runs it.
    @Test func `the page shows which updates a device gets, and why`() throws {
        let key = ChannelDatabase.Key(app: "shop", channel: "beta <1>")
        var newest = ""
        try publish { channel, now in
            channel.publish(.embedded(.ios, runtimeVersion: "1.0"), at: now)
            let last = channel.publish(.embedded(.ios, runtimeVersion: "1.0"), share: .none, at: now)
            channel.update(last.id) { $0.allowedDevices = ["tester"] }
            newest = last.id
        }
        try ChannelDatabase(shelf.folder).report(
            newest, of: key, device: ChannelDatabase.hash(ofDevice: "has it"), hasFailed: false
        ) { _, _ in nil }
        let form = try shelf.get("/-/channels").body
        #expect(form.contains("<input id=\"device\" name=\"device\""))
        #expect(!form.contains("Gets it"))

        let outside = try shelf.get("/-/channels?device=%3Cb%3E").body
        #expect(outside.contains("&lt;b&gt;") && !outside.contains("<b>"))
        #expect(outside.contains("has not reported about the last updates"))
        #expect(outside.contains("Not among the 0% of devices") && outside.contains("For all devices"))
        let kept = try shelf.get("/-/channels?device=has+it").body
        #expect(kept.contains("by its ID and its reports") && kept.contains("Runs it already"))
        #expect(try shelf.get("/-/channels?device=tester").body.contains("Chosen by its ID"))
        #expect(
            try shelf.get("/-/channels?device=tester", in: .german).body.contains(
                "Durch seine ID ausgewählt"))
        #expect(try shelf.get("/-/channels?device=tester", in: .chinese).body.contains("按 ID 指定"))

        func updates(_ device: String) throws -> [JSONValue] {
            let json = try shelf.get("/-/channels?format=json&device=\(device)").json()
            let answers = json["device"]?.array?.first?["answers"]?.array ?? []
            #expect(answers.count == 1 && answers.first?["runtimeVersion"]?.string == "1.0")
            return answers.first?["updates"]?.array ?? []
        }
        #expect(try updates("x").map { $0["reason"]?.string } == ["outside", "all"])
        #expect(try updates("x").map { $0["gets"]?.bool } == [false, true])
        #expect(try updates("has+it").map { $0["reason"]?.string } == ["kept"])
        #expect(try updates("has+it").map { $0["reported"]?.string } == ["installed"])

        let long = try shelf.get("/-/channels?device=" + String(repeating: "x", count: 257)).body
        #expect(long.contains("at most 256 bytes") && !long.contains("Gets it"))
        let unchosen = try shelf.get("/-/channels?device=&format=json").json()
        #expect(unchosen["device"] == nil && unchosen["channels"]?.array?.count == 1)
    }

    @Test func `the channels about which a device has reported are first`() throws {
        let database = try ChannelDatabase(shelf.folder)
        let now = HTTPDate(secondsSinceEpoch: PortalShelf.now)
        for (index, app) in ["a", "b", "c"].enumerated() {
            var channel = Channel("production")
            // Updates to the built-in code have equal IDs if they have the same time.
            let time = now.adding(seconds: Int64(index))
            let update = channel.publish(.embedded(.ios, runtimeVersion: "1.0"), at: time)
            let (text, key) = (channel.storedText, ChannelDatabase.Key(app: app, channel: channel.name))
            try database.change(key) { _ in .init(text) }
            guard app == "b" else { continue }
            let device = ChannelDatabase.hash(ofDevice: "7f3a")
            try database.report(update.id, of: key, device: device, hasFailed: true) { _, _ in nil }
        }
        let found = try ChannelReports(shelf.folder).updates(ofDevice: "7f3a", at: now)
        #expect(found.map(\.app) == ["b", "a", "c"])
        #expect(found.map(\.hasReports) == [true, false, false])
        #expect(found[0].answers[0].updates[0].hasFailed == true)
    }

    @Test func `the page says how many bytes of requested files did not have to be sent`() throws {
        try publish { channel, now in channel.publish(.embedded(.ios, runtimeVersion: "1.0"), at: now) }
        var figures = UpdateFigures()
        #expect(try !shelf.get("/-/channels", updates: figures).body.contains("Since this server started"))
        (figures.fileBytes, figures.savedBytes) = (12_000_000, 11_500_000)
        let page = try shelf.get("/-/channels", updates: figures).body
        #expect(page.contains("requested files of 12.0 MB. Of that, it did not have to send 11.5 MB"))
        let json = try shelf.get("/-/channels?format=json", updates: figures).json()
        #expect(json["requestedBytes"]?.int == 12_000_000 && json["savedBytes"]?.int == 11_500_000)
    }

    /// The metrics are read every few seconds, and the state of a channel may have megabytes.
    @Test func `a channel is parsed again only after it has changed, and its counts are current`() throws {
        let reports = ChannelReports(shelf.folder)
        let now = HTTPDate(secondsSinceEpoch: PortalShelf.now)
        #expect(try reports.all(at: now).isEmpty)
        var update = ""
        try publish { channel, now in
            update = channel.publish(.embedded(.ios, runtimeVersion: "1.0"), at: now).id
        }
        let database = try ChannelDatabase(shelf.folder)
        let key = ChannelDatabase.Key(app: "shop", channel: "beta <1>")
        for device in 1...3 as ClosedRange<Int64> {
            try database.report(update, of: key, device: device, hasFailed: false) { _, _ in nil }
            #expect(try reports.all(at: now).map { $0.updates.map(\.installed) } == [[Int(device)]])
        }
        #expect(reports.parseCount == 1)
        try publish { channel, now in channel.publish(.embedded(.ios, runtimeVersion: "2.0"), at: now) }
        #expect(try reports.all(at: now)[0].updates.count == 1 && reports.parseCount == 2)
        #expect(try database.remove(key))
        #expect(try reports.all(at: now).isEmpty)
    }

    @Test func `a store without updates has no link to the page, which then says how to publish`() throws {
        try #require(shelf.folder.server == nil)
        #expect(try !shelf.get("/").body.contains("/-/channels"))
        let page = try shelf.get("/-/channels")
        #expect(page.status == 200 && page.body.contains("<code>larder help publish</code>"))
    }
}
