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
    private var stage: String { folder.path }
    private let files: FolderWriter
    private var about: ZIMMetadata
    private let interruption: Interruption
    private let program: String
    private var isDone = false

    /// - Parameter files: Creates the writer for the files of the folder.
    init(
        _ path: String, _ about: ZIMMetadata, _ interruption: Interruption,
        files: (FolderTree) throws(ArchiveError) -> FolderWriter
    ) throws(ArchiveError) {
        let name = path
        let path = try ArchiveOutput.place(of: name)
        (self.path, self.name, self.about, self.interruption) = (path, name, about, interruption)
        program = try Self.tool("zimwriterfs", "write")
        do throws(SystemError) {
            folder = try ScratchFolder(beside: path, mode: 0o700)
        } catch {
            throw ArchiveError(
                SystemError(
                    error.code, doing: "write", name,
                    advice: "name a file in a writable folder"))
        }
        self.files = try files(FolderTree("\(folder.path)/site", for: name))
    }

    /// The language for several or unknown languages. With this code Kiwix searches for exact words; with
    /// `und` it finds nothing.
    private static let anyLanguage = "mul"

    static func tool(_ name: String, _ verb: String) throws(ArchiveError) -> String {
        guard let program = ExternalProgram.find(name) else {
            throw ArchiveError(
                .input,
                "\(name) is not installed, which is needed to \(verb == "read" ? "read" : "write") ZIM files; "
                    + "install zim-tools (apt install zim-tools), or export as WACZ")
        }
        return program
    }

    func write(_ response: ArchivedResponse) throws(ArchiveError) -> Bool { try files.write(response) }

    /// Assets that pages need and that are not stored, each with a page that needs it.
    var missing: [String: String] { files.missing }

    func finish() throws(ArchiveError) -> [ArchiveFile] {
        _ = try files.finish()
        about.tell(languages: files.languages)
        let picture = ".illustration.png"
        try ArchiveError.wrapping { () throws(SystemError) in
            let file = try File("\(stage)/site/\(picture)", O_WRONLY | O_CREAT | O_EXCL, mode: 0o644)
            try file.write(about.picture ?? ZIMMetadata.tile(about.source))
            try file.close()
        }
        let made = "\(stage)/made.zim"
        let words = [
            "--welcome=index.html", "\(try pictureOption())=\(picture)",
            "--language=\(about.language ?? Self.anyLanguage)",
            "--title=\(about.title)", "--description=\(about.summary)", "--creator=\(about.creator)",
            "--publisher=larder", "--name=\(about.name)", "--source=\(about.source)",
            "--scraper=\(Product.userAgent)", "\(stage)/site", made,
        ]
        let ending = try run(program, words)
        guard ending.status == 0, WholeFile.exists(made) else {
            throw ArchiveError(
                .machine,
                "zimwriterfs cannot create a ZIM of \(about.source): \(ending.errorSummary); export it as a folder: DIR/"
            )
        }
        try ArchiveError.wrapping { () throws(SystemError) in
            try WholeFile.sync(made)
            guard rename(made, path) == 0 else { throw SystemError(errno, doing: "write", name) }
        }
        var status = Glibc.stat()
        guard stat(path, &status) == 0 else { throw ArchiveError(SystemError(errno, doing: "read", name)) }
        return [ArchiveFile(path: name, byteCount: Int64(status.st_size))]
    }

    /// Returns the name of the option for the illustration, because earlier versions of zimwriterfs call it
    /// `--favicon`.
    private func pictureOption() throws(ArchiveError) -> String {
        let help = try run(program, ["--help"])
        let text = String(decoding: help.output, as: UTF8.self) + help.errors
        return text.contains("--illustration") || !text.contains("--favicon") ? "--illustration" : "--favicon"
    }

    /// Whether openZIM's `zimcheck` finds no errors in the file. Returns nil if `zimcheck` is not installed.
    func verify() throws(ArchiveError) -> Bool? {
        guard let check = ExternalProgram.find("zimcheck") else { return nil }
        return try run(check, [path]).status == 0
    }

    private func run(_ program: String, _ words: [String]) throws(ArchiveError) -> ExternalProgram.Outcome {
        let (stage, interruption) = (stage, interruption)
        let ending = try ArchiveError.wrapping { () throws(SystemError) in
            try ExternalProgram.run(program, words, in: stage) { interruption.isRequested }
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
    var source: String
    /// A PNG image of 48 by 48 pixels. If it is nil, ``tile(_:)`` draws one.
    var picture: [UInt8]?

    /// - Parameters:
    ///   - page: The first page; nil for the start page of the site.
    ///   - language: The language that the user named; nil to use the language that the pages declare.
    init(
        site: Site, page: WebURL?, language said: String?, _ copies: ShownCopies
    ) throws(ArchiveError) {
        let start = page ?? WebURL(site.start.first ?? site.name)
        let page = if let start { try copies.copy(at: start) } else { ShownCopies.Copy?.none }
        let host = start?.host ?? site.name
        source = start?.href ?? site.name
        creator = Self.plain(host, 200)
        title = Self.plain(page?.body.title ?? host, 30)
        summary = Self.plain("\(page?.body.title ?? host), from \(host)", 80)
        name = Self.plain(String(host.map { $0.isLetter || $0.isNumber ? $0 : "_" }), 100) + "_all"
        language = said
        guard let page else { return }
        if said == nil, let bytes = try copies.bytes(of: page) { language = Self.language(of: bytes) }
        for url in try copies.assets(of: page) {
            guard let copy = try copies.copy(at: url), copy.body.byteCount <= Self.largestPicture,
                copy.type?.essence == "image/png", let bytes = try copies.bytes(of: copy),
                Self.isPicture(bytes)
            else { continue }
            picture = bytes
            break
        }
    }

    /// Uses the language of most pages if the first page declares none.
    mutating func tell(languages: [String: Int]) {
        guard language == nil else { return }
        language = languages.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
    }

    private static let largestPicture = 256 << 10

    /// Returns the text as one line of at most `limit` scalars that is never blank.
    private static func plain(_ text: String, _ limit: Int) -> String {
        let line = text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }
        let short = String(String.UnicodeScalarView(line.prefix(limit)))
        return short.allSatisfy { $0 == " " } ? "larder" : short
    }

    /// Whether the bytes begin as a PNG image of 48 by 48 pixels does.
    private static func isPicture(_ bytes: [UInt8]) -> Bool {
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
            return code(head[place.upperBound..<end])
        }
        guard let place = head.firstRange(of: "content-language"),
            let end = head[place.upperBound...].firstIndex(of: ">"),
            let value = head[place.upperBound..<end].firstRange(of: "content=")
        else { return nil }
        return code(head[value.upperBound..<end])
    }

    /// Returns the code for the language tag (BCP 47) at the beginning of the text, possibly in quotes.
    /// Returns nil for an unknown language.
    static func code(_ text: Substring) -> String? {
        let value = text.drop { $0 == "\"" || $0 == "'" }.prefix { ("a"..."z").contains($0) }
        if value == "und" { return nil }
        return value.utf8.count == 3 ? String(value) : languages[String(value)]
    }

    /// Returns the codes for user input such as `de` or `eng,fra`. Returns nil if a part is not a known
    /// language.
    package static func codes(_ text: String) -> String? {
        let parts = text.lowercased().split(separator: ",", omittingEmptySubsequences: false)
        let codes = parts.compactMap { part -> String? in
            let isTag = (2...3).contains(part.prefix { $0 != "-" }.utf8.count)
            return isTag ? code(part) : nil
        }
        return codes.count == parts.count ? codes.joined(separator: ",") : nil
    }

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
    static func tile(_ name: String) -> [UInt8] {
        let sum = DigestStream.digest(.md5, of: Array(name.utf8).span).bytes
        let colour = sum.prefix(3).map { $0 / 2 + 32 }
        var rows: [UInt8] = []
        for y in 0..<48 {
            rows.append(0)
            for x in 0..<48 {
                let isShelf = (20...22).contains(y % 24) && (6..<42).contains(x)
                rows += isShelf ? [255, 255, 255] : colour
            }
        }
        var packed: [UInt8] = [0x78, 0x01, 0x01]
        packed += [
            UInt8(rows.count & 0xFF), UInt8(rows.count >> 8), ~UInt8(rows.count & 0xFF),
            ~UInt8(rows.count >> 8),
        ]
        packed += rows + big(adler(rows))
        let head = big(48) + big(48) + [8, 2, 0, 0, 0]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", head) + chunk("IDAT", packed)
            + chunk("IEND", [])
    }

    private static func chunk(_ name: String, _ bytes: [UInt8]) -> [UInt8] {
        let whole = Array(name.utf8) + bytes
        var sum: UInt32 = .max
        for byte in whole {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
        return big(UInt32(bytes.count)) + whole + big(~sum)
    }

    private static func adler(_ bytes: [UInt8]) -> UInt32 {
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            low = (low + UInt32(byte)) % 65521
            high = (high + low) % 65521
        }
        return high << 16 | low
    }

    private static func big(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - $0 * 8)) }
    }
}

