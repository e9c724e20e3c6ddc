internal import LarderKit
internal import Reports

/// `larder publish DIR`: stores a build as a release of an app, and announces it to the devices of a channel. Without DIR, it
/// changes who gets the last release, or lists the channels.
///
/// Exit status 0: done, or the release was announced already. 2: a wrong option or folder. 3: the store failed.
/// 130: interrupted.
enum PublishCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            switch try action(arguments) {
            case .status:
                let channels = try await channels(arguments)
                guard arguments.has(.json) else {
                    terminal.report(statusText(of: channels, arguments))
                    return .done
                }
                terminal.reportJSON(ChannelReport.json(of: channels))
            case .device(let device):
                let channels = try await arguments.larder.updates(ofDevice: device).filter {
                    isChosen($0.app, $0.channel, arguments)
                }
                terminal.report(
                    arguments.has(.json)
                        ? DeviceUpdateReport.json(of: channels) : deviceText(of: channels, arguments))
            case .removeChannel:
                let channel = arguments.text(.channel) ?? PublishOptions().channel
                let app = try await arguments.larder.removeChannel(channel, ofApp: arguments.text(.app))
                terminal.say(
                    "The channel \(channel) of \(app) is removed; its devices keep their release\n"
                        + "To free the disk space of its releases: \(arguments.command("gc"))")
            case .publish(let folder):
                var options = try options(arguments, folder)
                let larder = try arguments.larder
                let display = try ProgressDisplay(arguments, terminal)
                options.progress = progress(on: display)
                let wanted = options
                let report = try await display.run(orContinueWith: arguments.commandLine) {
                    try await larder.publish(folder, options: wanted)
                }
                terminal.report(
                    arguments.has(.json) ? report.json : publishedText(of: report, arguments))
            case .change(let change):
                let report = try await arguments.larder.change(
                    change, options: try options(arguments, nil))
                terminal.report(
                    arguments.has(.json) ? report.json : changedText(of: report, change, arguments))
            }
            return .done
        }
    }

    // MARK: - Arguments

    private enum Action {
        case publish(String)
        case change(ReleaseChange)
        case status, removeChannel
        case device(String)
    }

    /// - Throws: `UsageError` for options that exclude each other or have no effect.
    private static func action(_ arguments: Arguments) throws(UsageError) -> Action {
        let folder = arguments.operands.first
        let flags: [(option: Option, action: Action)] = [
            (.channelStatus, .status), (.haltRelease, .change(.halt)), (.resumeRelease, .change(.resume)),
            (.rollBackRelease, .change(.rollBack)), (.removeChannel, .removeChannel),
            (.statusOfDevice, .device(arguments.text(.statusOfDevice) ?? "")),
        ]
        let given = flags.filter { arguments.has($0.option) }
        guard given.count <= 1 else {
            throw UsageError(
                "\(given.map(\.option.name).joined(separator: " and ")) exclude each other; use one of them")
        }
        let rules: [Option] = [.rollout, .ramp, .haltAt, .allowDevice]
        let ruled = rules.first { arguments.commandLineValue(of: $0) != nil }
        guard let flag = given.first else {
            if let folder { return .publish(folder) }
            guard ruled != nil else {
                throw UsageError(
                    "publish needs a folder, or a change of the last release such as --rollout 50%; for example: "
                        + "larder publish dist")
            }
            return .change(.update)
        }
        if let folder {
            throw UsageError(
                "\(flag.option.name) is for a published release; leave out the folder \(folder)")
        }
        if let ruled, flag.option != .resumeRelease {
            throw UsageError("\(ruled.name) has no effect with \(flag.option.name); leave one of them out")
        }
        return flag.action
    }

    private static func options(_ arguments: Arguments, _ folder: String?) throws -> PublishOptions {
        var options = PublishOptions()
        options.app = arguments.text(.app)
        options.channel = arguments.text(.channel) ?? options.channel
        options.share = arguments.text(.rollout)
        options.ramp = arguments.text(.ramp)
        options.haltAt = arguments.text(.haltAt)
        options.allowedDevices = arguments.texts(.allowDevice)
        if let folder {
            options.runtimeVersions = arguments.texts(.runtime)
            if arguments.has(.releaseKey) {
                options.key = try ManifestCommand.signingKey(arguments, folders: [folder])
            }
        } else {
            for option in [Option.runtime, .releaseKey] where arguments.commandLineValue(of: option) != nil {
                throw UsageError(
                    "\(option.name) cannot change a release that is published; publish its folder again")
            }
        }
        return options
    }

    /// The channels of `--app` and `--channel`; all by default.
    private static func channels(_ arguments: Arguments) async throws -> [ChannelReport] {
        try await arguments.larder.channels().filter { isChosen($0.app, $0.channel, arguments) }
    }

    /// Whether `--app` and `--channel` choose a channel, or choose none.
    private static func isChosen(_ app: String, _ channel: String, _ arguments: Arguments) -> Bool {
        [nil, app].contains(arguments.text(.app))
            && [nil, channel].contains(arguments.commandLineValue(of: .channel))
    }

    // MARK: - Texts

    /// Shows the step of publishing, and how many files it has processed.
    private static func progress(
        on display: ProgressDisplay
    ) -> (@Sendable (PublishOptions.Phase, WorkProgress) -> Void)? {
        guard display.isShown else { return nil }
        return { phase, progress in
            let title =
                switch phase {
                case .reading: "Reading the build"
                case .packing: "Compressing the build"
                case .storing: "Storing the release"
                case .verifying: "Verifying the release"
                }
            display.progress(title, phase: phase.rawValue)?(progress)
        }
    }

    private static func publishedText(of report: PublishReport, _ arguments: Arguments) -> String {
        let release = report.release ?? ""
        let (app, channel) = (report.channel.app, report.channel.channel)
        var lines: [String] = []
        if report.isChanged {
            let size =
                "\(Wording.count(report.files ?? 0, "file")), \(Wording.bytes(report.byteCount ?? 0))"
            lines.append("Published release \(release) of \(app) to \(channel): \(size)")
        } else {
            lines.append(
                "Release \(release) is already the last one of \(app) in \(channel); nothing changed")
        }
        if let signer = report.signer { lines.append("Its manifest is signed by \(signer.fingerprint)") }
        lines += shareLines(of: report.channel)
        lines.append("To serve it: \(arguments.command("serve", [Option.updates.name]))")
        lines += nextLines(report.channel, arguments)
        return lines.joined(separator: "\n")
    }

    private static func changedText(
        of report: PublishReport, _ change: ReleaseChange, _ arguments: Arguments
    ) -> String {
        let channel = report.channel
        let place = "\(channel.channel) of \(channel.app)"
        switch change {
        case .update: return (["Changed \(place)"] + shareLines(of: channel)).joined(separator: "\n")
        case .halt:
            return """
                No further device of \(place) gets release \(report.release ?? "-"); those that have it keep it
                To take it back: \(command(Option.rollBackRelease.name, channel, arguments))
                To go on: \(command(Option.resumeRelease.name, channel, arguments))
                """
        case .resume:
            return (["Announced again in \(place)"] + shareLines(of: channel)).joined(separator: "\n")
        case .rollBack:
            let target =
                report.release.map { "release \($0)" } ?? "the code that the app was built with"
            return "Rolled back \(place): its devices get \(target)"
        }
    }

    /// Which devices get the newest update, and when more do.
    private static func shareLines(of channel: ChannelReport) -> [String] {
        guard let update = channel.updates.first else { return [] }
        guard update.state != .halted else { return ["No device gets it: it is halted"] }
        var text = update.share == "100%" ? "All devices get it" : "\(update.share) of the devices get it"
        if update.allowedDevices > 0 {
            text += ", and \(Wording.count(update.allowedDevices, "device")) by name"
        }
        if let next = update.next {
            text += "; \(next.share) \(LocalTime.wait(until: next.time.secondsSinceEpoch))"
        }
        guard let haltsAt = update.haltsAt else { return [text] }
        return [
            text,
            "It is halted if \(haltsAt) of at least \(Larder.minReportsToHalt) devices report a failure",
        ]
    }

    /// The next steps of a publisher.
    private static func nextLines(_ channel: ChannelReport, _ arguments: Arguments) -> [String] {
        let more =
            channel.updates.first?.state == .partial
            ? ["For more devices: \(command("\(Option.rollout.name) 50%", channel, arguments))"] : []
        return more + ["To roll back: \(command(Option.rollBackRelease.name, channel, arguments))"]
    }

    /// A command line that changes the channel.
    private static func command(
        _ change: String, _ channel: ChannelReport, _ arguments: Arguments
    ) -> String {
        let isUsual = channel.channel == PublishOptions().channel
        let place = [Option.app.name, channel.app] + (isUsual ? [] : [Option.channel.name, channel.channel])
        // Not quoted: a shell reads "50%" as it is.
        return arguments.command("publish", place) + " " + change
    }

    private static func statusText(of channels: [ChannelReport], _ arguments: Arguments) -> String {
        guard !channels.isEmpty else {
            return "nothing is published; publish a build with: \(arguments.command("publish", ["DIR"]))"
        }
        var table = TextTable([
            ("App", .left), ("Channel", .left), ("Release", .left), ("For", .left), ("Share", .right),
            ("Next step", .left), ("Installed", .right), ("Failed", .right), ("State", .left), ("Age", .left),
        ])
        for channel in channels {
            for update in channel.currentUpdates {
                table.add([
                    channel.app, channel.channel, update.release ?? "as built", devices(of: update),
                    update.share,
                    update.next.map { "\($0.share) \(LocalTime.wait(until: $0.time.secondsSinceEpoch))" }
                        ?? "-",
                    Wording.number(update.installed), Wording.number(update.failed),
                    update.state.rawValue + (update.haltedBy.map { " by \($0)" } ?? ""),
                    LocalTime.age(of: update.published),
                ])
            }
        }
        return table.lines.joined(separator: "\n")
    }

    /// The updates that a device gets, and those that it does not get. Releases that are for another platform or runtime version
    /// are left out.
    private static func deviceText(of channels: [DeviceUpdateReport], _ arguments: Arguments) -> String {
        guard !channels.isEmpty else {
            return "nothing is published; publish a build with: \(arguments.command("publish", ["DIR"]))"
        }
        var table = TextTable([
            ("App", .left), ("Channel", .left), ("For", .left), ("Release", .left), ("Gets it", .left),
            ("Why", .left), ("Reported", .left),
        ])
        for channel in channels {
            for answer in channel.answers {
                for update in answer.updates {
                    table.add([
                        channel.app, channel.channel,
                        devices(answer.platform, [answer.runtimeVersion].compactMap(\.self)),
                        update.release ?? "as built", update.reason.isPositive ? "yes" : "no",
                        reason(of: update),
                        update.hasFailed.map { $0 ? "failed" : "installed" } ?? "-",
                    ])
                }
            }
        }
        return table.lines.joined(separator: "\n")
    }

    private static func reason(of update: DeviceUpdateReport.Update) -> String {
        switch update.reason {
        case .all: "it is for all devices"
        case .share: "the device is among the \(update.share)"
        case .allowed: "the device is allowed"
        case .kept: "the device runs it"
        case .keptAfterHalt: "it is halted, but the device runs it"
        case .outside: "the device is not among the \(update.share)"
        case .halted: "it is halted"
        }
    }

    /// The platform and the runtime versions, such as `ios 1.2`.
    private static func devices(of update: ChannelReport.Update) -> String {
        devices(update.platform, update.runtimeVersions)
    }

    private static func devices(_ platform: String, _ versions: [String]) -> String {
        ([platform == "any" ? "all" : platform] + [versions.joined(separator: ", ")])
            .filter { !$0.isEmpty }.joined(separator: " ")
    }
}

