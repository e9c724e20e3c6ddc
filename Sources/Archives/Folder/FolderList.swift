internal import Web

/// The list of URLs that Larder writes beside the files of an exported folder. With it, the folder can be
/// imported whatever its files are called. Each line is a JSON object; the first one is a header.
enum FolderList {
    static let name = "~larder.jsonl"
    private static let format = "larder-folder-1"

    /// A response of the folder.
    struct Line: Equatable {
        var url: String
        /// The path of the file. Nil for responses without a file, such as redirects and error responses.
        var file: String?
        var status = 200
        /// The response headers. Lists from earlier versions have only `Content-Type` and `Location`.
        var fields: HTTPFields
        var fetched: Int64
    }

    /// Returns the first line.
    static func header(site: String, start: String) -> String {
        let members: JSONMembers = ["format": format, "site": site, "start": start]
        return members.text(.compact) + "\n"
    }

    /// Returns the line of a response.
    static func encode(_ line: Line) -> String {
        let members: JSONMembers = [
            "url": line.url, "file": IfAny(line.file), "status": line.status,
            "fields": line.fields.list.map { [$0.name, $0.value] },
            "fetched": HTTPDate(secondsSinceEpoch: line.fetched).iso8601,
        ]
        return members.text(.compact) + "\n"
    }

    /// Returns the URL of the start page from the first line. Returns nil if the file is not a list of
    /// Larder.
    static func startURL(inHeader header: ArraySlice<UInt8>) -> String? {
        guard let json = try? JSONValue.parse(Array(header).span), json["format"]?.string == format else {
            return nil
        }
        return json["start"]?.string
    }

    /// Parses a line. Returns nil if it does not have the format of the list.
    static func parseLine(_ bytes: ArraySlice<UInt8>) -> Line? {
        guard let json = try? JSONValue.parse(Array(bytes).span), let url = json["url"]?.string,
            let status = json["status"]?.int, (200...599).contains(status),
            let fetched = json["fetched"]?.string.flatMap({ HTTPDate(iso8601: $0) })
        else { return nil }
        var fields = HTTPFields()
        for field in json["fields"]?.array ?? [] {
            let pair = field.array ?? []
            guard pair.count == 2, let name = pair[0].string, let value = pair[1].string else { return nil }
            fields.append(name, value)
        }
        for (name, member) in [("Content-Type", "type"), ("Location", "location")] {
            if let value = json[member]?.string { fields.append(name, value) }
        }
        // The fields are parsed again, as if they were received, because names and values are untrusted.
        return Line(
            url: url, file: json["file"]?.string, status: status,
            fields: HTTPFields(block: Array(fields.block.utf8).span), fetched: fetched.secondsSinceEpoch)
    }
}
