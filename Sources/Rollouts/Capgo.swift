internal import Digest
internal import Web

// The protocol of Capgo's plugin for Capacitor, as its documentation for self-hosted servers describes it and its clients use
// it.
// The plugin's configuration has three URLs: `updateUrl`, `statsUrl` and `channelUrl`.

/// A request of Capgo's client for the newest bundle (`updateUrl`).
package struct CapgoCheck: Sendable, Equatable {
    package let channel: String
    package let device: Device
    /// The version that the device runs: the ID of a roll-out, `builtin`, or that of the native code.
    let versionName: String
    /// Whether the client can download single files. It can since version 6.2, but without errors only since version 7.
    let readsFileLists: Bool

    /// The version that stands for the code that the app was built with.
    static let builtIn = "builtin"

    /// The maximum size of a request.
    package static let maxBytes = 16 * 1024

    /// - Parameters:
    ///   - body: the body of the request.
    ///   - parameters: those of the query. `channel` is that of devices that name none.
    package init(_ body: [UInt8], parameters: [String: String] = [:]) throws(UpdateProblem) {
        let values = RequestValues(try RequestValues.json(body, atMost: Self.maxBytes))
        channel = try values.channel("defaultChannel", orElse: parameters["channel"])
        versionName = try values.text("version_name") ?? Self.builtIn
        device = Device(
            id: try values.requiredText("device_id"), platform: .any,
            runtimeVersion: try values.text("version_build") ?? Device.unknownVersion,
            currentUpdate: versionName == Self.builtIn ? nil : versionName.lowercased())
        let major = try values.text("plugin_version")?.utf8.prefix { $0 != UInt8(ascii: ".") }
        readsFileLists = major.flatMap { Int(String($0) ?? "") } ?? 0 >= 7
    }
}

/// The events that Capgo's client sends (`statsUrl`): one, or a list of them.
package struct CapgoEvents: Sendable, Equatable {
    /// The events that show whether an update works on the device. Others, such as failed downloads, are left out: they name
    /// the version that the device runs, and not the one that it downloads.
    package let reports: [DeviceReport]

    /// The maximum size of a request. The client sends at most 200 events.
    package static let maxBytes = 256 * 1024
    /// The maximum number of events in a request.
    private static let maxEvents = 500

    /// Reads a request. Events that cannot be read are left out, unless there are no others: if the request were refused, the
    /// client would discard the other events too.
    ///
    /// - Parameter body: the body of the request.
    /// - Throws: `UpdateProblem` if no event can be read.
    package init(_ body: [UInt8]) throws(UpdateProblem) {
        let json = try RequestValues.json(body, atMost: Self.maxBytes)
        let events = json.array ?? [json]
        guard events.count <= Self.maxEvents else { throw .tooLarge }
        var reports: [DeviceReport] = []
        var problems: [UpdateProblem] = []
        for event in events {
            do throws(UpdateProblem) {
                if let report = try Self.report(event) { reports.append(report) }
            } catch {
                problems.append(error)
            }
        }
        if let problem = problems.first, problems.count == events.count { throw problem }
        self.reports = reports
    }

    /// The report in an event; nil if the event does not show whether an update works.
    private static func report(_ event: JSONValue) throws(UpdateProblem) -> DeviceReport? {
        guard event.members != nil else { throw .noJSON }
        let values = RequestValues(event)
        let hasFailed: Bool
        switch try values.requiredText("action") {
        case "set", "app_launch_ready": hasFailed = false
        case "update_fail", "set_fail", "app_launch_timeout": hasFailed = true
        default: return nil
        }
        return DeviceReport(
            rollout: try values.text("version_name"), device: try values.text("device_id"),
            hasFailed: hasFailed)
    }
}

