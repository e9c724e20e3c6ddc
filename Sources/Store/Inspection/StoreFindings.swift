/// What an inspection of a store found.
package struct StoreFindings: Sendable, Equatable {
    package var bodiesChecked = 0
    package var bytesChecked: Int64 = 0
    /// Bodies that are not what their digest says, or are gone.
    package var damaged: [DamagedBody] = []
    /// Bodies that no response has: kept by nothing, harmless.
    package var orphanBodies = 0
    /// Files that no body has.
    package var orphanFiles: [String] = []
    /// What SQLite says of the database itself; empty when it is sound.
    package var databaseFaults: [String] = []

    /// Everything that is served is what was fetched.
    package var isSound: Bool { damaged.isEmpty && databaseFaults.isEmpty }

    package init() {}
}

package struct DamagedBody: Sendable, Equatable {
    package let id: Int64
    package let sha256: String
    /// What is wrong with it.
    package let fault: String
    /// The addresses that have it.
    package let addresses: [String]
}
