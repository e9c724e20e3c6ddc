internal import Bundles
internal import Fetch
internal import Glibc
internal import Store
internal import Synchronization
internal import System
internal import Web

/// A place on this machine in which bundles are checked. Its bodies can be read again for comparisons.
enum LocalPlace: Sendable {
    /// The store. If `provesBytes` is false, digests that were computed before are used without reading
    /// bodies.
    case stored(StoreFolder, provesBytes: Bool)
    case folder(SiteFolder)

    /// Examines the targets on all cores. The result is nil for those that an interruption left out.
    func examine(
        _ targets: [CheckTarget], _ column: CheckColumn, _ evidence: Evidence, _ interruption: Interruption
    ) throws(StoreError) -> [Examination?] {
        switch self {
        case .stored(let folder, let provesBytes):
            let storingLock = Mutex(())
            // Fails early if there is no store.
            _ = try StoreReader(folder)
            return try ParallelWork.share(targets.count, named: "larder-held", interruption) {
                (next, give) throws(StoreError) in
                var bundles = StoredBundleCheck(try StoreReader(folder), evidence, provesBytes: provesBytes)
                while let number = next() {
                    let target = targets[number]
                    give(
                        number, try bundles.examination(of: target.bundle, at: target.urls[column.baseIndex]))
                }
                // One thread at a time, because each of them writes to the store.
                let result = storingLock.withLock { _ in
                    Result { () throws(StoreError) in try bundles.storeResults(in: folder) }
                }
                try result.get()
            }
        case .folder(let folder):
            return ParallelWork.share(targets.count, named: "larder-files", interruption) { next, give in
                while let number = next() {
                    let path = folder.relativePath(
                        of: targets[number].urls[column.baseIndex], base: column.root)
                    let found =
                        switch folder.lookUp(path) {
                        case .file(let file): Examination(of: .file(path: file), as: targets[number].bundle)
                        case .nothing: Examination.missing("the file does not exist")
                        case .refused(let reason): Examination.missing(reason)
                        }
                    give(number, found)
                }
            }
        }
    }

    /// Returns the body of a URL at this place; nil if there is none, or it cannot be read.
    func content(of url: WebURL, _ column: CheckColumn) -> BodyContent? {
        switch self {
        case .stored(let folder, _):
            guard let reader = try? StoreReader(folder), let body = try? reader.body(at: url) else {
                return nil
            }
            return try? reader.content(of: body)
        case .folder(let folder):
            guard case .file(let file) = folder.lookUp(folder.relativePath(of: url, base: column.root))
            else {
                return nil
            }
            return .file(path: file)
        }
    }
}

/// A build's output folder, read as a web server would serve it. Neither `..` nor symbolic links can
/// name a file outside of it.
struct SiteFolder: Sendable {
    /// The path as the user gave it.
    let path: String
    private let root: String

    /// The file that is used for a URL of a folder.
    static let index = "index.html"

    init(_ path: String) throws(LarderError) {
        guard let root = Self.real(path) else {
            throw LarderError(
                .input,
                "cannot open the folder \(path): \(SystemError.lastText); name the build's output folder"
            )
        }
        guard Self.kind(of: root) == S_IFDIR else {
            throw LarderError(.input, "\(path) is not a folder: name the build's output folder")
        }
        self.path = path
        self.root = root
    }

    /// The result of looking up a path.
    enum FileLookup: Sendable, Equatable {
        /// The file with its real path.
        case file(String)
        case nothing
        /// The path exists but may not be read, or is not allowed, for this reason.
        case refused(String)
    }

    /// Returns the path of a URL's file below the folder: the decoded URL path, without the folder of the base and without
    /// the query. For the base `https://example.com/app/`, the URL `https://example.com/app/a%20b.js?v=1` gives `a b.js`.
    func relativePath(of url: WebURL, base: WebURL?) -> String {
        var path = url.path[...]
        if let base, base.origin == url.origin, let slash = base.path.utf8.lastIndex(of: UInt8(ascii: "/")) {
            let folder = base.path[...slash]
            if path.utf8.starts(with: folder.utf8) { path = path.dropFirst(folder.utf8.count - 1) }
        }
        let bytes = Array(path.utf8.dropFirst())
        let decoded = String(decoding: [UInt8](percentDecoding: bytes.span), as: UTF8.self)
        return decoded.isEmpty || decoded.utf8.last == UInt8(ascii: "/") ? decoded + Self.index : decoded
    }

    /// The path of an existing file relative to the folder; nil if the file does not exist, or is not below the folder.
    func relativePath(ofFile file: String) -> String? {
        guard let real = Self.real(file), Self.kind(of: real) == S_IFREG else { return nil }
        let prefix = root == "/" ? root : root + "/"
        return real.utf8.starts(with: prefix.utf8) ? String(real.dropFirst(prefix.count)) : nil
    }

    /// Says that the folder above this one is probably meant: all relative paths of a manifest begin with the name of this
    /// folder, and files are there without that name. Nil if not. Example: `md5sum dist/*.js` names the files `dist/a.js`.
    func noteAboutParent(_ relativePaths: [String]) -> String? {
        let prefix = (root.split(separator: "/").last ?? "") + "/"
        let isMissing = relativePaths.allSatisfy { $0.hasPrefix(prefix) && lookUp($0) == .nothing }
        guard !relativePaths.isEmpty, isMissing else { return nil }
        let isThere = relativePaths.contains { path in
            if case .file = lookUp(String(path.dropFirst(prefix.count))) { true } else { false }
        }
        guard isThere else { return nil }
        return
            "all names begin with \(prefix), the name of the folder itself; name the folder above it: \(Self.parent(of: path))"
    }

    /// The path of the folder above a path, relative to the same place.
    static func parent(of path: String) -> String {
        let parts = path.split(separator: "/", omittingEmptySubsequences: true)
        guard let last = parts.last, last != ".", last != ".." else { return path + "/.." }
        let parent = parts.dropLast().joined(separator: "/")
        if path.hasPrefix("/") { return "/" + parent }
        return parent.isEmpty ? "." : parent
    }

    /// Whether a relative path is a folder.
    func isFolder(_ relative: String) -> Bool {
        let isOutside = relative.utf8.split(separator: UInt8(ascii: "/")).contains {
            $0.elementsEqual("..".utf8)
        }
        return !isOutside && Self.kind(of: root + "/" + relative) == S_IFDIR
    }

    /// Looks up a relative path. For a folder, its index file is used.
    func lookUp(_ relative: String) -> FileLookup {
        let parts = relative.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard !relative.utf8.contains(0) else { return .refused("its name contains a NUL") }
        guard !parts.contains(where: { $0.elementsEqual("..".utf8) }) else {
            return .refused("it is outside \(path)")
        }
        guard let real = Self.real(root + "/" + relative) else {
            let code = errno
            if code == ENOENT || code == ENOTDIR { return .nothing }
            return .refused("cannot access it: \(SystemError.text(of: code))")
        }
        guard real.utf8.starts(with: (root == "/" ? root : root + "/").utf8) else {
            return .refused("a symbolic link points outside \(path)")
        }
        switch Self.kind(of: real) {
        case S_IFREG: return .file(real)
        case S_IFDIR where !relative.utf8.reversed().starts(with: Self.index.utf8.reversed()):
            return lookUp(relative + "/" + Self.index)
        default: return .refused("it is not a file")
        }
    }

    /// The absolute path without symbolic links and `..`; nil if there is no such file, with the reason in `errno`.
    private static func real(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    private static func kind(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }
}
