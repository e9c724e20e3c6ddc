internal import Digest
internal import Fetch
internal import Store
internal import System

/// Whether held bodies are what they were when they came.
enum BodyProof {
    /// What is wrong with each body, in their order; nil for what is as it should be. Reads all of them, on all cores; quick,
    /// only their sizes. Blocks.
    static func faults(
        of bodies: [StoredBody], in folder: StoreFolder, isQuick: Bool, _ interruption: Interruption,
        progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) throws(StoreError) -> [OfflineFault?] {
        // The largest come first, so that no thread is left alone with one in the end.
        let order = bodies.indices.sorted { bodies[$0].byteCount > bodies[$1].byteCount }
        let tally = WorkTally(.bodies, of: order.count, progress)
        let found: [OfflineFault??] = try WorkTeam.share(order.count, named: "larder-proof", interruption) {
            (next, give) throws(StoreError) in
            let reader = try StoreReader(folder)
            while let number = next() {
                let body = bodies[order[number]]
                give(number, try fault(of: body, in: reader, isQuick))
                tally.add(byteCount: body.byteCount)
            }
        }
        var faults = [OfflineFault?](repeating: nil, count: bodies.count)
        for (place, fault) in zip(order, found) { faults[place] = fault ?? nil }
        return faults
    }

    static func fault(
        of body: StoredBody, in reader: StoreReader, _ isQuick: Bool
    ) throws(StoreError) -> OfflineFault? {
        guard let content = try reader.content(of: body) else {
            return OfflineFault(verdict: .missing, detail: "its bytes are gone or cut short; see: larder fsck")
        }
        if isQuick { return nil }
        var stream = DigestStream(.sha256)
        do throws(StoreError) {
            try content.eachPiece { stream.update($0) }
        } catch {
            return OfflineFault(verdict: .missing, detail: error.description)
        }
        guard stream.finish().bytes != body.sha256 else { return nil }
        return OfflineFault(verdict: .mismatch, detail: "its bytes have changed since they came; see: larder fsck")
    }
}

/// What is wrong with a held body.
struct OfflineFault: Sendable {
    let verdict: CheckReport.Verdict
    let detail: String
}
