internal import Reports
internal import Store
internal import Web

/// The section of a site's page that lists its snapshots, the newest first, with what changed in each.
struct SnapshotTimeline {
    let site: SiteReport
    /// The numbers of pages and assets of snapshots, by their ids. Older and large snapshots are left out.
    let tallies: [Int64: SnapshotTally]
    /// The numbers of changes since the snapshot before, by the id of the later snapshot. Older and large snapshots are
    /// left out.
    let changes: [Int64: ChangesSinceEarlier]
    let hasScreenshots: Bool

    /// The maximum number of snapshots that are compared with the one before, and their maximum number of responses.
    static let maxComparisons = 6
    static let maxComparedResponses = 3_000

    /// The snapshots whose pages and assets are counted: the latest ones, and the shown one, whose counts are on the page in
    /// any case.
    static func countedSnapshots(of site: Site) -> [Snapshot] {
        let shown = SiteReport.shownSnapshot(of: site)?.id
        return site.snapshots.suffix(maxComparisons).filter { $0.responseCount <= maxComparedResponses }
            + site.snapshots.filter { $0.id == shown }
    }

    /// The pairs of complete snapshots whose changes are shown, the latest first.
    static func pairs(of site: Site) -> [(from: Snapshot, to: Snapshot)] {
        let complete = site.snapshots.filter { $0.finished != nil && $0.base == nil && !$0.isRejected }
        let pairs = zip(complete, complete.dropFirst()).map { (from: $0, to: $1) }
        return pairs.suffix(maxComparisons).reversed().filter {
            max($0.from.responseCount, $0.to.responseCount) <= maxComparedResponses
        }
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("h2", ["id": "snapshots"], say: .snapshots)
        guard !site.site.snapshots.isEmpty else {
            html.element("p", ["class": "soft"], say: .noSnapshot)
            return
        }
        html.element("ol", ["class": "timeline"]) { html in
            for snapshot in site.site.snapshots.suffix(PortalLimits.maxListItems).reversed() {
                html.element("li") { write(snapshot, to: &$0, context) }
            }
        }
        guard site.site.snapshots.count > 1 || hasScreenshots else { return }
        html.element("p", ["class": "actions"]) { html in
            if site.site.snapshots.count > 1 {
                html.link(
                    context.links.changes(of: site.id), ["class": "button quiet"], say: .compareSnapshots)
            }
            if hasScreenshots {
                html.link(context.links.pictures(of: site.id), ["class": "button quiet"], say: .screenshots)
            }
        }
    }

    /// Writes the time, the state and the changes of a snapshot, and the buttons for it. A complete one can be made live,
    /// and all except the live one can be removed.
    private func write(
        _ snapshot: StatusReport.Snapshot, to html: inout HTMLWriter, _ context: PortalContext
    ) {
        let state = site.site.state(of: snapshot)
        html.element("p", ["class": "line"]) { html in
            html.element("strong") { $0.moment(snapshot.age.fetched) }
            let name = html.words(.snapshotNumber, "\(snapshot.name)")
            if let address = site.address(of: snapshot, context) {
                html.link(address, text: name)
            } else {
                html.element("span", text: name)
            }
            switch state {
            case .live:
                html.element("span", ["class": "badge"], say: .liveBadge)
            case .overlay:
                html.element("span") { $0.say(.overlayOn, "\(snapshot.name.number)") }
            case .unfinished:
                html.element("span", ["class": "badge warn"], say: .unfinished)
            case .rejected:
                html.element("span", ["class": "badge warn"], say: .rejected)
            case .complete:
                break
            }
        }
        html.element("p", ["class": "line soft"]) { html in
            writeChanges(in: snapshot, to: &html, context)
            if state == .complete {
                html.link(context.links.search(in: site.id, snapshot.name), say: .searchSnapshot)
            }
        }
        guard context.token != nil, state != .live else { return }
        let fields = [("site", site.site.name), ("snapshot", "\(snapshot.name)")]
        let about = html.words(.snapshotNumber, "\(snapshot.name)")
        html.element("div", ["class": "orders small"]) { html in
            if state == .complete {
                html.commandButton("rollback", .doMakeLive, about: about, context, fields: fields)
            }
            html.commandButton(
                "drop", .doRemoveSnapshot, about: about, context, fields: fields, warns: true)
        }
    }

    private func writeChanges(
        in snapshot: StatusReport.Snapshot, to html: inout HTMLWriter, _ context: PortalContext
    ) {
        if let tally = tallies[snapshot.id], !tally.isCapped {
            let pages = html.count(tally.pages, .onePage, .manyPages)
            let assets = html.count(tally.assets, .oneAsset, .manyAssets)
            html.element("span", text: pages + html.words(.comma) + assets)
        }
        if let counts = changes[snapshot.id] {
            if counts.isEmpty { html.element("span", say: .noChanges) }
            let address = context.links.changes(
                of: site.id, from: precedingName(of: snapshot), to: snapshot.name)
            for (sentence, count) in [
                (Sentence.addedCount, counts.added), (.changedCount, counts.changed),
                (.goneCount, counts.gone), (.movedCount, counts.moved),
            ] where count > 0 {
                html.link(address, text: html.words(sentence, Wording.number(count)))
            }
        }
        if let checked = snapshot.age.checked {
            html.element("span") { html in
                html.say(.confirmedAt)
                html.time(checked, now: context.now)
            }
        }
    }

    /// The complete snapshot before this one, with which `pairs(of:)` compares it.
    private func precedingName(of snapshot: StatusReport.Snapshot) -> SnapshotName? {
        site.site.snapshots.last {
            $0.finished != nil && !$0.name.isOverlay && !$0.isRejected && $0.id < snapshot.id
        }?.name
    }
}
