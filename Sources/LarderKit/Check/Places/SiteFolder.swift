internal import Glibc
internal import System
internal import Web

/// A folder that a server would show: which file answers for an URL. It leads nowhere else, by dots or by links.
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
                "cannot open the folder \(path): \(SystemError.lastText); name the one that the build wrote"
            )
        }
        guard Self.kind(of: root) == S_IFDIR else {
            throw LarderError(.input, "\(path) is not a folder: name the one that the build wrote")
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

    /// The file's path below the folder, as the URL has it: without what both have with the base in common, and without its
    /// query.
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
        guard !relative.utf8.contains(0) else { return .refused("its name has a NUL") }
        guard !parts.contains(where: { $0.elementsEqual("..".utf8) }) else {
            return .refused("it leads out of \(path)")
        }
        guard let real = Self.real(root + "/" + relative) else {
            let code = errno
            if code == ENOENT || code == ENOTDIR { return .nothing }
            return .refused("cannot look at it: \(SystemError.text(of: code))")
        }
        guard real.utf8.starts(with: (root == "/" ? root : root + "/").utf8) else {
            return .refused("a link leads out of \(path)")
        }
        switch Self.kind(of: real) {
        case S_IFREG: return .file(real)
        case S_IFDIR where !relative.utf8.reversed().starts(with: Self.index.utf8.reversed()):
            return answer(for: relative + "/" + Self.index)
        default: return .refused("it is no file")
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
        func value(_ digit: UInt8) -> UInt8? { Character(UnicodeScalar(digit)).hexDigitValue.map { UInt8($0) } }
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
