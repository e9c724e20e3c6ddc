internal import Store
internal import Web

/// What an inspection of a larder found.
public struct InspectionReport: Sendable, Equatable {
    public let bodiesChecked: Int
    public let bytesChecked: Int64
    /// Bodies that are not what their digest says, or are gone.
    public let damaged: [Damage]
    /// Bodies that no response has: kept by nothing, harmless.
    public let orphanBodies: Int
    public let orphanFiles: [String]
    /// What SQLite says of the database itself.
    public let databaseFaults: [String]
    /// The damaged bodies were taken out of service, and what nothing refers to was removed.
    public let isRepaired: Bool
    /// What came back where the database had to be made anew; nil where it had not.
    public let rebuilt: Rebuilt?

    public struct Rebuilt: Sendable, Equatable {
        /// Addresses and bodies that are held again.
        public let addresses: Int
        public let bodies: Int
        /// Bodies that are not there any more, or are not what they were: what had them is missing.
        public let lostBodies: Int
    }

    public struct Damage: Sendable, Equatable {
        public let sha256: String
        public let fault: String
        /// The addresses that have it; after a repair they are missing, and fetched at the next prefetch.
        public let addresses: [String]
    }

    /// Everything that is held is what was fetched.
    public var isSound: Bool { damaged.isEmpty && databaseFaults.isEmpty }

    init(_ findings: StoreFindings, isRepaired: Bool, _ rebuilt: StoreRebuild? = nil) {
        self.rebuilt = rebuilt.map {
            Rebuilt(addresses: $0.addresses, bodies: $0.bodies, lostBodies: $0.lostBodies)
        }
        bodiesChecked = findings.bodiesChecked
        bytesChecked = findings.bytesChecked
        damaged = findings.damaged.map { Damage(sha256: $0.sha256, fault: $0.fault, addresses: $0.addresses) }
        orphanBodies = findings.orphanBodies
        orphanFiles = findings.orphanFiles
        databaseFaults = findings.databaseFaults
        self.isRepaired = isRepaired
    }

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("sound", isSound)
            object.member("repaired", isRepaired)
            object.member("bodies", bodiesChecked)
            object.member("bytes", bytesChecked)
            object.member("damaged") { list in
                list.array { array in
                    for damage in damaged {
                        array.object { object in
                            object.member("sha256", damage.sha256)
                            object.member("fault", damage.fault)
                            object.member("addresses", damage.addresses)
                        }
                    }
                }
            }
            object.member("orphanBodies", orphanBodies)
            object.member("orphanFiles", orphanFiles)
            object.member("databaseFaults", databaseFaults)
            if let rebuilt {
                object.member("rebuilt") { value in
                    value.object { object in
                        object.member("addresses", rebuilt.addresses)
                        object.member("bodies", rebuilt.bodies)
                        object.member("lostBodies", rebuilt.lostBodies)
                    }
                }
            }
        }
        return writer.text
    }
}