/// Changes to pages for openZIM's `zimcheck`.
enum ZIMText {
    /// Hides links in scripts and comments from `zimcheck`, which would report those without a target. It
    /// recognizes attributes by the space before them. A tab means the same to scripts and to the pages that
    /// they write.
    static func hideWrittenLinks(in text: inout [UInt8]) {
        var place = 0
        while let start = text[place...].firstIndex(of: UInt8(ascii: "<")) {
            if has("<!--", in: text, at: start) {
                place = end(of: "-->", in: text, from: start + 4)
            } else if has("<script", in: text, at: start) {
                place = end(of: "</script", in: text, from: start + 7)
            } else {
                place = start + 1
                continue
            }
            hide(in: &text, start + 4..<place)
        }
    }

    private static func hide(in text: inout [UInt8], _ range: Range<Int>) {
        for place in range where text[place] == UInt8(ascii: " ") {
            guard let name = ["href", "src"].first(where: { has($0, in: text, at: place + 1) }) else {
                continue
            }
            var next = place + 1 + name.utf8.count
            func skipSpaces() { while next < range.upperBound, text[next] == UInt8(ascii: " ") { next += 1 } }
            skipSpaces()
            guard next < range.upperBound, text[next] == UInt8(ascii: "=") else { continue }
            next += 1
            skipSpaces()
            guard next < range.upperBound,
                text[next] == UInt8(ascii: "\"") || text[next] == UInt8(ascii: "'"),
                // Strings that a script searches for must not change.
                !"/\"'`(".utf8.contains(text[place - 1])
            else { continue }
            text[place] = 0x09
        }
    }

    private static func has(_ word: String, in text: [UInt8], at place: Int) -> Bool {
        place + word.utf8.count <= text.count
            && zip(word.utf8, text[place...]).allSatisfy { $0 == ($1 < 0x5B && $1 > 0x40 ? $1 | 0x20 : $1) }
    }

    /// Returns the place after the next such word, or the end of the text.
    private static func end(of word: String, in text: [UInt8], from start: Int) -> Int {
        var place = min(start, text.count)
        while let next = text[place...].firstIndex(where: { $0 == word.utf8.first }) {
            if has(word, in: text, at: next) { return next + word.utf8.count }
            place = next + 1
        }
        return text.count
    }
}
