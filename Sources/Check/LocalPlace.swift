internal import Bundles
internal import Fetch
internal import Glibc
internal import Store
internal import Synchronization
internal import System
internal import Web

/// A place on this machine: bodies can be looked at again.
enum LocalPlace: Sendable {
    /// What is held; with its bytes read, unless what was computed before is believed.
    case held(StoreFolder, provesBytes: Bool)
    case folder(SiteFolder)

    /// Hashes on all cores; nil for what an interruption left undone.
    func examine(
        _ targets: [CheckTarget], _ column: CheckColumn, _ evidence: Evidence, _ interruption: Interruption
    ) throws(StoreError) -> [Examination?] {
        switch self {
        case .held(let folder, let provesBytes):
            let keeping = Mutex(())
            // Fails at once where there is no larder.
            _ = try StoreReader(folder)
            return try WorkTeam.share(targets.count, named: "larder-held", interruption) {
                (next, give) throws(StoreError) in
                var bundles = HeldBundles(try StoreReader(folder), evidence, provesBytes: provesBytes)
                while let number = next() {
                    let target = targets[number]
                    give(number, try bundles.examination(of: target.bundle, at: target.urls[column.base]))
                }
                // One after the other: each is a writer of the store.
                let kept = keeping.withLock { _ in
                    Result { () throws(StoreError) in try bundles.keep(in: folder) }
                }
                try kept.get()
            }
        case .folder(let folder):
            return WorkTeam.share(targets.count, named: "larder-files", interruption) { next, give in
                while let number = next() {
                    let path = folder.relativePath(of: targets[number].urls[column.base], base: column.root)
                    let found =
                        switch folder.answer(for: path) {
                        case .file(let file): Examination(of: .file(path: file), as: targets[number].bundle)
                        case .nothing: Examination.missing("the file does not exist")
                        case .refused(let reason): Examination.missing(reason)
                        }
                    give(number, found)
                }
            }
        }
    }

    /// What the place has for an URL; nil when that is nothing.
    func content(of url: WebURL, _ column: CheckColumn) -> BodyContent? {
        switch self {
        case .held(let folder, _):
            guard let reader = try? StoreReader(folder), let body = try? reader.body(at: url) else {
                return nil
            }
            return try? reader.content(of: body)
        case .folder(let folder):
            guard case .file(let file) = folder.answer(for: folder.relativePath(of: url, base: column.root))
            else {
                return nil
            }
            return .file(path: file)
        }
    }
}

/// A folder that a server would show: which file answers for an URL. It leads nowhere else, by dots or by
/// links.
struct SiteFolder: Sendable {
    /// As it was named.
    let path: String
    private let root: String

    /// What a server answers with where the URL names a folder.
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

    enum Answer: Sendable, Equatable {
        /// The file with its real path.
        case file(String)
        case nothing
        /// There is something, and it may not be read; why.
        case refused(String)
    }

    /// The file's path below the folder, as the URL has it: without what both have with the base in common,
    /// and without its query.
    func relativePath(of url: WebURL, base: WebURL?) -> String {
        var path = url.path[...]
        if let base, base.origin == url.origin, let slash = base.path.utf8.lastIndex(of: UInt8(ascii: "/")) {
            let folder = base.path[...slash]
            if path.utf8.starts(with: folder.utf8) { path = path.dropFirst(folder.utf8.count - 1) }
        }
        let decoded = String(decoding: Self.percentDecoded(path.utf8.dropFirst()), as: UTF8.self)
        return decoded.isEmpty || decoded.utf8.last == UInt8(ascii: "/") ? decoded + Self.index : decoded
    }

    func answer(for relative: String) -> Answer {
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
            return answer(for: relative + "/" + Self.index)
        default: return .refused("it is not a file")
        }
    }

    private static func real(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    private static func kind(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    private static func percentDecoded(_ text: some Collection<UInt8>) -> [UInt8] {
        func value(_ digit: UInt8) -> UInt8? {
            Character(UnicodeScalar(digit)).hexDigitValue.map { UInt8($0) }
        }
        let bytes = Array(text)
        var decoded: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = value(bytes[index + 1]),
                let low = value(bytes[index + 2])
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(bytes[index])
                index += 1
            }
        }
        return decoded
    }
}
