internal import Web

/// The location of the larger bodies of a PostgreSQL store, as the store's address names it:
/// `bodies=/shared/folder`, or `bodies=s3://bucket/prefix` with `s3-region=` and `s3-endpoint=`.
package struct BodyStorageLocation: Sendable, Hashable {
    /// A shared folder or a bucket.
    package enum Kind: Sendable, Hashable {
        /// A folder that all machines can access, each at the path where it is mounted.
        case folder(path: String)
        /// A bucket. The prefix is empty or ends with a slash.
        case bucket(name: String, prefix: String)
    }

    package let kind: Kind
    /// The value of `bodies=` as the user wrote it.
    package let text: String
    package private(set) var region: String?
    /// The endpoint of a bucket that is not at Amazon: `http://minio.example.com:9000`.
    package private(set) var endpoint: String?
    /// Bodies of up to this many bytes stay in PostgreSQL.
    let maxRowBodyBytes: Int

    /// The settings in the store's address that describe the location.
    static let settingNames = ["bodies", "bodies-over", "s3-region", "s3-endpoint"]

    /// The message for an invalid setting.
    struct SettingError: Error {
        let text: String
    }

    /// Nil if the address contains none of these settings.
    init?(settings: [String: String]) throws(SettingError) {
        guard let text = settings["bodies"] else {
            if let name = Self.settingNames.first(where: { settings[$0] != nil }) {
                throw SettingError(
                    text: "\(name)= needs bodies=, which is missing")
            }
            return nil
        }
        let scheme = "s3://"
        if text.prefix(scheme.utf8.count).lowercased() == scheme {
            kind = try Self.bucket(text.dropFirst(scheme.utf8.count))
        } else if text.hasPrefix("/"), text != "/" {
            kind = .folder(path: text.hasSuffix("/") ? String(text.dropLast()) : text)
        } else {
            throw SettingError(
                text: "bodies=\(text) is neither the absolute path of a folder nor s3://BUCKET/PREFIX")
        }
        self.text = text
        maxRowBodyBytes = min(
            try Self.number(settings["bodies-over"]) ?? Limits.maxRowBodyBytes, Limits.maxPackedBodyBytes)
        region = settings["s3-region"]
        endpoint = settings["s3-endpoint"]
        if let region, region.isEmpty || !region.utf8.allSatisfy(Self.isPlain) {
            throw SettingError(text: "s3-region=\(region) is not the name of a region")
        }
        if let endpoint, !endpoint.hasPrefix("http://") && !endpoint.hasPrefix("https://") {
            throw SettingError(text: "s3-endpoint= is not a URL such as https://minio.example.com:9000")
        }
        if let endpoint, endpoint.contains("@") {
            throw SettingError(
                text:
                    "s3-endpoint= contains a user name: set the keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )
        }
    }

    private static func number(_ text: String?) throws(SettingError) -> Int? {
        guard let text else { return nil }
        guard let number = Int(text), number >= 0 else {
            throw SettingError(text: "bodies-over=\(text) is not a number of bytes")
        }
        return number
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "-._".utf8.contains(byte)
    }

    /// Accepts only names that need no percent-encoding in URLs, because servers disagree about it.
    private static func bucket(_ text: Substring) throws(SettingError) -> Kind {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let isEnded = parts.count > 1 && parts.last == ""
        let names = isEnded ? parts.dropLast() : parts[...]
        for name in names where name.isEmpty || name == "." || name == ".." || !name.utf8.allSatisfy(isPlain)
        {
            throw SettingError(
                text:
                    "bodies=s3://\(text) is not s3://BUCKET/PREFIX with only letters, digits, \"-\", \".\" and \"_\""
            )
        }
        let prefix = names.dropFirst().map { $0 + "/" }.joined()
        return .bucket(name: String(names.first ?? ""), prefix: prefix)
    }
}
