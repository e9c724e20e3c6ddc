package import Digest
internal import System

/// A zip file of the files of a folder. Equal files give equal bytes: all entries have the same time.
package enum FolderZip {
    /// Returns the zip file.
    ///
    /// - Parameters:
    ///   - paths: the paths of the files in the folder, in the order of the entries.
    ///   - maxBytes: Throws if the zip file is larger.
    ///   - check: called with each path and the digest of the bytes that were read. Throws to stop.
    package static func bytes(
        of paths: [String], in folder: String, atMost maxBytes: Int,
        _ check: (String, Digest) throws(ArchiveError) -> Void
    ) throws(ArchiveError) -> [UInt8] {
        // The writer replaces headers that it has written, so it needs a file.
        let scratch = try ArchiveError.wrapping { () throws(SystemError) in
            try ScratchFolder(named: "larder-zip")
        }
        defer { withExtendedLifetime(scratch) {} }
        let output = try ArchiveOutput(scratch.path + "/files.zip")
        let zip = ZipWriter(output, date: 0)
        for path in paths {
            let bytes = try ArchiveError.wrapping { () throws(SystemError) in
                try WholeFile.read(folder + "/" + path, atMost: maxBytes)
            }
            let entry = try zip.add(path, bytes, isDeflated: !ZipTree.isCompressed(path))
            try check(path, entry.sha256)
            guard output.byteCount <= maxBytes else {
                throw ArchiveError(
                    .input,
                    "the zip file of \(folder) is larger than \(maxBytes) bytes; remove files that the app does not need"
                )
            }
        }
        try zip.finish()
        _ = try output.finish()
        return try ArchiveError.wrapping { () throws(SystemError) in
            try WholeFile.read(output.name, atMost: maxBytes)
        }
    }
}
