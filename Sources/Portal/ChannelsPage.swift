internal import Reports
internal import Web

/// The page of the updates that apps get from this server: a table for each channel, and a form that shows which updates one
/// device gets. It changes nothing; the command does.
struct ChannelsPage: PortalPage {
    /// The updates of one device.
    struct DeviceUpdates {
        /// The ID that the visitor typed.
        let device: String
        /// The channels, those about which the device has reported first; nil if no device can have this ID.
        let channels: [DeviceUpdateReport]?
    }

    private let channels: [ChannelReport]
    private let figures: UpdateFigures?
    /// Nil if the visitor has not asked about a device.
    private let deviceUpdates: DeviceUpdates?
    let title = "Updates"
    var heading: Sentence? { .channelsTitle }
    let section = PortalSection.channels
    let isWide = true

    /// The number of updates of a channel that are shown. The JSON has all.
    private static let maxShownUpdates = 20

    /// The form field with the ID of a device.
    static let deviceField = "device"

    /// - Parameters:
    ///   - figures: the counts of the update server since it started; nil if this server has none.
    ///   - deviceUpdates: the updates of the device that the visitor asks about; nil for none.
    init(_ channels: [ChannelReport], _ figures: UpdateFigures?, _ deviceUpdates: DeviceUpdates?) {
        (self.channels, self.figures, self.deviceUpdates) = (channels, figures, deviceUpdates)
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "lead"], say: channels.isEmpty ? .noChannels : .channelsLead)
        if let figures, figures.fileBytes > 0 {
            html.element(
                "p",
                say: Phrase(
                    .updateSavings, context.language.bytes(figures.fileBytes),
                    context.language.bytes(figures.savedBytes)))
        }
        if !channels.isEmpty { writeForm(to: &html) }
        if let deviceUpdates { write(deviceUpdates, to: &html) }
        for (number, channel) in channels.prefix(PortalLimits.maxListItems).enumerated() {
            html.element("h2", ["id": "channel-\(number)"]) {
                $0.isolatedText(Wording.cut("\(channel.app) · \(channel.channel)", to: 120))
            }
            write(channel, labelledBy: "channel-\(number)", to: &html, context)
        }
        html.leftOutNote(of: channels.count)
    }

    /// Writes the form that asks about one device.
    private func writeForm(to html: inout HTMLWriter) {
        html.element("form", ["class": "find", "method": "get", "action": PortalLinks.channels]) { html in
            html.element("label", ["for": Self.deviceField], say: .deviceID)
            html.void(
                "input",
                [
                    "id": Self.deviceField, "name": Self.deviceField, "type": "search",
                    "value": deviceUpdates?.device ?? "", "required": "",
                    "maxlength": "\(DeviceUpdateReport.maxDeviceBytes)", "autocomplete": "off",
                    "spellcheck": "false",
                ])
            html.element("button", ["type": "submit", "class": "quiet"], say: .doShowDevice)
        }
    }

    /// Writes the updates that a device gets from each channel, and those that it does not get.
    private func write(_ found: DeviceUpdates, to html: inout HTMLWriter) {
        html.element("h2", ["id": "device-updates"]) {
            $0.isolatedText(Wording.cut(found.device, to: 80))
        }
        guard let channels = found.channels else {
            return html.element("p", say: Phrase(.mistakeDeviceID, "\(DeviceUpdateReport.maxDeviceBytes)"))
        }
        html.element("p", say: channels.contains(where: \.hasReports) ? .deviceLead : .deviceUnknown)
        let rows = channels.flatMap { channel in
            channel.answers.flatMap { answer in answer.updates.map { (channel, answer, $0) } }
        }
        html.scrollRegion(labelledBy: "device-updates") { html in
            html.element("table") { html in
                html.tableHead([
                    (html.words(.appAndChannel), false), (html.words(.updatePlatform), false),
                    (html.words(.updateName), false), (html.words(.deviceGets), false),
                    (html.words(.deviceReported), false),
                ])
                html.element("tbody") { html in
                    for (channel, answer, update) in rows.prefix(Self.maxDeviceRows) {
                        html.element("tr") { html in
                            html.element("th", ["scope": "row"]) {
                                $0.isolatedText(Wording.cut("\(channel.app) · \(channel.channel)", to: 80))
                            }
                            html.element("td") { html in
                                let parts = [answer.platform, answer.runtimeVersion].compactMap(\.self)
                                html.isolatedText(Wording.cut(parts.joined(separator: ", "), to: 80))
                            }
                            write(update, to: &html)
                        }
                    }
                }
            }
        }
        html.leftOutNote(of: rows.count, shown: Self.maxDeviceRows)
    }

    /// Writes the last three cells of a row.
    private func write(_ update: DeviceUpdateReport.Update, to html: inout HTMLWriter) {
        html.element("td") { html in
            if let release = update.release {
                html.isolatedText(Wording.cut(release, to: 80))
            } else {
                html.say(.updateEmbedded)
            }
        }
        html.element("td") { html in
            let isPositive = update.reason.isPositive
            html.element(
                "span", ["class": isPositive ? "badge" : "badge warn"],
                say: isPositive ? .deviceGetsIt : .deviceGetsItNot)
            html.element("div", ["class": "soft"], say: Self.reason(of: update))
        }
        html.element("td") { html in
            switch update.hasFailed {
            case nil: html.text("–")
            case true?: html.say(.failed)
            case false?: html.say(.updateInstalled)
            }
        }
    }

    private static func reason(of update: DeviceUpdateReport.Update) -> Phrase {
        switch update.reason {
        case .all: Phrase(.updateForAll)
        case .share: Phrase(.deviceInShare, update.share)
        case .allowed: Phrase(.deviceAllowed)
        case .kept: Phrase(.deviceRunsIt)
        case .keptAfterHalt: Phrase(.deviceKeepsHalted)
        case .outside: Phrase(.deviceOutsideShare, update.share)
        case .halted: Phrase(.deviceHalted)
        }
    }

    /// The number of updates of a device that are shown. The JSON has all.
    private static let maxDeviceRows = 200

    private func write(
        _ channel: ChannelReport, labelledBy id: String, to html: inout HTMLWriter, _ context: PortalContext
    ) {
        html.scrollRegion(labelledBy: id) { html in
            html.element("table") { html in
                html.tableHead([
                    (html.words(.updateName), false), (html.words(.state), false),
                    (html.words(.updateShare), true), (html.words(.updatePlatform), false),
                    (html.words(.updatePublished), false), (html.words(.updateInstalled), true),
                    (html.words(.failed), true),
                ])
                html.element("tbody") { html in
                    for update in channel.updates.prefix(Self.maxShownUpdates) {
                        html.element("tr") { write(update, to: &$0, context) }
                    }
                }
            }
        }
        html.leftOutNote(of: channel.updates.count, shown: Self.maxShownUpdates)
    }

    private func write(
        _ update: ChannelReport.Update, to html: inout HTMLWriter, _ context: PortalContext
    ) {
        html.element("th", ["scope": "row"]) { html in
            if let release = update.release {
                html.isolatedText(Wording.cut(release, to: 80))
            } else {
                html.say(.updateEmbedded)
            }
        }
        html.element("td") { html in
            let warns = update.state == .halted
            html.element(
                "span", ["class": warns ? "badge warn" : "badge"], say: Self.sentence(for: update))
            for note in Self.notes(on: update, context.language) {
                html.element("div", ["class": "soft"], say: note)
            }
        }
        html.element("td", ["class": "number"], text: update.share)
        html.element("td") { html in
            html.isolatedText(
                Wording.cut(
                    ([update.platform] + update.runtimeVersions).joined(separator: ", "), to: 80))
        }
        html.element("td") { $0.time(update.published, now: context.now) }
        html.element("td", ["class": "number"], text: html.language.number(update.installed))
        html.element("td", ["class": "number"], text: html.language.number(update.failed))
    }

    private static func sentence(for update: ChannelReport.Update) -> Sentence {
        switch update.state {
        case .live: .updateForAll
        case .partial: .updateForSome
        case .halted: update.haltedBy == "failures" ? .updateHaltedByFailures : .updateHalted
        case .replaced: .updateReplaced
        }
    }

    /// The next step of an update, the devices that get it in any case, and the share of failures that stops it.
    private static func notes(on update: ChannelReport.Update, _ language: PortalLanguage) -> [Phrase] {
        var notes: [Phrase] = []
        if let next = update.next {
            notes.append(Phrase(.updateNext, next.share, language.moment(next.time.secondsSinceEpoch)))
        }
        guard update.state == .live || update.state == .partial else { return notes }
        if update.allowedDevices > 0 {
            notes.append(Phrase(.updateAllowed, Wording.number(update.allowedDevices)))
        }
        if let share = update.haltsAt { notes.append(Phrase(.updateHaltsAt, share)) }
        return notes
    }

    func members(_ context: PortalContext) -> JSONMembers {
        [
            "channels": channels, "requestedBytes": figures?.fileBytes ?? 0,
            "savedBytes": figures?.savedBytes ?? 0,
            "device": IfAny(deviceUpdates?.channels),
        ]
    }
}