/// A request of Capgo's client about its channel (`channelUrl`). The client stores the channel and sends it with later requests,
/// so that the server stores none.
package struct CapgoChannelRequest: Sendable, Equatable {
    package enum Action: Sendable, Equatable {
        /// `POST`: the device wants to belong to the channel.
        case set
        /// `PUT`: the device asks which channel it belongs to.
        case get
        /// `DELETE`: the device belongs to the default channel again.
        case unset
        /// `GET`: the device asks which channels it may belong to.
        case list
    }

    package let action: Action
    /// The channel that the device wants (`set`) or has (`get`, `list`); for `unset`, the default channel.
    package let channel: String

    /// - Parameters:
    ///   - method: the method of the request.
    ///   - body: its body.
    ///   - parameters: those of the query, which has the values of `GET` and `DELETE`.
    package init(
        method: String, _ body: [UInt8], parameters: [String: String] = [:]
    ) throws(UpdateProblem) {
        let values: RequestValues
        switch method {
        case "POST": action = .set
        case "PUT": action = .get
        case "DELETE": action = .unset
        default: action = .list
        }
        switch action {
        case .set, .get: values = RequestValues(try RequestValues.json(body, atMost: CapgoCheck.maxBytes))
        case .unset, .list: values = RequestValues(parameters)
        }
        switch action {
        case .set:
            _ = try values.requiredText("channel")
            channel = try values.channel("channel", orElse: nil)
        case .get, .list: channel = try values.channel("defaultChannel", orElse: parameters["channel"])
        case .unset: channel = RequestValues.defaultChannel
        }
    }
}

extension DeviceAnswer {
    /// The answer to events of Capgo's client.
    package static let capgoReceived = DeviceAnswer(.report, ["status": "ok"])

    /// The maximum number of files in a list. Clients get the zip file of a release with more.
    private static let maxListedFiles = 1000

    /// The answer to a request that is refused.
    package init(capgo problem: UpdateProblem) {
        let code =
            switch problem {
            case .noJSON: "invalid_json_body"
            case .tooLarge: "body_too_large"
            case .missing, .invalid, .tooLong: "missing_info"
            case .unknownChannel: "channel_not_found"
            case .noUpdate: "no_new_version_available"
            }
        // The client looks for channel_not_found only in answers with this status.
        let status = problem.status == 404 ? 400 : problem.status
        self.init(
            .refused, status: status, ["error": code, "message": problem.description, "kind": "failed"])
    }

    /// Answers Capgo's client with the bundle that the channel has decided on.
    ///
    /// The version is the ID of the roll-out, which the client sends back. If it runs an update and must run the code that it was
    /// built with, the version is `builtin`.
    ///
    /// - Parameter served: the release of the decision; nil if it cannot be delivered.
    package init(to check: CapgoCheck, _ decision: Channel.Decision, _ served: ServedRelease?) {
        switch decision {
        case .release(let release, let rollout, isNew: true):
            guard let served, let archive = release.archive else { break }
            let files = check.readsFileLists ? Self.listedFiles(served) : []
            self.init(
                .update,
                [
                    "version": rollout.id, "url": served.archiveURL, "checksum": archive.sha256.hex,
                    "manifest": IfAny(files),
                ])
            return
        case .embedded
        where check.device.currentUpdate != nil && check.versionName != check.device.runtimeVersion:
            self.init(.embedded, ["version": CapgoCheck.builtIn])
            return
        case .release, .embedded, .none: break
        }
        self.init(
            decision.kindWithoutUpdate,
            [
                "error": "no_new_version_available", "message": "No new version available",
                "kind": "up_to_date",
                "version": check.versionName,
            ])
    }

    /// The files with their digests. The client downloads those that it does not have. Empty if the client must download the
    /// zip file instead: if `index.html` is in a folder, the client finds it only in a zip file, and it would decompress a
    /// listed file whose name ends in `.br`.
    private static func listedFiles(_ served: ServedRelease) -> [JSONMembers] {
        let files = served.contents.files
        guard files.count <= maxListedFiles, files.contains(where: { $0.path == "index.html" }),
            !files.contains(where: { $0.path.hasSuffix(".br") })
        else { return [] }
        return files.map {
            [
                "file_name": $0.path, "file_hash": $0.sha256.hex,
                "download_url": served.base + $0.reference,
            ]
        }
    }

    /// Answers a request about channels.
    ///
    /// The list has only the default channel and that of the device, because other names of channels may be secret.
    ///
    /// - Parameter exists: whether the app has the channel.
    package init(to request: CapgoChannelRequest, exists: Bool) {
        switch request.action {
        case .set where !exists, .get where !exists: self.init(capgo: .unknownChannel(request.channel))
        case .set, .unset: self.init(.other, ["status": "ok"])
        case .get: self.init(.other, ["status": "ok", "channel": request.channel, "allowSet": true])
        case .list:
            var names = [RequestValues.defaultChannel]
            if exists, request.channel != names[0] { names.append(request.channel) }
            let list = names.enumerated().map { index, name -> JSONMembers in
                ["id": index + 1, "name": name, "public": index == 0, "allow_self_set": index > 0]
            }
            var writer = JSONWriter(.compact)
            writer.value(list)
            self.init(.other, writer.text)
        }
    }
}
