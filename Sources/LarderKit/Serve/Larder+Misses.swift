internal import Store
internal import Web

extension Larder {
    /// What was asked of the server and is not held. The next prefetch of its site fetches it.
    ///
    /// A running server writes down what it noted every two seconds, and when it ends.
    ///
    /// - Throws: `LarderError` of kind `.machine` when there is no larder.
    public func misses() async throws(LarderError) -> MissesReport {
        let folder = folder
        return try await Self.onThread("larder-misses") { () throws(LarderError) in
            do throws(StoreError) {
                let reader = try StoreReader(folder)
                var (missing, held): ([Miss], [String]) = ([], [])
                for miss in try NoteBook.misses(in: folder) {
                    let url = miss.method == "GET" ? WebURL(miss.href) : nil
                    let found = try url.map { (url) throws(StoreError) in try reader.find(url) } ?? nil
                    if found != nil { held.append(miss.href) } else { missing.append(miss) }
                }
                // Whoever may not write to the larder sees what is missed all the same.
                if !held.isEmpty, folder.isWritable { try NoteBook.ifAny(folder)?.forget(misses: held) }
                return MissesReport(misses: missing.map(MissedURL.init))
            } catch {
                throw LarderError(error)
            }
        }
    }

    /// Forgets them all, so that no prefetch fetches them.
    ///
    /// - Throws: `LarderError` of kind `.machine` when there is no larder, or it cannot be written to.
    public func forgetMisses() async throws(LarderError) {
        let folder = folder
        try await Self.onThread("larder-misses") { () throws(LarderError) in
            do throws(StoreError) {
                _ = try StoreReader(folder)
                try NoteBook.ifAny(folder)?.forgetAllMisses()
            } catch {
                throw LarderError(error)
            }
        }
    }
}
