internal import Glibc
internal import System
internal import Web

/// The files of a folder and its subfolders, sorted by their paths relative to it.
package struct FolderFiles {
    /// The paths of the regular files.
    package private(set) var paths: [String] = []
    /// Symbolic links, and everything else that is not a regular file. A build contains none, and a link may point outside
    /// the folder.
    package private(set) var skipped: [ManifestReport.Skipped] = []

    /// The files to leave out.
    private let outputs: [stat]
    /// Whether to list files and folders whose names begin with a dot.
    private let includesHidden: Bool

    /// - Parameters:
    ///   - outputs: the paths of files to leave out, whether they exist or not.
    ///   - includesHidden: whether to list files and folders whose names begin with a dot.
    /// - Throws: `LarderError` of kind `.input` for a folder that cannot be read.
    package init(
        _ root: String, without outputs: [String] = [], includesHidden: Bool = true
    ) throws(LarderError) {
        self.includesHidden = includesHidden
        self.outputs = outputs.compactMap { path in
            var status = stat()
            return stat(path, &status) == 0 ? status : nil
        }
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

    private mutating func add(
        _ names: [[UInt8]], of folder: String, below prefix: String, _ folders: inout [String]
    ) {
        for bytes in names where includesHidden || bytes.first != UInt8(ascii: ".") {
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
            case S_IFREG where isOutput(status): break
            case S_IFREG: paths.append(prefix + name)
            case S_IFDIR: folders.append(prefix + name + "/")
            case S_IFLNK: skip(prefix + name, "it is a symbolic link")
            default: skip(prefix + name, "it is not a file")
            }
        }
    }

    private func isOutput(_ file: stat) -> Bool {
        outputs.contains { $0.st_ino == file.st_ino && $0.st_dev == file.st_dev }
    }

    private mutating func skip(_ name: String, _ reason: String) {
        skipped.append(.init(name: name.visible, reason: reason))
    }
}
