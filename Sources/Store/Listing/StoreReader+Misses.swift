extension StoreReader {
    /// What servers of this store were asked for and did not hold, by address. Empty as well where this user may not look
    /// into their notes.
    package func notedMisses() throws(StoreError) -> [Miss] {
        do throws(StoreError) {
            return try NoteBook.ifAny(folder)?.misses() ?? []
        } catch  where error.reason == .denied {
            return []
        }
    }
}
