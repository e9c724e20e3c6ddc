internal import Glibc
internal import System
internal import Web

/// The files of a folder and of those below it, by their paths below it, in order.
struct FolderFiles {
    private let root: String
    private(set) var paths: [String] = []
    /// Links and what is no file: a build has none, and what they lead to may lie elsewhere.
    private(set) var skipped: [ManifestReport.Skipped] = []

    /// - Throws: `LarderError` of kind `.input` for a folder that cannot be read.
    init(_ root: String) throws(LarderError) {
        self.root = root
        guard let names = Folder.names(in: root) else {
            throw LarderError(
                .input,
                "cannot open the folder \(root): \(SystemError.lastText); name the build's output folder"
            )
        }
        var folders: [String] = []
        add(names, of: root, below: "", &folders)
        while let folder = folders.popLast() {
            let path = root + "/" + folder
            if let names = Folder.names(in: path) {
                add(names, of: path, below: folder, &folders)
            } else {
                skip(String(folder.dropLast()), "cannot open it: \(SystemError.lastText)")
            }
        }
        paths.sort()
        skipped.sort { $0.name < $1.name }
    }

    /// Takes out the file at this path, if it is in the folder.
    mutating func remove(_ path: String) {
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        let parent = path.hasPrefix("/") ? "/" + path.dropLast(name.count) : "./" + path.dropLast(name.count)
        let (folder, inner) = (Folder.resolved(root), Folder.resolved(parent))
        guard inner == folder || inner.hasPrefix(folder + "/") else { return }
        let relative = String((inner + "/" + name).dropFirst(folder.count + 1))
        paths.removeAll { $0 == relative }
    }

    private mutating func add(
        _ names: [[UInt8]], of folder: String, below prefix: String, _ folders: inout [String]
    ) {
        for bytes in names {
            let name = String(decoding: bytes, as: UTF8.self)
            guard name.utf8.elementsEqual(bytes) else {
                skip(prefix + name, "its name is not UTF-8")
                continue
            }
            var status = stat()
            guard lstat(folder + "/" + name, &status) == 0 else {
                skip(prefix + name, "cannot access it: \(SystemError.lastText)")
                continue
            }
            switch status.st_mode & S_IFMT {
            case S_IFREG: paths.append(prefix + name)
            case S_IFDIR: folders.append(prefix + name + "/")
            case S_IFLNK: skip(prefix + name, "it is a symbolic link")
            default: skip(prefix + name, "it is not a file")
            }
        }
    }

    private mutating func skip(_ name: String, _ reason: String) {
        skipped.append(.init(name: name.visible, reason: reason))
    }
}
