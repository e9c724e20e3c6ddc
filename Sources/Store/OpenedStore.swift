internal import Database

/// A store that was opened for writing. Opening it creates the store and its tables if they are missing.
struct OpenedStore: ~Copyable {
    let connection: Connection
    let locks: StoreLocks

    init(_ folder: StoreFolder) throws(StoreError) {
        try folder.requireSafePermissions()
        try folder.create()
        let own = try StoreLocks(folder)
        own.restrictPermissionsOnce()
        if folder.server == nil {
            try own.withTaskLock(.settingUp) { () throws(StoreError) in try folder.createDatabase() }
        }
        let connection = try folder.connect(.readWrite)
        let locks = folder.server == nil ? consume own : try StoreLocks(folder, of: connection)
        // SQLite does not wait for locks when it changes the journal mode.
        try locks.withTaskLock(.settingUp) { () throws(StoreError) in
            if folder.server != nil { return try PostgreSQLSchema.prepare(connection, folder) }
            try Schema.prepare(connection)
        }
        self.connection = connection
        self.locks = locks
    }
}
