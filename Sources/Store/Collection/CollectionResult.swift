/// What a collection took away.
package struct CollectionResult: Sendable, Equatable {
    package var droppedVisits = 0
    package var evictedURLs = 0
    package var removedBodies = 0
    /// What database and bodies took on the disk.
    package var byteCountBefore: Int64 = 0
    package var byteCountAfter: Int64 = 0
    /// Nil when the store could be made as small as wanted; else what is left that may not go.
    package var excess: Int64?
    /// Why the database file did not shrink, though there is room in it now.
    package var shrinkFailure: StoreError?

    package init() {}
}
