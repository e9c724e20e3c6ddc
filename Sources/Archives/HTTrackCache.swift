internal import Glibc
internal import System
internal import Web

/// The cache that HTTrack keeps beside the files of a mirror. It has the response headers, and the original
/// bodies of files that HTTrack changed. A cache is used by one thread.
final class HTTrackCache {
    struct CachedResponse {
        let url: WebURL
        let status: Int
        let fields: HTTPFields
        /// The original body in the cache. If it is nil, the file is unchanged.
        let body: ZipFile.Entry?
        /// The path of the file in the mirror's folder.
        let file: String?
    }

    static let name = "hts-cache/new.zip"
    /// The name of the text file with the URLs of all files. Mirrors may have it without the cache.
    static let listName = "hts-cache/new.txt"
    /// The files that HTTrack writes for its own use into the folder of a mirror.
    static let toolFiles: Set<String> = [
        "hts-log.txt", "backblue.gif", "fade.gif", "hts-in_progress.lock", "cookies.txt",
    ]

    private let zip: ZipFile
    /// The folder with a copy of the cache, because the mirror may be packed.
    private let folder: ScratchFolder

    init(_ file: SourceFile, of source: any FileSource) throws(ArchiveError) {
        folder = try ArchiveError.wrapping { () throws(SystemError) in
            try ScratchFolder(named: "larder-import")
        }
        let path = "\(folder.path)/new.zip"
        let copy = try ArchiveOutput(path)
        let reason = try source.read(file) { (piece) throws(ArchiveError) in
            try copy.write(piece)
            return true
        }
        if let reason {
            throw ArchiveError(.input, "\(source.place(of: file)) cannot be read: \(reason)")
        }
        _ = try copy.finish()
        zip = try ZipFile(path)
    }

    /// Reads all responses of the cache. Entries that are not responses are ignored.
    func responses() throws(ArchiveError) -> [CachedResponse] {
        let file = try ArchiveError.wrapping { [path = zip.path] () throws(SystemError) in
            try File(path, O_RDONLY, doing: "read")
        }
        var responses: [CachedResponse] = []
        for entry in zip.entries {
            let head = try ArchiveError.wrapping { () throws(SystemError) in
                try file.read(from: entry.extra.lowerBound, byteCount: entry.extra.count)
            }
            if let response = Self.response(entry, head) { responses.append(response) }
        }
        return responses
    }

    /// Returns the response of an entry, or nil if the entry is not one.
    ///
    /// - Parameter head: The extra field of the local header, in which HTTrack stores the response headers. Its own
    ///   fields begin with `X-`.
    private static func response(_ entry: ZipFile.Entry, _ head: [UInt8]) -> CachedResponse? {
        guard head.starts(with: "HTTP/".utf8), let url = WebURL(entry.name), url.isHTTP else { return nil }
        let end = head.firstIndex(of: 0x0A).map { $0 + 1 } ?? head.count
        let all = HTTPFields(block: Array(head[end...]).span, isReceived: true)
        guard let status = all["X-StatusCode"].flatMap({ Int($0) }), (100...999).contains(status) else {
            return nil
        }
        var fields = HTTPFields()
        for field in all.list where !field.name.lowercased().hasPrefix("x-") {
            let (name, value) = (field.name, field.value)
            let charset = all["X-Charset"].flatMap { $0.isEmpty || value.contains("charset") ? nil : $0 }
            let isType = name.lowercased() == "content-type"
            fields.append(name, isType ? charset.map { "\(value); charset=\($0)" } ?? value : value)
        }
        let isCached = all["X-In-Cache"] == "1"
        return CachedResponse(
            url: url.key, status: status, fields: fields, body: isCached ? entry : nil,
            file: all["X-Save"].map { FileName.text(Array($0.utf8)) })
    }

    /// Returns an input for the body in the cache. Returns nil if the cache does not contain it.
    func input(_ entry: ZipFile.Entry) throws(ArchiveError) -> ArchiveInput? {
        try zip.input(entry, as: entry.isDeflated ? .deflate : .plain)
    }

    // MARK: - Mirrors without a cache

    /// Parses a line of `new.txt`. Returns the URL, the media type and the file name, which may begin with
    /// folders above the mirror's folder.
    static func parseLine(_ line: ArraySlice<UInt8>) -> (url: WebURL, type: String, file: String)? {
        let columns = line.split(separator: 0x09, omittingEmptySubsequences: false)
        guard columns.count >= 9, columns[3].elementsEqual("200".utf8),
            let url = WebURL(String(decoding: columns[7], as: UTF8.self)), url.isHTTP
        else { return nil }
        let file = FileName.text([UInt8](percentDecoding: Array(columns[8]).span))
        return (url.key, String(decoding: columns[5], as: UTF8.self), file)
    }
}
