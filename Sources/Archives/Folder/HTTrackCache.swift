internal import Glibc
internal import System
internal import Web

/// The cache of a mirror that HTTrack made: a zip file beside the mirrored files. It contains the headers of all responses,
/// and the original bodies of the files in which HTTrack rewrote links. A cache is used by one thread.
///
/// A mirror without a readable cache may still have HTTrack's list of files; `parseListLine` reads its lines.
final class HTTrackCache {
    struct CachedResponse {
        /// The URL, without fragment and credentials.
        let url: WebURL
        let status: Int
        /// The headers, without those that HTTrack added.
        let fields: HTTPFields
        /// The zip entry with the original body. Nil if the file has the original body, or the response has none.
        let body: ZipFile.Entry?
        /// The path of the mirrored file in the mirror's folder; nil if HTTrack names none.
        let filePath: String?
    }

    /// The path of the cache in the mirror's folder.
    static let name = "hts-cache/new.zip"
    /// The path of the list of files in the mirror's folder: a text file with their URLs.
    static let listName = "hts-cache/new.txt"
    /// The names of files that HTTrack writes for its own use into the mirror's folder.
    static let toolFileNames: Set<String> = [
        "hts-log.txt", "backblue.gif", "fade.gif", "hts-in_progress.lock", "cookies.txt",
    ]

    private let zip: ZipFile
    /// The temporary folder with the copy of the cache. It is removed with this object.
    private let folder: ScratchFolder

    /// Copies the cache to a temporary folder and opens the copy: the source may be an archive, in which the cache cannot
    /// be opened directly.
    ///
    /// - Parameters:
    ///   - file: the cache in the mirror.
    ///   - source: the imported mirror.
    /// - Throws: `ArchiveError` if the cache cannot be read completely, or is not a zip file.
    init(_ file: SourceFile, of source: any FileSource) throws(ArchiveError) {
        folder = try ArchiveError.wrapping { () throws(SystemError) in
            try ScratchFolder(named: "larder-import")
        }
        let path = "\(folder.path)/new.zip"
        let copy = try ArchiveOutput(path)
        let failureReason = try source.read(file) { (piece) throws(ArchiveError) in
            try copy.write(piece)
            return true
        }
        if let failureReason {
            throw ArchiveError(.input, "\(source.place(of: file)) cannot be read: \(failureReason)")
        }
        _ = try copy.finish()
        zip = try ZipFile(path)
    }

    /// Reads the status and headers of all responses. Ignores entries that are not HTTP responses.
    func responses() throws(ArchiveError) -> [CachedResponse] {
        let file = try ArchiveError.wrapping { [path = zip.path] () throws(SystemError) in
            try File(path, O_RDONLY, doing: "read")
        }
        var responses: [CachedResponse] = []
        for entry in zip.entries {
            let head = try ArchiveError.wrapping { () throws(SystemError) in
                try file.read(from: entry.extra.lowerBound, byteCount: entry.extra.count)
            }
            if let response = Self.response(of: entry, head: head) { responses.append(response) }
        }
        return responses
    }

    /// Parses an entry. Returns nil if it is not an HTTP response.
    ///
    /// - Parameter head: the extra field of the entry's local header, in which HTTrack stores a status line and the response
    ///   headers. HTTrack adds fields that begin with `X-`, such as the path of the file (`X-Save`).
    private static func response(of entry: ZipFile.Entry, head: [UInt8]) -> CachedResponse? {
        guard head.starts(with: "HTTP/".utf8), let url = WebURL(entry.name), url.isHTTP else { return nil }
        let fieldsStart = head.firstIndex(of: 0x0A).map { $0 + 1 } ?? head.count
        let storedFields = HTTPFields(block: Array(head[fieldsStart...]).span, isReceived: true)
        guard let status = storedFields["X-StatusCode"].flatMap({ Int($0) }), (100...999).contains(status)
        else {
            return nil
        }
        var fields = HTTPFields()
        for field in storedFields.list where !field.name.lowercased().hasPrefix("x-") {
            let (name, value) = (field.name, field.value)
            // HTTrack stores the charset in a field of its own.
            let charset = storedFields["X-Charset"].flatMap {
                $0.isEmpty || value.contains("charset") ? nil : $0
            }
            let isType = name.lowercased() == "content-type"
            fields.append(name, isType ? charset.map { "\(value); charset=\($0)" } ?? value : value)
        }
        let hasBody = storedFields["X-In-Cache"] == "1"
        return CachedResponse(
            url: url.key, status: status, fields: fields, body: hasBody ? entry : nil,
            filePath: storedFields["X-Save"].map { FileName.text(Array($0.utf8)) })
    }

    /// Returns an input for a body in the cache. Returns nil if the entry is encrypted or has no readable content.
    func input(of entry: ZipFile.Entry) throws(ArchiveError) -> ArchiveInput? {
        try zip.input(entry, as: entry.isDeflated ? .deflate : .plain)
    }

    // MARK: - Mirrors without a cache

    /// Parses a line of the list of files. Returns nil if its status is not 200 or its URL is not an HTTP URL.
    ///
    /// A line has columns that are separated by tabs. Counted from 0, column 3 is the status, 5 the media type, 7 the URL,
    /// and 8 the path of the file. The path is relative to the folder in which HTTrack was started, so it may begin with
    /// folders above the mirror's folder.
    static func parseListLine(_ line: ArraySlice<UInt8>) -> (url: WebURL, type: String, filePath: String)? {
        let columns = line.split(separator: 0x09, omittingEmptySubsequences: false)
        guard columns.count >= 9, columns[3].elementsEqual("200".utf8),
            let url = WebURL(String(decoding: columns[7], as: UTF8.self)), url.isHTTP
        else { return nil }
        let filePath = FileName.text([UInt8](percentDecoding: Array(columns[8]).span))
        return (url.key, String(decoding: columns[5], as: UTF8.self), filePath)
    }
}
