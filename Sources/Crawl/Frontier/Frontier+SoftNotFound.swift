internal import Web

/// Detection of soft 404s: pages that say "not found" with the status 200.
extension Frontier {
    /// Checks whether a page may be a soft 404. The first suspect page of a host leads to a probe: a request
    /// for a URL that cannot exist. Start URLs are never suspect.
    mutating func checkSoftNotFound(_ number: UInt32, _ print: ContentPrint, saysNotFound: Bool) {
        let record = records[Int(number)]
        guard record.role == .page else { return }
        let host = Int(record.host)
        guard !record.flags.contains(.isStart) else { return hosts[host].softNotFound.noteStart(print) }
        let isRepeat = traps.hasSeen(print)
        guard saysNotFound || isRepeat || hosts[host].softNotFound.hasDoubts else { return }
        let isProbeDue = hosts[host].softNotFound.read(
            number, url(number), print, isRepeat: isRepeat, saysNotFound: saysNotFound)
        if isProbeDue {
            hosts[host].probeZone = record.zone
            probeQueue.append(record.host)
        }
        judgeSuspects(of: host)
    }

    /// Whether the scan should compute a fingerprint of the page's text: for start URLs, with which others
    /// are compared, for hosts with possible soft 404s, and for URLs that look like those of a trap.
    func wantsWords(of number: UInt32) -> Bool {
        let record = records[Int(number)]
        return record.flags.contains(.isStart) || hosts[Int(record.host)].softNotFound.hasDoubts
            || traps.wantsWords(of: url(number))
    }

    /// Handles the response to a probe; nil if there was none.
    mutating func didProbe(host: Int, _ answer: SoftNotFound.Answer?) {
        runningCount -= 1
        hosts[host].softNotFound.didProbe(answer)
        judgeSuspects(of: host)
    }

    private mutating func judgeSuspects(of host: Int) {
        for number in hosts[host].softNotFound.takeMissing() where records[Int(number)].state == .done {
            markSoftNotFound(number)
        }
    }

    mutating func markSoftNotFound(_ number: UInt32) {
        records[Int(number)].flags.insert(.isSoftNotFound)
        sharing?.softNotFound.append(number)
    }
}
