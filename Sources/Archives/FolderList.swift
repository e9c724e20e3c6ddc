internal import Web

/// The list of addresses that larder writes beside the files of a folder: with it the folder can be taken in
/// again, whatever names its files have. A JSON text a line; the first one is a head.
enum FolderList {
    static let name = "~larder.jsonl"
    private static let format = "larder-folder-1"
    static let largest = 512 << 20

    struct Line: Equatable {
        var url: String
        /// Nil for what is no file: redirects, and what is gone.
        var file: String?
        var status = 200
        /// Of lists that older larders wrote, only what kind it is and where it leads.
        var fields: HTTPFields
        var fetched: Int64
    }

    static func head(site: String, start: String) -> String {
        let members: JSONMembers = ["format": format, "site": site, "start": start]
        return members.text(.compact) + "\n"
    }

    static func text(of line: Line) -> String {
        let members: JSONMembers = [
            "url": line.url, "file": IfAny(line.file), "status": line.status,
            "fields": line.fields.list.map { [$0.name, $0.value] },
            "fetched": HTTPDate(secondsSinceEpoch: line.fetched).iso8601,
        ]
        return members.text(.compact) + "\n"
    }

    /// The page to begin at, where the first line is a head; else it is somebody else's file.
    static func start(_ head: ArraySlice<UInt8>) -> String? {
        guard let json = try? JSONValue.parse(Array(head).span), json["format"]?.string == format else {
            return nil
        }
        return json["start"]?.string
    }

    /// Nil for what is no line of it.
    static func line(_ bytes: ArraySlice<UInt8>) -> Line? {
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
        // As they would come off the wire.
        return Line(
            url: url, file: json["file"]?.string, status: status,
            fields: HTTPFields(block: Array(fields.block.utf8).span), fetched: fetched.secondsSinceEpoch)
    }
}
