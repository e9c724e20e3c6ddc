internal import Glibc
internal import System
internal import Web

/// An export format. The raw value is its name in commands and JSON.
public enum ArchiveFormat: String, Sendable, CaseIterable {
    /// WARC 1.1, with each record compressed by gzip, or uncompressed if the file name ends in `.warc`.
    case warc
    /// WACZ 1.1.1: WARC with an index and a list of pages.
    case wacz
    /// HAR 1.2.
    case har
    /// A folder that a browser opens without a server.
    case folder
    /// A folder that a browser opens without a server, in a zip file.
    case zip
    /// A folder that a browser opens without a server, in a tar file compressed by zstd.
    case tar
    /// One page with everything that it needs, in one HTML file that a browser opens without a server.
    case html
    /// One page with everything that it needs, as MHTML (RFC 2557), the format in which browsers save pages.
    case mhtml
    /// ZIM, for Kiwix.
    case zim
    /// One executable file for Linux: the `larder` command with the site, which it serves.
    case program = "run"
    /// One page as a browser prints it.
    case pdf
    /// A screenshot of one page.
    case png

    /// Returns the format of a file or folder by its name, or nil if the name does not show it.
    package init?(path: String) {
        let name = path.lowercased()
        if name.hasSuffix(".warc.gz") || name.hasSuffix(".warc") {
            self = .warc
        } else if name.hasSuffix(".wacz") {
            self = .wacz
        } else if name.hasSuffix(".har") {
            self = .har
        } else if name.hasSuffix(".zip") {
            self = .zip
        } else if name.hasSuffix(".tar.zst") {
            self = .tar
        } else if name.hasSuffix(".html") || name.hasSuffix(".htm") {
            self = .html
        } else if name.hasSuffix(".mhtml") || name.hasSuffix(".mht") {
            self = .mhtml
        } else if name.hasSuffix(".zim") {
            self = .zim
        } else if name.hasSuffix(".run") {
            self = .program
        } else if name.hasSuffix(".pdf") {
            self = .pdf
        } else if name.hasSuffix(".png") {
            self = .png
        } else if name.hasSuffix("/") {
            self = .folder
        } else {
            return nil
        }
    }

    /// Whether a file of this format contains exactly one page.
    var isSinglePage: Bool {
        switch self {
        case .html, .mhtml, .pdf, .png: true
        case .warc, .wacz, .har, .folder, .zip, .tar, .zim, .program: false
        }
    }

    /// Whether pages that cannot run offline are written as their frozen copies. Archives of responses contain
    /// the responses of the server.
    var usesFrozenCopies: Bool {
        switch self {
        case .folder, .zip, .tar, .zim, .program, .html, .mhtml: true
        case .warc, .wacz, .har, .pdf, .png: false
        }
    }

    /// Whether a browser renders the page to make the file.
    package var isRendered: Bool { self == .pdf || self == .png }

    /// Whether the external program that writes this format is installed. For PDF and PNG this is always true,
    /// because the browser is only searched for when it is needed.
    package var isWritable: Bool { self != .zim || ExternalProgram.find("zimwriterfs") != nil }

    /// The extension of files of this format.
    package var suffix: String {
        switch self {
        case .warc: ".warc.gz"
        case .wacz: ".wacz"
        case .har: ".har"
        case .folder: "/"
        case .zip: ".zip"
        case .tar: ".tar.zst"
        case .html: ".html"
        case .mhtml: ".mhtml"
        case .zim: ".zim"
        case .program: ".run"
        case .pdf: ".pdf"
        case .png: ".png"
        }
    }
}

/// Opens archives for reading. The first bytes of a file decide on its format, except that a saved page needs the suffix of
/// an HTML file, and a zip file may be recognised by its name.
package enum ArchiveFiles {
    /// Returns a reader that computes sizes and digests of bodies, but does not store them.
    package static func measuringReader(
        at path: String, _ limits: ArchiveLimits = ArchiveLimits()
    ) throws(ArchiveError) -> any ArchiveReader {
        try reader(of: path, .measuredOnly, limits)
    }

    /// Writes a file completely, or not at all.
    package static func write(_ bytes: [UInt8], to path: String) throws(ArchiveError) -> ArchiveFile {
        let output = try ArchiveOutput(path)
        try output.write(bytes)
        return try output.finish()
    }

    /// Returns a reader for a file or folder. A file that has the signature of no format is read as a WARC, whose
    /// reader reports the fault.
    ///
    /// - Parameter base: The URL of the folder or saved page on its server, if the files do not name it.
    static func reader(
        of path: String, _ storage: BodyStorage, _ limits: ArchiveLimits = ArchiveLimits(),
        base: WebURL? = nil,
        _ interruption: Interruption = Interruption()
    ) throws(ArchiveError) -> any ArchiveReader {
        if Folder.exists(path) {
            return try FolderReader(DiskFolder(path, limits), base: base, storage, limits)
        }
        // A pipe cannot be read twice. A missing file is reported when it is opened.
        guard path != "-", access(path, F_OK) != 0 || WholeFile.exists(path) else {
            throw ArchiveError(.input, "\(path) is not a regular file: archives cannot be read from pipes")
        }
        let beginning = try ArchiveError.wrapping { () throws(SystemError) in
            try WholeFile.beginning(of: path, 4096)
        }
        if isZip(beginning, path) {
            let zip = try ZipFile(path)
            if WACZReader.isWACZ(zip) { return try WACZReader(zip, storage, limits) }
            return try FolderReader(ZipFolder(zip, limits), base: base, storage, limits)
        }
        if beginning.starts(with: [0x5A, 0x49, 0x4D, 0x04]) {
            return try ZIMReader(path, storage, limits, interruption)
        }
        // The first byte after white space and a byte order mark.
        let first = beginning.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D && $0 < 0x80 }
        if first == UInt8(ascii: "{") { return try HARReader(path, storage, limits) }
        if first == UInt8(ascii: "<"), SavedPage.isPage(path) {
            return try FolderReader(DiskFolder(page: path, limits), base: base, isPage: true, storage, limits)
        }
        if isMultipartMessage(beginning) { return try MHTMLReader(path, storage, limits) }
        let input = try ArchiveInput(path)
        if try input.fill(), TarFile.isTar(input.available) {
            return try FolderReader(TarFile(path, limits), base: base, storage, limits)
        }
        return WARCReader(input, storage, limits)
    }

    /// Whether a file is a zip file: it begins with the signature of an entry, of the end of an empty file, or of a split file.
    /// A file with other first bytes is one by its name, because the last part of a split file and a self-extracting file may
    /// begin with anything.
    private static func isZip(_ beginning: [UInt8], _ path: String) -> Bool {
        let starts = ["PK\u{3}\u{4}", "PK\u{5}\u{6}", "PK\u{7}\u{8}"]
        if starts.contains(where: { beginning.starts(with: Array($0.utf8)) }) { return true }
        let name = path.lowercased()
        return !beginning.isEmpty && (name.hasSuffix(".zip") || name.hasSuffix(".wacz"))
    }

    /// Whether a file begins like a multipart e-mail message, as MHTML files do: with a header field, and with a
    /// multipart type near the beginning.
    private static func isMultipartMessage(_ beginning: [UInt8]) -> Bool {
        let text = String(decoding: beginning, as: UTF8.self).lowercased()
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), !text.hasPrefix("warc/") else {
            return false
        }
        let isField = text.utf8[..<colon].allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x2D }
        return isField && colon != text.utf8.startIndex && text.contains("content-type: multipart/")
    }
}
