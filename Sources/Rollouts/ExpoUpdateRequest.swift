package import Web

/// A request of a client of Expo Updates for the newest update (Expo Updates v1, "Request").
package struct ExpoUpdateRequest: Sendable, Equatable {
    /// The forms of a response, the preferred one first.
    package enum Form: String, Sendable, CaseIterable {
        case multipart = "multipart/mixed"
        case expoJSON = "application/expo+json"
        case json = "application/json"
    }

    /// 0 or 1. Version 0 has no directives.
    package let protocolVersion: Int
    package let device: Device
    /// The form that the client prefers.
    package let form: Form
    /// Whether the response must be signed.
    package let expectsSignature: Bool
    /// The name that the app has for the key of the signature; nil if the client does not say so. Clients refuse a signature
    /// with another name.
    package let keyID: String?
    /// The update that the app was built with; nil if the client does not say so.
    package let embeddedUpdate: String?
    /// The updates that failed to start on the device since the last request.
    package let failedUpdates: [String]

    /// The maximum size of a value that is a platform, a version or an ID.
    private static let maxValueBytes = 512
    /// The maximum number of failed updates. Expo's client sends at most a few.
    private static let maxFailedUpdates = 16

    /// Reads a request.
    ///
    /// - Parameters:
    ///   - fields: the header fields.
    ///   - parameters: the parameters of the query, which count where a field is missing.
    package init(_ fields: HTTPFields, parameters: [String: String] = [:]) throws(ExpoUpdateProblem) {
        func value(_ name: String, _ parameter: String? = nil) throws(ExpoUpdateProblem) -> String? {
            guard let value = fields[name] ?? parameter.flatMap({ parameters[$0] }), !value.isEmpty else {
                return nil
            }
            guard value.utf8.count <= Self.maxValueBytes else { throw .tooLong(name) }
            return value
        }
        switch try value("expo-protocol-version") {
        case nil, "0"?: protocolVersion = 0
        case "1"?: protocolVersion = 1
        case let version?: throw .protocolVersion(version)
        }
        guard let name = try value("expo-platform", "platform"),
            let platform = Release.Platform(expo: name)
        else { throw .platform }
        guard let runtimeVersion = try value("expo-runtime-version", "runtime-version") else {
            throw .noRuntimeVersion
        }
        device = Device(
            id: try value("eas-client-id"), platform: platform, runtimeVersion: runtimeVersion,
            currentUpdate: try value("expo-current-update-id")?.lowercased())
        embeddedUpdate = try value("expo-embedded-update-id")?.lowercased()
        failedUpdates = Self.list(fields["expo-recent-failed-update-ids"] ?? "")
        let signature = fields.joinedValues("expo-expect-signature")
        expectsSignature = signature != nil
        if let signature, signature.utf8.count <= Self.maxValueBytes,
            case .item(.string(let name))? = StructuredDictionary(signature)?["keyid"]
        {
            keyID = name
        } else {
            keyID = nil
        }
        guard let form = Self.form(fields.joinedValues("accept")) else { throw .notAcceptable }
        self.form = form
    }

    /// The strings of a list such as `"a", "b"`.
    private static func list(_ text: String) -> [String] {
        guard text.utf8.count <= maxFailedUpdates * maxValueBytes else { return [] }
        return text.utf8.split(separator: UInt8(ascii: ",")).prefix(maxFailedUpdates).map {
            String(decoding: $0.filter { $0 > 0x20 && $0 != UInt8(ascii: "\"") }, as: UTF8.self).lowercased()
        }
    }

    /// Returns the form that the client prefers (RFC 9110, section 12.5.1); nil if it accepts none. Without the field every form is
    /// accepted.
    private static func form(_ accept: String?) -> Form? {
        guard let accept else { return .multipart }
        var best: (form: Form, quality: Int)?
        for form in Form.allCases {
            let quality = quality(of: form.rawValue, in: accept)
            if quality > best?.quality ?? 0 { best = (form, quality) }
        }
        return best?.form
    }

    /// The quality of a media type in thousandths. The most specific range counts.
    private static func quality(of type: String, in accept: String) -> Int {
        let group = (type.split(separator: "/").first.map(String.init) ?? "") + "/*"
        var found = (rank: -1, quality: 0)
        for element in accept.lowercased().split(separator: ",") {
            let parts = element.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            let rank: Int
            switch parts.first {
            case type?: rank = 2
            case group?: rank = 1
            case "*/*"?: rank = 0
            default: continue
            }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { thousandths($0.dropFirst(2)) }
            if rank > found.rank { found = (rank, weight ?? 1000) }
        }
        return found.quality
    }

    /// Parses a weight such as `0.8`; 0 for a malformed one.
    private static func thousandths(_ text: Substring) -> Int {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard let whole = parts.first.flatMap({ Int($0) }), (0...1).contains(whole), parts.count <= 2 else {
            return 0
        }
        let digits = (parts.count == 2 ? parts[1] : "").prefix(3)
        guard digits.utf8.allSatisfy(\.isASCIIDigit) else { return 0 }
        let fraction = Int(digits + String(repeating: "0", count: 3 - digits.utf8.count)) ?? 0
        return min(1000, whole * 1000 + fraction)
    }
}

/// Why a request has no update as its answer.
package enum ExpoUpdateProblem: Error, Sendable, Equatable, CustomStringConvertible {
    case protocolVersion(String)
    case platform
    case noRuntimeVersion
    case tooLong(String)
    case notAcceptable
    /// The answer is a directive, which only a response in parts can contain.
    case needsParts
    /// No update fits, and the client does not know directives.
    case noUpdate
    /// The client wants a signature, and the server has no key.
    case noKey

    /// The status of the response.
    package var status: Int {
        switch self {
        case .platform, .noRuntimeVersion, .tooLong, .noKey: 400
        case .noUpdate: 404
        case .protocolVersion, .notAcceptable, .needsParts: 406
        }
    }

    package var description: String {
        switch self {
        case .protocolVersion(let version):
            "Expo's protocol has no version \"\(version)\" here; expo-protocol-version must be 0 or 1"
        case .platform: "expo-platform must be ios or android"
        case .noRuntimeVersion: "expo-runtime-version is missing"
        case .tooLong(let name): "\(name) is too long"
        case .notAcceptable:
            "Accept names no form of this server; it has multipart/mixed, application/expo+json and application/json"
        case .needsParts: "the answer is a directive, which needs multipart/mixed in Accept"
        case .noUpdate: "there is no update for this platform and runtime version"
        case .noKey: "expo-expect-signature wants a signature, but this channel has no key"
        }
    }
}
