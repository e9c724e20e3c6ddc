package import Database

/// Storage for bodies outside the database. It knows only names and bytes; the database knows which bodies
/// there are and who uses them. It belongs to one thread.
///
/// Names contain slashes and are ordered by their bytes.
package protocol ExternalBodyStorage: AnyObject {
    /// The name for messages.
    var name: String { get }
    /// Returns the size of each body; nil for names that do not exist.
    func byteCounts(_ names: [String]) throws(StoreError) -> [Int?]
    /// Stores the bodies, replacing existing ones. Each is stored whole or not at all. When this returns,
    /// they are durable.
    func put(_ bodies: [BodyUpload]) throws(StoreError)
    /// Returns `byteCount` bytes from `start` on, or fewer at the end of the body; nil if the name does not
    /// exist.
    func read(_ name: String, from start: Int, byteCount: Int) throws(StoreError) -> [UInt8]?
    /// Returns a file with the whole body; nil if the name does not exist.
    ///
    /// - Parameter folder: The folder for a temporary copy, if the storage does not consist of files. The copy
    ///   belongs to the caller.
    func file(_ name: String, in folder: String) throws(StoreError) -> BodyStorageFile?
    /// Returns the next entries after this name, in order; an empty array if there are no more.
    func list(after name: String) throws(StoreError) -> [BodyStorageEntry]
    /// Removes the bodies. Ignores names that do not exist.
    func remove(_ names: [String]) throws(StoreError)
    /// Prepares the storage for a new store.
    func create() throws(StoreError)
}

/// A body to be put into an external storage.
package struct BodyUpload: Sendable {
    package let name: String
    package let content: BodyContent
    package let byteCount: Int
    /// Nil if the caller does not know it.
    package let sha256: [UInt8]?

    package init(name: String, content: BodyContent, byteCount: Int, sha256: [UInt8]? = nil) {
        self.name = name
        self.content = content
        self.byteCount = byteCount
        self.sha256 = sha256
    }
}

/// A body in an external storage, as in a listing.
package struct BodyStorageEntry: Sendable, Equatable {
    package let name: String
    package let byteCount: Int
    /// The age of the body by the clock of the storage, in seconds.
    package let ageSeconds: Int64

    package init(name: String, byteCount: Int, ageSeconds: Int64) {
        self.name = name
        self.byteCount = byteCount
        self.ageSeconds = ageSeconds
    }
}

/// A file with a body from an external storage.
package enum BodyStorageFile: Sendable, Equatable {
    /// The stored body itself, which the caller must not change.
    case original(path: String)
    /// A copy that belongs to the caller.
    case copy(path: String)
}

/// Opens buckets. The module that makes network requests provides it, because Store cannot import that
/// module.
package struct BucketOpener: Sendable, Equatable {
    let open:
        @Sendable (BodyStorageLocation, _ folder: StoreFolder) throws(StoreError) -> any ExternalBodyStorage

    package init(
        _ open:
            @escaping @Sendable (BodyStorageLocation, StoreFolder) throws(StoreError) ->
            any ExternalBodyStorage
    ) {
        self.open = open
    }

    /// All openers are equal, so that the equality of folders does not depend on them.
    package static func == (left: BucketOpener, right: BucketOpener) -> Bool { true }
}
