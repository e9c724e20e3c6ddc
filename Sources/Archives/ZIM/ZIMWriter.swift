internal import Codings
internal import Digest
internal import Glibc
internal import Store
internal import System
internal import Web

/// Writes a site as a ZIM file for Kiwix. The files are written to a temporary folder beside the destination,
/// and openZIM's `zimwriterfs` packs them. The folder is always removed.
final class ZIMWriter: ArchiveWriter {
    private let path: String
    /// The path as the user gave it, for messages and reports.
    private let name: String
    private let folder: ScratchFolder
    /// Writes the files of the folder.
    private let files: FolderWriter
    private var metadata: ZIMMetadata
    private let interruption: Interruption
    /// The path of `zimwriterfs`.
    private let program: String

    /// - Parameter makeFolderWriter: Creates the writer for the files of the folder.
    init(
        _ path: String, _ metadata: ZIMMetadata, _ interruption: Interruption,
        makeFolderWriter: (FolderTree) throws(ArchiveError) -> FolderWriter
    ) throws(ArchiveError) {
        let name = path
        let path = try ArchiveOutput.resolvedPath(of: name)
        (self.path, self.name, self.metadata, self.interruption) = (path, name, metadata, interruption)
        program = try Self.tool("zimwriterfs", writes: true)
        do throws(SystemError) {
            folder = try ScratchFolder(beside: path, mode: 0o700)
        } catch {
            throw ArchiveError(
                SystemError(
                    error.code, doing: "write", name,
                    advice: "name a file in a writable folder"))
        }
        files = try makeFolderWriter(FolderTree("\(folder.path)/site", for: name))
    }

    /// The language for several or unknown languages. With this code Kiwix searches for exact words; with
    /// `und` it finds nothing.
    private static let anyLanguage = "mul"

    /// Returns the path of an openZIM tool. Throws if it is not installed.
    ///
    /// - Parameter writes: whether the tool writes ZIM files, for the error message.
    static func tool(_ name: String, writes: Bool) throws(ArchiveError) -> String {
        guard let program = ExternalProgram.find(name) else {
            throw ArchiveError(
                .input,
                "\(name) is not installed, which is needed to \(writes ? "write" : "read") ZIM files; "
                    + "install zim-tools (apt install zim-tools), or export as WACZ")
        }
        return program
    }

    func write(_ response: ArchivedResponse) throws(ArchiveError) -> Bool { try files.write(response) }

    /// Assets that pages need and that are not stored, each with a page that needs it.
    var missing: [String: String] { files.missing }

    func finish() throws(ArchiveError) -> [ArchiveFile] {
        _ = try files.finish()
        metadata.setLanguage(fromPageCounts: files.languages)
        let illustration = ".illustration.png"
        try ArchiveError.wrapping { () throws(SystemError) in
            let file = try File(
                "\(folder.path)/site/\(illustration)", O_WRONLY | O_CREAT | O_EXCL, mode: 0o644)
            try file.write(metadata.illustration ?? ZIMMetadata.drawIcon(metadata.source))
            try file.close()
        }
        let draft = "\(folder.path)/made.zim"
        let words = [
            "--welcome=index.html", "\(try illustrationOption())=\(illustration)",
            "--language=\(metadata.language ?? Self.anyLanguage)",
            "--title=\(metadata.title)", "--description=\(metadata.summary)", "--creator=\(metadata.creator)",
            "--publisher=larder", "--name=\(metadata.name)", "--source=\(metadata.source)",
            "--scraper=\(Product.userAgent)", "\(folder.path)/site", draft,
        ]
        let ending = try run(program, words)
        guard ending.status == 0, WholeFile.exists(draft) else {
            throw ArchiveError(
                .machine,
                "zimwriterfs cannot create a ZIM of \(metadata.source): \(ending.errorSummary); export it as a folder: DIR/"
            )
        }
        try ArchiveError.wrapping { () throws(SystemError) in
            try WholeFile.sync(draft)
            guard rename(draft, path) == 0 else { throw SystemError(errno, doing: "write", name) }
        }
        var status = Glibc.stat()
        guard stat(path, &status) == 0 else { throw ArchiveError(SystemError(errno, doing: "read", name)) }
        return [ArchiveFile(path: name, byteCount: Int64(status.st_size))]
    }

