internal import Glibc
internal import System

/// Who can change a store: whoever writes to it decides what its readers are shown.
package enum StoreOwner {
    package enum Verdict: Equatable, Sendable {
        /// The user or root owns it.
        case trusted
        /// Another user owns it, and alone can write to it.
        case foreign
        /// Another user or root owns it, and further users can write to it.
        case open
    }

    /// Judges a folder or a file of a store.
    ///
    /// Root can change everything anyway, so that a store of root's is trusted, such as one for all users of a
    /// machine. A store of the user's own is closed to others when it is next written to (`tighten`). The
    /// sticky bit makes no difference: it protects files from being removed, and none from being added.
    ///
    /// - Parameters:
    ///   - user: the effective user of this process.
    ///   - mode: as `stat` has it.
    package static func verdict(owner: UInt32, mode: UInt32, user: UInt32) -> Verdict {
        if owner == user { return .trusted }
        if mode & 0o022 != 0 { return .open }
        return owner == 0 ? .trusted : .foreign
    }
}

extension StoreFolder {
    /// A sentence for a user who is about to use another user's store; nil for one to trust, and where there is
    /// none.
    package var ownerWarning: String? {
        guard let (path, owner) = foreignPart else { return nil }
        return
            "\(path) belongs to \(Self.name(of: owner)), who controls its content; to be sure, copy it with "
            + "larder store copy and check the copy"
    }

    /// Fails where more users than the owner can write to the store, unless the owner is this user.
    func refuseOpen() throws(StoreError) {
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

    /// The folder and the database, those of them that are there.
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
