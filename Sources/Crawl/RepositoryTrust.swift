package import Web

/// The trusted metadata of the TUF repository that is a site's manifest. Later updates continue from it.
package struct RepositoryTrust: Sendable, Equatable {
    /// The trusted metadata files by their names, such as `root.json`.
    package var files: [String: String] = [:]
    /// Whether the server has the targets under names with digests (`HASH.app.js`); nil if that was not tried yet.
    package var usesDigestNames: Bool?

    package init() {}

    package init(_ json: JSONValue) {
        for file in json["files"]?.members ?? [] { files[file.key] = file.value.string }
        usesDigestNames = json["digestNames"]?.bool
    }
}

extension RepositoryTrust: JSONObject {
    package var members: JSONMembers {
        [
            "files": JSONMembers(files.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }),
            "digestNames": IfAny(usesDigestNames),
        ]
    }
}
