internal import Reports
internal import Store
internal import System
internal import Web

/// The figures of an update server since it started.
package struct UpdateFigures: Sendable {
    /// The number of requests of each service, such as `expo`, with each outcome, such as `update`.
    package var requests: [(service: String, outcome: String, count: Int)] = []
    /// The size of the files of releases that were requested.
    package var fileBytes = 0
    /// The bytes that were not sent because a client had an earlier version of a file.
    package var savedBytes = 0
    /// The reports that were stored for the first time.
    package var newReports = 0
    /// The reports that could not be stored.
    package var droppedReports = 0
    /// The devices that wait for a change.
    package var waiting = 0

    package init() {}
}

extension MetricsText {
    /// Adds the figures of an update server.
    mutating func add(_ figures: UpdateFigures) {
        add(
            "updates_requests_total", .counter, "Requests to the update server, by service and outcome.",
            figures.requests.map {
                (
                    labels: [(name: "service", value: $0.service), (name: "outcome", value: $0.outcome)],
                    Double($0.count)
                )
            })
        add(
            "updates_file_bytes_total", .counter, "Bytes of the requested files of releases.",
            Double(figures.fileBytes))
        add(
            "updates_saved_bytes_total", .counter,
            "Bytes that were not sent because a client had an earlier version of a file.",
            Double(figures.savedBytes))
        add(
            "updates_reports_total", .counter,
            "Reports of devices: new ones, and those that could not be stored.",
            [
                (labels: [(name: "state", value: "new")], Double(figures.newReports)),
                (labels: [(name: "state", value: "dropped")], Double(figures.droppedReports)),
            ])
        add("updates_waiting", .gauge, "Devices that wait for a change.", Double(figures.waiting))
    }

    /// Adds the updates of all channels that are not replaced.
    mutating func add(_ channels: [ChannelReport]) {
        typealias Sample = (labels: [(name: String, value: String)], value: Double)
        var (shares, halted, devices): ([Sample], [Sample], [Sample]) = ([], [], [])
        for channel in channels {
            for update in channel.updates where update.state != .replaced {
                let labels = [
                    (name: "app", value: channel.app), (name: "channel", value: channel.channel),
                    (name: "platform", value: update.platform), (name: "update", value: update.id),
                ]
                let percent = Double(update.share.dropLast()) ?? 0
                shares.append((labels, update.state == .halted ? 0 : percent / 100))
                halted.append((labels, update.state == .halted ? 1 : 0))
                devices.append((labels + [(name: "state", value: "installed")], Double(update.installed)))
                devices.append((labels + [(name: "state", value: "failed")], Double(update.failed)))
            }
        }
        add("update_share", .gauge, "The share of devices that get an update.", shares)
        add("update_halted", .gauge, "Whether an update was halted.", halted)
        add("update_devices", .gauge, "Devices that reported about an update.", devices)
    }
}
