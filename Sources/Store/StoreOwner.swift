internal import Database
internal import Glibc
internal import System

/// Rules about which users can change a store. Users who can write to a store control what its readers see.
enum StoreOwner {
    /// The result of the check of a folder or file.
    enum Verdict: Equatable, Sendable {
        /// The user or root owns it.
        case trusted
        /// Another user owns it, and alone can write to it.
        case foreign
        /// Another user or root owns it, and further users can write to it.
        case open
    }

    /// Returns whether a folder or a file of a store can be trusted.
    ///
    /// A store of root's is trusted, for example one for all users of a machine, because root can change
    /// everything anyway. Permissions of other users for the user's own store are removed when it is first
    /// opened for writing (`tighten`). The sticky bit makes no difference: it prevents that other users
    /// remove files, but not that they add some.
    ///
    /// - Parameters:
    ///   - user: the effective user of this process.
    ///   - mode: the mode from `stat`.
    static func verdict(owner: UInt32, mode: UInt32, user: UInt32) -> Verdict {
        if owner == user { return .trusted }
        if mode & 0o022 != 0 { return .open }
        return owner == 0 ? .trusted : .foreign
    }
}

extension StoreFolder {
    /// A warning for a user who is about to use another user's store, or nil if the store can be trusted or
    /// does not exist.
    package var ownerWarning: String? {
        guard let (path, owner) = foreignPart else { return nil }
        return
            "\(path) belongs to \(Self.name(of: owner)), who controls its content; to be sure, copy it with "
            + "larder store copy and check the copy"
    }

    /// Throws if users other than the owner can write to the store, unless this user is the owner.
    func requireSafePermissions() throws(StoreError) {
        for (path, status) in ownedParts
        where StoreOwner.verdict(owner: status.st_uid, mode: status.st_mode, user: geteuid()) == .open {
            throw StoreError(
                .denied, doing: "use", path: path,
                detail: "it belongs to \(Self.name(of: status.st_uid)), and other users can write to it",
                advice: "ask its owner to run: chmod -R go-w \(self.path)")
        }
    }

    private var foreignPart: (path: String, owner: UInt32)? {
        ownedParts.first {
            StoreOwner.verdict(owner: $0.status.st_uid, mode: $0.status.st_mode, user: geteuid()) == .foreign
        }.map { ($0.path, $0.status.st_uid) }
    }

    /// The folder and the database, if they exist.
    private var ownedParts: [(path: String, status: stat)] {
        [path, database].compactMap { path in
            var status = stat()
            return stat(path, &status) == 0 ? (path, status) : nil
        }
    }

    private static func name(of user: UInt32) -> String {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 4096)
        guard getpwuid_r(user, &entry, &buffer, buffer.count, &found) == 0, found != nil,
            let name = entry.pw_name
        else { return "user \(user)" }
        return String(cString: name)
    }
}
