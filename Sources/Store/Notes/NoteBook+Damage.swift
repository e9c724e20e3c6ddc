/// Marks of whoever found bodies damaged on the disk, so that the next who fetches for them loads them again.
extension NoteBook {
    static let damageTable = """
        CREATE TABLE IF NOT EXISTS damage (sha256 BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;

        """

    package func note(damaged bodies: [[UInt8]]) throws(StoreError) {
        let add = try connection.prepare("INSERT OR IGNORE INTO damage (sha256) VALUES (?)")
        try connection.transaction { () throws(StoreError) in
            for sha256 in bodies { try add.run(.blob(sha256)) }
        }
    }

    /// The digests of the bodies that are marked.
    package func damaged() throws(StoreError) -> Set<[UInt8]> {
        var bodies: Set<[UInt8]> = []
        try connection.prepare("SELECT sha256 FROM damage").each { bodies.insert($0.blob(0)) }
        return bodies
    }

    package func forget(damaged sha256: [UInt8]) throws(StoreError) {
        try connection.prepare("DELETE FROM damage WHERE sha256 = ?").run(.blob(sha256))
    }
}

/// The bodies that are marked as damaged, each looked at before it is called so: it may have been mended since.
package struct DamageMarks {
    private let folder: StoreFolder
    private var marked: Set<[UInt8]>

    package init(_ folder: StoreFolder) throws(StoreError) {
        self.folder = folder
        do throws(StoreError) {
            marked = try NoteBook.ifAny(folder)?.damaged() ?? []
        } catch  where error.reason == .denied || error.reason == .busy {
            // Who may not write notes does not mend anything either.
            marked = []
        }
    }

    package mutating func note(_ body: StoredBody) throws(StoreError) {
        marked.insert(body.sha256)
        try NoteBook(folder).note(damaged: [body.sha256])
    }

    package mutating func isDamaged(_ body: StoredBody, _ reader: StoreReader) throws(StoreError) -> Bool {
        guard marked.contains(body.sha256) else { return false }
        if let content = try reader.content(of: body), try body.isWhole(content) {
            marked.remove(body.sha256)
            try NoteBook.ifAny(folder)?.forget(damaged: body.sha256)
            return false
        }
        return true
    }
}