extension PublishCommand {
    /// The command in the table of commands.
    static let entry = CommandEntry(
        name: "publish", operands: "[DIR]", operandCount: 0...1,
        summary: "Publish a build to the devices of an app, or change who gets it",
        examples: [
            "larder publish dist --channel production --rollout 10%", "larder publish --rollout 50%",
            "larder publish --rollback", "larder publish --status", "larder publish --device 7f3a",
            "larder publish dist --app shop --runtime 1.2 --ramp 10%/1d --halt-at 2%",
        ],
        options: [
            .app, .channel, .runtime, .rollout, .ramp, .haltAt, .rollBackRelease, .haltRelease,
            .resumeRelease, .channelStatus, .statusOfDevice, .allowDevice, .releaseKey, .passphraseFile,
            .removeChannel,
            .store, .json, .quiet, .progress,
        ],
        synonyms: ["deploy", "release"],
        notes: [
            """
            Stores the files of DIR, except hidden ones (.name), with a manifest, verifies them, and then announces the release.
            Devices get it from larder serve --updates. Until the announcement nothing changes for any device.
            """,
            """
            The output of npx expo export becomes an update for each platform, and needs --runtime. Any other folder becomes an
            update for all devices, also as a zip file for clients of CodePush and Capgo.
            """,
            """
            A device that has a release keeps it while the share grows, and when it is made smaller. --ramp 10%/1d begins with 10%
            and adds 10% each day. Without --halt-at, a release for a share of the devices is halted when 3% of at least 50
            devices that report have failed. Devices that already have a halted release keep it; --rollback gives all
            devices the release before it.
            """,
            """
            --device shows, for each channel, the updates for a device and why it gets them or does not: as a server decides, and by
            the reports of the device about the last 8 updates. A device without reports may be of any platform.
            """,
            """
            --remove-channel ends a channel. larder gc removes releases that no channel has any more; a channel keeps its last
            200 updates, so that it can roll back to them.
            """,
        ], run: run)
}

