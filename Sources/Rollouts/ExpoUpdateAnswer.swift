internal import Bundles
package import Digest
package import Web

/// How a server answers clients of Expo Updates.
package struct ExpoUpdateSettings: Sendable {
    /// Signs manifests and directives.
    package struct Signer: Sendable {
        package let key: RSAPrivateKey
        /// The certificates between the key and the one that the app contains, in PEM; nil if that one is the key's own.
        package let certificateChain: String?

        /// The name of the key for clients that give none: the one that Expo's tools choose.
        static let usualKeyID = "main"

        package init(_ key: RSAPrivateKey, certificateChain: String? = nil) {
            (self.key, self.certificateChain) = (key, certificateChain)
        }
    }

    /// Nil if updates are not signed.
    package var signer: Signer?
    /// The values that clients filter their stored updates by; nil leaves those that they have.
    package var manifestFilters: ExpoDictionary?
    /// The header fields that clients send with later requests; nil leaves those that they have.
    var serverDefinedHeaders: ExpoDictionary?
    /// The public configuration of the app, which its code reads as `Constants.expoConfig`; nil for none.
    package var appConfiguration: JSONValue?
    /// The header fields for requests of assets, by the key of the asset.
    package var assetRequestHeaders: [String: [String: String]] = [:]

    package init() {}
}

/// A dictionary of strings as a structured field, in the order of its keys.
package struct ExpoDictionary: Sendable, Equatable {
    package let text: String

    /// Returns nil if a key or value cannot be written as a structured field: keys have lower-case letters, digits and `_-.*`, values
    /// printable ASCII.
    package init?(_ members: [String: String]) {
        let list = members.sorted { $0.key < $1.key }
        let text = list.map { "\($0.key)=\(StructuredDictionary.Item.string($0.value).text)" }.joined(
            separator: ", ")
        guard let dictionary = StructuredDictionary(text),
            dictionary.members.count == list.count,
            list.allSatisfy({ dictionary[$0.key] == .item(.string($0.value)) })
        else { return nil }
        self.text = text
    }
}

