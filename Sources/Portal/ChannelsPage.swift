internal import Reports
internal import Web

/// The page of the updates that apps get from this server: a table for each channel. It changes nothing; the command does.
struct ChannelsPage: PortalPage {
    private let channels: [ChannelReport]
    private let figures: UpdateFigures?
    let title = "Updates"
    var heading: Sentence? { .channelsTitle }
    let section = PortalSection.channels
    let isWide = true

    /// The number of updates of a channel that are shown. The JSON has all.
    private static let maxShownUpdates = 20

    /// - Parameter figures: the counts of the update server since it started; nil if this server has none.
    init(_ channels: [ChannelReport], _ figures: UpdateFigures?) {
        (self.channels, self.figures) = (channels, figures)
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
        for (number, channel) in channels.prefix(PortalLimits.maxListItems).enumerated() {
            html.element("h2", ["id": "channel-\(number)"]) {
                $0.isolatedText(Wording.cut("\(channel.app) · \(channel.channel)", to: 120))
            }
            write(channel, labelledBy: "channel-\(number)", to: &html, context)
        }
        html.leftOutNote(of: channels.count)
    }

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
            notes.append(Phrase(.updateNext, next.share, language.moment(next.time)))
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
        ]
    }
}
