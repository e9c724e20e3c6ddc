internal import Database

/// A store that was opened for writing. Opening it creates the store and its tables if they are missing.
struct OpenedStore: ~Copyable {
    let connection: Connection
    let locks: StoreLocks

    /// Opens a store in a folder, or in PostgreSQL if the folder has a `server`.
    init(_ folder: StoreFolder) throws(StoreError) {
        try folder.requireSafePermissions()
        try folder.create()
        let folderLocks = try StoreLocks(folder)
        folderLocks.restrictPermissionsOnce()
        if folder.server == nil {
            try folderLocks.withTaskLock(.settingUp) { () throws(StoreError) in try folder.createDatabase() }
        }
        let connection = try folder.connect(.readWrite)
        // The locks of a store in PostgreSQL belong to the connection, because its writers may run on several machines.
        let locks = folder.server == nil ? consume folderLocks : try StoreLocks(folder, of: connection)
        // SQLite does not wait for locks when it changes the journal mode.
        try locks.withTaskLock(.settingUp) { () throws(StoreError) in
            if folder.server != nil { return try PostgreSQLSchema.prepare(connection, folder) }
            try Schema.prepare(connection)
        }
        self.connection = connection
        self.locks = locks
    }
}