    /// Returns the name of the option for the illustration, because earlier versions of zimwriterfs call it
    /// `--favicon`.
    private func illustrationOption() throws(ArchiveError) -> String {
        let help = try run(program, ["--help"])
        let text = String(decoding: help.output, as: UTF8.self) + help.errors
        return text.contains("--illustration") || !text.contains("--favicon") ? "--illustration" : "--favicon"
    }

    /// Whether openZIM's `zimcheck` finds no errors in the file. Returns nil if `zimcheck` is not installed.
    func verify() throws(ArchiveError) -> Bool? {
        guard let check = ExternalProgram.find("zimcheck") else { return nil }
        return try run(check, [path]).status == 0
    }

    /// Runs a tool in the temporary folder. Throws if the export is interrupted.
    private func run(_ program: String, _ words: [String]) throws(ArchiveError) -> ExternalProgram.Outcome {
        let (folder, interruption) = (folder.path, interruption)
        let ending = try ArchiveError.wrapping { () throws(SystemError) in
            try ExternalProgram.run(program, words, in: folder) { interruption.isRequested }
        }
        guard let ending else {
            throw ArchiveError(.interrupted, "interrupted; run the same command again")
        }
        return ending
    }
}

/// The metadata of a ZIM file, within the maximum lengths that ZIM readers accept.
package struct ZIMMetadata {
    /// At most 30 characters.
    var title: String
    /// At most 80 characters.
    var summary: String
    /// Codes of three letters, separated by commas. Nil while the language is not known.
    private(set) var language: String?
    var creator: String
    var name: String
    /// The URL of the first page.
    var source: String
    /// A PNG image of 48 by 48 pixels. If it is nil, ``drawIcon(_:)`` draws one.
    var illustration: [UInt8]?

    /// - Parameters:
    ///   - page: The first page; nil for the start page of the site.
    ///   - userLanguage: The language that the user named; nil to use the language that the pages declare.
    init(
        site: Site, page: WebURL?, language userLanguage: String?, _ resources: ResourceLookup
    ) throws(ArchiveError) {
        let start = page ?? WebURL(site.start.first ?? site.name)
        let page = if let start { try resources.resource(at: start) } else { ExportedResource?.none }
        let host = start?.host ?? site.name
        source = start?.href ?? site.name
        creator = Self.singleLine(host, 200)
        title = Self.singleLine(page?.body.title ?? host, 30)
        summary = Self.singleLine("\(page?.body.title ?? host), from \(host)", 80)
        name = Self.singleLine(String(host.map { $0.isLetter || $0.isNumber ? $0 : "_" }), 100) + "_all"
        language = userLanguage
        guard let page else { return }
        if userLanguage == nil, let bytes = try resources.bytes(of: page) {
            language = Self.language(of: bytes)
        }
        for url in try resources.assets(of: page) {
            guard let asset = try resources.resource(at: url),
                asset.body.byteCount <= Self.maxIllustrationBytes, asset.type?.essence == "image/png",
                let bytes = try resources.bytes(of: asset), Self.isIllustration(bytes)
            else { continue }
            illustration = bytes
            break
        }
    }

    /// Uses the most frequent language of the pages if the first page declares none.
    ///
    /// - Parameter counts: The number of pages by language.
    mutating func setLanguage(fromPageCounts counts: [String: Int]) {
        guard language == nil else { return }
        language = counts.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
    }

    /// Larger images are not considered as the illustration.
    private static let maxIllustrationBytes = 256 << 10

    /// Returns the text as one line of at most `maxScalars` scalars that is never blank.
    private static func singleLine(_ text: String, _ maxScalars: Int) -> String {
        let line = text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }
        let short = String(String.UnicodeScalarView(line.prefix(maxScalars)))
        return short.allSatisfy { $0 == " " } ? "larder" : short
    }

    /// Whether the bytes begin as a PNG image of 48 by 48 pixels does.
    private static func isIllustration(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: [
            0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52,
        ])
            && bytes.dropFirst(16).starts(with: [0, 0, 0, 48, 0, 0, 0, 48])
    }

    /// Returns the language that `<html lang>` or a `content-language` element declares, as an ISO 639-3
    /// code.
    static func language(of document: [UInt8]) -> String? {
        let head = String(decoding: document.prefix(4096), as: UTF8.self).lowercased()
        if let start = head.firstRange(of: "<html"), let end = head[start.upperBound...].firstIndex(of: ">"),
            let place = head[start.upperBound..<end].firstRange(of: "lang=")
        {
            return languageCode(head[place.upperBound..<end])
        }
        guard let place = head.firstRange(of: "content-language"),
            let end = head[place.upperBound...].firstIndex(of: ">"),
            let value = head[place.upperBound..<end].firstRange(of: "content=")
        else { return nil }
        return languageCode(head[value.upperBound..<end])
    }

    /// Returns the code for the language tag (BCP 47) at the beginning of the text, possibly in quotes.
    /// Returns nil for an unknown language.
    static func languageCode(_ text: Substring) -> String? {
        let value = text.drop { $0 == "\"" || $0 == "'" }.prefix { ("a"..."z").contains($0) }
        if value == "und" { return nil }
        return value.utf8.count == 3 ? String(value) : languages[String(value)]
    }

    /// Returns the codes for user input such as `de` or `eng,fra`. Returns nil if a part is not a known
    /// language.
    package static func languageCodes(_ text: String) -> String? {
        let parts = text.lowercased().split(separator: ",", omittingEmptySubsequences: false)
        let codes = parts.compactMap { part -> String? in
            let isTag = (2...3).contains(part.prefix { $0 != "-" }.utf8.count)
            return isTag ? languageCode(part) : nil
        }
        return codes.count == parts.count ? codes.joined(separator: ",") : nil
    }

    /// ISO 639-3 codes by ISO 639-1 codes.
    private static let languages: [String: String] = [
        "ar": "ara", "bg": "bul", "bn": "ben", "ca": "cat", "cs": "ces", "da": "dan", "de": "deu",
        "el": "ell",
        "en": "eng", "es": "spa", "et": "est", "eu": "eus", "fa": "fas", "fi": "fin", "fr": "fra",
        "gl": "glg",
        "he": "heb", "hi": "hin", "hr": "hrv", "hu": "hun", "hy": "hye", "id": "ind", "is": "isl",
        "it": "ita",
        "ja": "jpn", "ka": "kat", "kk": "kaz", "ko": "kor", "lt": "lit", "lv": "lav", "mk": "mkd",
        "ms": "msa",
        "nb": "nob", "nl": "nld", "nn": "nno", "no": "nor", "pl": "pol", "pt": "por", "ro": "ron",
        "ru": "rus",
        "sk": "slk", "sl": "slv", "sq": "sqi", "sr": "srp", "sv": "swe", "sw": "swa", "ta": "tam",
        "te": "tel",
        "th": "tha", "tr": "tur", "uk": "ukr", "ur": "urd", "uz": "uzb", "vi": "vie", "zh": "zho",
    ]

    /// Draws an icon with two shelves, in a color derived from the name, as a PNG image.
    static func drawIcon(_ name: String) -> [UInt8] {
        let digest = DigestStream.digest(.md5, of: Array(name.utf8).span).bytes
        let color = digest.prefix(3).map { $0 / 2 + 32 }
        var rows: [UInt8] = []
        for y in 0..<48 {
            // The filter type of a PNG row: none.
            rows.append(0)
            for x in 0..<48 {
                let isShelf = (20...22).contains(y % 24) && (6..<42).contains(x)
                rows += isShelf ? [255, 255, 255] : color
            }
        }
        // A zlib stream with one stored block, so that no compressor is needed.
        var stream: [UInt8] = [0x78, 0x01, 0x01]
        stream += [
            UInt8(rows.count & 0xFF), UInt8(rows.count >> 8), ~UInt8(rows.count & 0xFF),
            ~UInt8(rows.count >> 8),
        ]
        stream += rows + bigEndian(adler32(rows))
        // Width, height, 8 bits per sample, RGB.
        let header = bigEndian(48) + bigEndian(48) + [8, 2, 0, 0, 0]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header)
            + chunk("IDAT", stream) + chunk("IEND", [])
    }

    /// Returns a PNG chunk: length, name, content and CRC-32.
    private static func chunk(_ name: String, _ bytes: [UInt8]) -> [UInt8] {
        let whole = Array(name.utf8) + bytes
        var checksum = Checksum()
        whole.withUnsafeBytes { checksum.update($0) }
        return bigEndian(UInt32(bytes.count)) + whole + bigEndian(checksum.value)
    }

    /// Returns the Adler-32 checksum of a zlib stream (RFC 1950).
    private static func adler32(_ bytes: [UInt8]) -> UInt32 {
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            low = (low + UInt32(byte)) % 65521
            high = (high + low) % 65521
        }
        return high << 16 | low
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - $0 * 8)) }
    }
}
