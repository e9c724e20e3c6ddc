internal import Store
internal import Web

/// The visits of sites.
public struct VisitsReport: Sendable, Equatable {
    public let sites: [StatusReport.Site]

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("sites") { list in
                list.array { array in for site in sites { site.write(to: &array) } }
            }
        }
        return writer.text
    }
}
