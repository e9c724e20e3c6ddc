/// Where a response may be kept. The names are those of NSURLCache.StoragePolicy.
package enum StoragePolicy: String, Sendable, CaseIterable {
    case allowed
    /// Gone when the program ends.
    case memoryOnly = "memory-only"
    case notAllowed = "not-allowed"
}
