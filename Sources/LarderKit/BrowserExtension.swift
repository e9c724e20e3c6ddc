internal import Archives
internal import Glibc
internal import System

/// The files of the browser extension, which packages install beside the program.
struct BrowserExtension: Sendable {
    /// The folder `share/larder` of an installation, or the folder of the source code.
    private let parent: String

    /// The name of the folder with the files.
    private static let folder = "extension"
    /// The number of folders above a program that may be those of the source code: a build is in `.build/…/release`.
    private static let maxBuildDepth = 6
    /// The maximum size of a file, and of the zip file, in bytes. The files are part of Larder and far smaller.
    private static let maxByteCount = 8 << 20

    /// Returns nil if the files are not there.
    ///
    /// - Parameter program: the path of a program, without links.
    init?(besideProgram program: String) {
        var folders = [Substring(program)]
        while folders.count < Self.maxBuildDepth, let slash = folders.last?.lastIndex(of: "/") {
            folders.append(program[..<slash])
        }
        // In a package the program is in `bin`.
        let installed = folders.count > 2 ? ["\(folders[2])/share/larder"] : []
        let builds = folders.dropFirst().map(String.init).filter { WholeFile.exists("\($0)/Package.swift") }
        let found = (installed + builds).first { WholeFile.exists("\($0)/\(Self.folder)/manifest.json") }
        guard let found else { return nil }
        parent = found
    }

    /// The extension beside the running program; nil if there is none, as for other programs that use the library.
    static var ofThisProgram: BrowserExtension? {
        guard let path = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(path) }
        return BrowserExtension(besideProgram: String(cString: path))
    }

    /// Returns a zip file with the folder, which a browser loads after it was unpacked.
    func zipFile() throws(ArchiveError) -> [UInt8] {
        let names = (Folder.names(in: "\(parent)/\(Self.folder)") ?? []).map {
            "\(Self.folder)/\(String(decoding: $0, as: UTF8.self))"
        }
        return try FolderZip.bytes(
            of: names.filter { WholeFile.exists("\(parent)/\($0)") }.sorted(), in: parent,
            atMost: Self.maxByteCount
        ) { _, _ in }
    }
}
