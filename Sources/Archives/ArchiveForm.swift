/// The forms of archives.
public enum ArchiveForm: String, Sendable, CaseIterable {
    /// WARC 1.1, compressed by members.
    case warc
    /// WACZ 1.1.1: WARC with an index and a list of pages.
    case wacz
    /// HAR 1.2.
    case har
    /// A folder that a browser opens without a server.
    case folder
    /// The same in a zip file.
    case zip

    /// What the name of a file or folder says; nil when it says nothing.
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
        } else if name.hasSuffix("/") {
            self = .folder
        } else {
            return nil
        }
    }

    /// Those that hold responses, and can be taken in again.
    package static let ofResponses: [ArchiveForm] = [.warc, .wacz, .har]

    /// What names of files of the form end with.
    package var suffix: String {
        switch self {
        case .warc: ".warc.gz"
        case .wacz: ".wacz"
        case .har: ".har"
        case .folder: "/"
        case .zip: ".zip"
        }
    }
}
