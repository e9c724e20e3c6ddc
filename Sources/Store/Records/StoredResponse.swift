/// A response as it is held.
package struct StoredResponse: Sendable, Equatable {
    package let href: String
    package let visit: Int64
    package let status: Int
    package let role: UInt8
    package let fields: String
    package let fetched: Int64
    package let body: StoredBody?
}

package struct StoredBody: Sendable, Equatable {
    package let id: Int64
    package let sha256: [UInt8]
    package let form: String
    package let byteCount: Int
}

/// What the whole store holds.
package struct StoreSummary: Sendable, Equatable {
    package var responses = 0
    package var pages = 0
    package var requisites = 0
    package var tombstones = 0
    package var bodies = 0
    /// The bodies' bytes, each counted once.
    package var bytes: Int64 = 0

    package init() {}
}
