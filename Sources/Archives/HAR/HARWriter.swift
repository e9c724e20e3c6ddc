internal import Digest
internal import Glibc
internal import Store
internal import System
internal import Web

/// Writes HAR 1.2 one entry at a time. The list of pages follows the entries in the file, so it is collected in a
/// temporary file until then.
final class HARWriter: ArchiveWriter {
    private let output: ArchiveOutput
    private let folder: ScratchFolder
    /// The JSON objects of the pages, separated by commas.
    private let pages: BodySpool
    private var hasEntry = false
    private var hasPage = false

    init(_ path: String, _ info: ArchiveInfo) throws(ArchiveError) {
        output = try ArchiveOutput(path)
        folder = try ArchiveError.wrapping { () throws(SystemError) in
            try ScratchFolder(named: "larder-export")
        }
        pages = BodySpool(.inFiles(folder: folder.path))
        let creator: JSONMembers = ["name": "larder", "version": Product.version]
        let comment = "\(info.site)\(info.snapshot.map { ", snapshot \($0)" } ?? "")"
        try put(
            #"{"log":{"version":"1.2","creator":\#(creator.text(.compact)),"comment":"#
                + JSONText.quoted(comment) + #","entries":["#)
    }

    private func put(_ text: String) throws(ArchiveError) { try output.write(Array(text.utf8)) }

    func write(_ response: ArchivedResponse) throws(ArchiveError) -> Bool {
        try put(hasEntry ? ",\n" : "\n")
        hasEntry = true
        // The entry has a placeholder for the body, which is streamed in its place.
        let entry = Array(try self.entry(response).text(.compact).utf8)
        guard let body = response.body, let content = body.content else {
            try output.write(entry)
            return true
        }
        // Inside a string, the quotes of the placeholder would be escaped, so the first match is the
        // placeholder.
        guard let placeholder = entry.firstRange(of: Array(Self.bodyPlaceholder.utf8)) else {
            preconditionFailure("an entry has a place for its body")
        }
        try output.write(Array(entry[..<placeholder.lowerBound]))
        if case .bytes(let bytes) = content, let text = JSONText.text(of: bytes, response.fields.contentType)
        {
            try put(#""text":"# + text)
        } else {
            try put(#""encoding":"base64","text":""#)
            try writeBase64(content)
            try put("\"")
        }
        try output.write(Array(entry[placeholder.upperBound...]))
        return true
    }

    private static let bodyText = "larder:body"
    /// The member of an entry that the body replaces.
    private static let bodyPlaceholder = #""text":"\#(bodyText)""#

    /// Returns the entry of a response. Adds the response to the list of pages if it is a page. Timings are zero, because the store
    /// does not have them. Larder's own metadata is in the member `_larder`; HAR requires the underscore.
    private func entry(_ response: ArchivedResponse) throws(ArchiveError) -> JSONMembers {
        let date = HTTPDate(secondsSinceEpoch: response.fetched).iso8601.dropLast() + ".000Z"
        let isPage = response.status == 200 && response.notes?.role == 0 && response.request == .get
        let id = DigestStream.digest(.md5, of: Array(response.url.utf8).span).hex
        if isPage, response.body != nil { try addPage(response, id, String(date)) }
        return [
            "pageref": IfAny(isPage && response.body != nil ? id : nil), "startedDateTime": String(date),
            "time": 0,
            "request": request(response), "response": self.response(response), "cache": [:] as JSONMembers,
            "timings": ["send": 0, "wait": 0, "receive": 0] as JSONMembers, "_larder": IfAny(response.notes),
        ]
    }

    private func addPage(_ response: ArchivedResponse, _ id: String, _ date: String) throws(ArchiveError) {
        let page: JSONMembers = [
            "startedDateTime": date, "id": id, "title": response.title ?? response.url,
            "pageTimings": [:] as JSONMembers,
        ]
        let text = (hasPage ? ",\n" : "\n") + page.text(.compact)
        try Array(text.utf8).withBytes { (bytes) throws(ArchiveError) in try pages.append(bytes) }
        hasPage = true
    }

    /// Returns the request of an entry, with the known headers.
    private func request(_ response: ArchivedResponse) -> JSONMembers {
        let query = WebURL(response.url)?.query ?? ""
        let parts = query.split(separator: "&").map { part -> JSONMembers in
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return ["name": String(pair[0]), "value": pair.count > 1 ? String(pair[1]) : ""]
        }
        return [
            "method": response.method, "url": response.url, "httpVersion": "HTTP/1.1", "cookies": [String](),
            "headers": Self.headers(response.requestFields), "queryString": parts, "headersSize": -1,
            "bodySize": -1,
        ]
    }

    /// Returns the response of an entry, with a placeholder for its body.
    private func response(_ response: ArchivedResponse) -> JSONMembers {
        let byteCount = response.body?.byteCount ?? 0
        let type = response.fields["Content-Type"] ?? "x-unknown"
        let content: JSONMembers =
            response.body?.content == nil
            ? ["size": byteCount, "mimeType": type]
            : [
                "size": byteCount, "mimeType": type, "_sha256": IfAny(response.body?.sha256.hex),
                "text": Self.bodyText,
            ]
        return [
            "status": response.status, "statusText": StatusPhrase.of(response.status),
            "httpVersion": "HTTP/1.1",
            "cookies": [String](), "content": content, "headers": Self.headers(response.fields),
            "redirectURL": response.fields["Location"] ?? "", "headersSize": -1, "bodySize": byteCount,
        ]
    }

    private static func headers(_ fields: HTTPFields) -> [JSONMembers] {
        fields.list.map { ["name": $0.name, "value": $0.value] }
    }

    private func writeBase64(_ content: BodyContent) throws(ArchiveError) {
        // Base64 encodes groups of three bytes. The bytes that do not fill a group wait for the next piece.
        var rest: [UInt8] = []
        try content.writePieces { (bytes) throws(ArchiveError) in
            rest.append(contentsOf: bytes)
            let whole = rest.count / 3 * 3
            try put(Base64.encode(Array(rest[..<whole])))
            rest.removeFirst(whole)
        }
        try put(Base64.encode(rest))
    }

    func finish() throws(ArchiveError) -> [ArchiveFile] {
        try put("\n],\"pages\":[")
        if let content = try pages.finish().content {
            try content.writePieces { (bytes) throws(ArchiveError) in try output.write(bytes) }
        }
        try put("\n]}}\n")
        return [try output.finish()]
    }
}

/// Encodes text as JSON strings.
enum JSONText {
    static func quoted(_ text: String) -> String {
        var writer = JSONWriter(.compact)
        writer.string(text)
        return writer.text
    }

    /// Returns the body as a JSON string. Returns nil if it is not text in UTF-8, because its bytes would not
    /// be preserved.
    static func text(of bytes: [UInt8], _ type: MediaType?) -> String? {
        let isText =
            type.map {
                $0.essence.hasPrefix("text/") || $0.essence.contains("json") || $0.essence.contains("xml")
                    || $0.essence.contains("javascript")
            } ?? false
        guard isText, type?.charset.map({ $0.lowercased() == "utf-8" }) ?? true else { return nil }
        return String(validating: bytes, as: UTF8.self).map(quoted)
    }
}
