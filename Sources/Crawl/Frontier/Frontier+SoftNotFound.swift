internal import Web

extension Frontier {
    /// A page of the host looks as if it were none: once for each host it is asked for what cannot be there. A start is
    /// never doubted.
    mutating func doubt(_ number: UInt32, _ print: ContentPrint, saysNotFound: Bool) {
        let record = records[Int(number)]
        guard record.role == .page else { return }
        let host = Int(record.host)
        guard !record.flags.contains(.isStart) else { return hosts[host].softNotFound.noteStart(print) }
        let isRepeat = traps.hasSeen(print)
        guard saysNotFound || isRepeat || hosts[host].softNotFound.hasDoubts else { return }
        let isProbeDue = hosts[host].softNotFound.read(
            number, url(number), print, isRepeat: isRepeat, saysNotFound: saysNotFound)
        if isProbeDue { probes.append(record.host) }
        judgeSuspects(of: host)
    }

    /// Whether the words of a page are to be looked at: the host's pages repeat each other, or it is a start, which is
    /// what others are compared with.
    func wantsWords(of number: UInt32) -> Bool {
        let record = records[Int(number)]
        return record.flags.contains(.isStart) || hosts[Int(record.host)].softNotFound.hasDoubts
            || traps.wantsWords(of: url(number))
    }

    /// What the host answered to what it cannot have; nil when it did not answer.
    mutating func probed(host: Int, _ answer: SoftNotFound.Answer?, now: Duration) {
        self.now = now
        runningCount -= 1
        hosts[host].softNotFound.probed(answer)
        judgeSuspects(of: host)
    }

    private mutating func judgeSuspects(of host: Int) {
        for number in hosts[host].softNotFound.takeMissing() where records[Int(number)].state == .done {
            records[Int(number)].flags.insert(.isSoftNotFound)
        }
    }
}
