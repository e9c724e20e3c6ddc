internal import Digest
internal import Reports
internal import Store
internal import System

/// Verifies that stored bodies still have the bytes that were received.
enum BodyProof {
    /// Returns the fault of each body, in order; nil for a body without one. Hashes all bodies on all cores.
    /// Blocks.
    ///
    /// - Parameters:
    ///   - imported: the IDs of bodies of imported responses, which are hashed even if `isQuick` is true.
    ///   - isQuick: whether only the sizes of other bodies are checked.
    static func faults(
        of bodies: [StoredBody], imported: Set<Int64>, in folder: StoreFolder, isQuick: Bool,
        _ interruption: Interruption,
        progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) throws(StoreError) -> [OfflineFault?] {
        // The largest first, so that the threads finish at about the same time.
        let order = bodies.indices.sorted { bodies[$0].byteCount > bodies[$1].byteCount }
        let tally = ProgressCounter(.bodies, of: order.count, progress)
        let found: [OfflineFault??] = try ParallelWork.share(order.count, named: "larder-proof", interruption)
        {
            (next, give) throws(StoreError) in
            let reader = try StoreReader(folder)
            while let number = next() {
                let body = bodies[order[number]]
                let isQuick = isQuick && !imported.contains(body.id)
                give(number, try fault(of: body, in: reader, isQuick: isQuick))
                tally.add(byteCount: body.byteCount)
            }
        }
        var faults = [OfflineFault?](repeating: nil, count: bodies.count)
        for (place, fault) in zip(order, found) { faults[place] = fault ?? nil }
        return faults
    }

    /// Returns the fault of a body; nil if it has none.
    ///
    /// - Parameter isQuick: whether only its size is checked.
    static func fault(
        of body: StoredBody, in reader: StoreReader, isQuick: Bool
    ) throws(StoreError) -> OfflineFault? {
        guard let content = try reader.content(of: body) else {
            return OfflineFault(
                verdict: .missing, detail: "its bytes are gone or cut short; see: larder fsck")
        }
        if isQuick { return nil }
        var stream = DigestStream(.sha256)
        do throws(StoreError) {
            try content.eachPiece { stream.update($0) }
        } catch {
            return OfflineFault(verdict: .missing, detail: error.description)
        }
        guard stream.finish().bytes != body.sha256 else { return nil }
        return OfflineFault(
            verdict: .mismatch, detail: "its bytes have changed since they were stored; see: larder fsck")
    }
}

/// A fault of a stored body.
struct OfflineFault: Sendable {
    let verdict: CheckReport.Verdict
    let detail: String
}