/// The answer to a request of a client of Expo Updates (Expo Updates v1, "Response").
package struct ExpoUpdateAnswer: Sendable, Equatable {
    package let status: Int
    package let fields: HTTPFields
    package let body: [UInt8]

    /// Answers a request with the update that the channel has decided on. A problem is answered too.
    ///
    /// | decision | in parts, version 1 | JSON, or version 0 |
    /// | --- | --- | --- |
    /// | a new release | its manifest | its manifest |
    /// | the release that the device runs | `noUpdateAvailable` | its manifest |
    /// | the code that the app was built with | `rollBackToEmbedded`, or `noUpdateAvailable` if it runs that | 406, or 404 |
    /// | none | `noUpdateAvailable` | 406, or 404 |
    package init(to request: ExpoUpdateRequest, _ decision: Channel.Decision, _ settings: ExpoUpdateSettings)
    {
        do throws(ExpoUpdateProblem) {
            self = try Self.update(to: request, decision, settings)
        } catch {
            self.init(error, protocolVersion: request.protocolVersion)
        }
    }

    /// The answer to a request that cannot be read.
    package init(_ problem: ExpoUpdateProblem, protocolVersion: Int = 1) {
        status = problem.status
        body = Array(JSONMembers([("error", problem.description)]).text(.compact).utf8)
        fields = Self.commonFields(protocolVersion) + [("Content-Type", "application/json")]
    }

    private init(status: Int, fields: HTTPFields, body: [UInt8]) {
        (self.status, self.fields, self.body) = (status, fields, body)
    }

    private static func update(
        to request: ExpoUpdateRequest, _ decision: Channel.Decision, _ settings: ExpoUpdateSettings
    ) throws(ExpoUpdateProblem) -> ExpoUpdateAnswer {
        let knowsDirectives = request.protocolVersion > 0 && request.form == .multipart
        var directive: JSONMembers = ["type": "noUpdateAvailable"]
        switch decision {
        case .release(let release, let rollout, let isNew) where isNew || !knowsDirectives:
            let manifest = manifest(of: release, rollout, request.device.runtimeVersion, settings)
            return try answer(to: request, Part(name: "manifest", members: manifest), settings)
        case .embedded(let rollout):
            let isEmbedded = request.embeddedUpdate.map { $0 == request.device.currentUpdate } ?? false
            if !isEmbedded {
                directive = [
                    "type": "rollBackToEmbedded",
                    "parameters": ["commitTime": milliseconds(rollout.date)] as JSONMembers,
                ]
            }
        case .release, .none: break
        }
        guard request.protocolVersion > 0 else { throw .noUpdate }
        guard knowsDirectives else { throw .needsParts }
        return try answer(to: request, Part(name: "directive", members: directive), settings)
    }

    private static func manifest(
        of release: Release, _ rollout: Rollout, _ runtimeVersion: String, _ settings: ExpoUpdateSettings
    ) -> JSONMembers {
        [
            "id": rollout.id, "createdAt": milliseconds(rollout.date), "runtimeVersion": runtimeVersion,
            "launchAsset": members(of: release.launch), "assets": release.assets.map(members),
            "metadata": JSONMembers(release.metadata.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }),
            "extra": JSONMembers(
                settings.appConfiguration.map { [("expoClient", JSONCopy(value: $0))] } ?? []),
        ]
    }

    private static func members(of file: ReleaseFile) -> JSONMembers {
        [
            "hash": base64URL(file.sha256.bytes), "key": file.key, "contentType": file.mediaType,
            "fileExtension": IfAny(file.fileExtension), "url": file.url,
        ]
    }

    /// Base64url without padding (RFC 4648, section 5), the form of Expo's digests.
    private static func base64URL(_ bytes: [UInt8]) -> String {
        let text = Base64.encode(bytes).utf8.compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The time with milliseconds, which Expo's client on Android requires.
    private static func milliseconds(_ date: HTTPDate) -> String { date.iso8601.dropLast() + ".000Z" }

    /// A value that was read, written again.
    private struct JSONCopy: JSONWritable {
        let value: JSONValue

        func write(to writer: inout JSONWriter) {
            switch value.content {
            case .null: writer.null()
            case .bool(let bool): writer.bool(bool)
            case .number(let number): writer.number(number)
            case .string(let text): writer.string(text)
            case .array(let list):
                writer.array { for element in list { $0.value(JSONCopy(value: element)) } }
            case .object(let members):
                writer.object {
                    for member in members { $0.member(member.key, JSONCopy(value: member.value)) }
                }
            }
        }
    }

    // MARK: - Forms

    private struct Part {
        let name: String
        let members: JSONMembers
    }

    private static func answer(
        to request: ExpoUpdateRequest, _ part: Part, _ settings: ExpoUpdateSettings
    ) throws(ExpoUpdateProblem) -> ExpoUpdateAnswer {
        let json = Array(part.members.text(.compact).utf8)
        var signature: String?
        if request.expectsSignature {
            guard let signer = settings.signer else { throw .noKey }
            let keyID = request.keyID ?? ExpoUpdateSettings.Signer.usualKeyID
            signature = ExpoSignature(signer.key.sign(json), keyID: keyID).text
        }
        var fields = commonFields(request.protocolVersion)
        if let filters = settings.manifestFilters { fields.append("expo-manifest-filters", filters.text) }
        if let headers = settings.serverDefinedHeaders {
            fields.append("expo-server-defined-headers", headers.text)
        }
        switch request.form {
        case .json, .expoJSON:
            if let signature { fields.append("expo-signature", signature) }
            fields.append("Content-Type", request.form.rawValue)
            return ExpoUpdateAnswer(status: 200, fields: fields, body: json)
        case .multipart:
            // A hash of the content does not occur in it.
            let boundary = "larder-" + DigestStream.digest(.sha256, of: json.span).hex.prefix(32)
            var body: [UInt8] = []
            append(json, named: part.name, signature: signature, to: &body, boundary)
            let headers = settings.assetRequestHeaders.sorted { $0.key < $1.key }.map { key, fields in
                (key, JSONMembers(fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }))
            }
            if part.name == "manifest", !headers.isEmpty {
                let extensions: JSONMembers = ["assetRequestHeaders": JSONMembers(headers)]
                append(Array(extensions.text(.compact).utf8), named: "extensions", to: &body, boundary)
            }
            if signature != nil, let chain = settings.signer?.certificateChain {
                append(
                    Array(chain.utf8), named: "certificate_chain", type: "application/x-pem-file", to: &body,
                    boundary)
            }
            body += Array("--\(boundary)--\r\n".utf8)
            fields.append("Content-Type", "multipart/mixed; boundary=\(boundary)")
            return ExpoUpdateAnswer(status: 200, fields: fields, body: body)
        }
    }

    private static func append(
        _ content: [UInt8], named name: String, type: String = "application/json; charset=utf-8",
        signature: String? = nil, to body: inout [UInt8], _ boundary: String
    ) {
        body += Array(
            "--\(boundary)\r\nContent-Disposition: inline; name=\"\(name)\"\r\nContent-Type: \(type)\r\n".utf8
        )
        if let signature { body += Array("expo-signature: \(signature)\r\n".utf8) }
        body += [0x0D, 0x0A] + content + [0x0D, 0x0A]
    }

    private static func commonFields(_ protocolVersion: Int) -> HTTPFields {
        [
            "expo-protocol-version": String(protocolVersion), "expo-sfv-version": "0",
            "Cache-Control": "private, max-age=0",
        ]
    }
}

extension HTTPFields {
    fileprivate static func + (fields: HTTPFields, more: [(String, String)]) -> HTTPFields {
        var fields = fields
        for (name, value) in more { fields.append(name, value) }
        return fields
    }
}