/// The options of `publish`.
extension Option {
    static let app = Option(
        name: "--app", placeholder: "NAME", help: "Name of the app",
        defaultValue: "the only one, else the folder's name")
    static let channel = Option(
        name: "--channel", placeholder: "NAME", help: "Channel whose devices get the release",
        defaultValue: "production")
    static let runtime = Option(
        name: "--runtime", placeholder: "VERSION",
        help: "Version of the native code that can run the release",
        brief: "Version of the native code that can run it", isRepeatable: true)
    static let rollout = Option(
        name: "--rollout", placeholder: "SHARE", help: "Share of the devices that get it, such as 10%",
        defaultValue: "100%", isCommandLineOnly: true)
    static let ramp = Option(
        name: "--ramp", placeholder: "STEP/TIME", help: "Let the share grow by steps, such as 10%/1d",
        isCommandLineOnly: true)
    static let haltAt = Option(
        name: "--halt-at", placeholder: "SHARE",
        help: "Share of failures that halts it, or never", defaultValue: "3%")
    static let allowDevice = Option(
        name: "--allow", placeholder: "DEVICE", help: "ID of a device that gets it whatever the share",
        brief: "A device that gets it whatever the share", isRepeatable: true, isCommandLineOnly: true)
    static let haltRelease = Option(
        name: "--halt", placeholder: nil, help: "Announce the last release to no further device",
        isCommandLineOnly: true)
    static let resumeRelease = Option(
        name: "--resume", placeholder: nil, help: "Announce it again after a halt", isCommandLineOnly: true)
    static let rollBackRelease = Option(
        name: "--rollback", placeholder: nil, help: "Give all devices the release before the last one",
        isCommandLineOnly: true)
    static let channelStatus = Option(
        name: "--status", placeholder: nil, help: "List the channels, releases and failures",
        isCommandLineOnly: true)
    static let statusOfDevice = Option(
        name: "--device", placeholder: "ID", help: "Show what the device with this ID gets, and why",
        isCommandLineOnly: true)
    static let removeChannel = Option(
        name: "--remove-channel", placeholder: nil, help: "Remove a channel; its devices keep their release",
        isCommandLineOnly: true)
    static let releaseKey = Option(
        name: "--sign", placeholder: "KEY",
        help: "Sign the manifest of the release with this key (see larder key)",
        brief: "Sign the release with this key (see larder key)")
}
