internal import Bundles
package import Crawl
internal import Web

extension ManifestLoader {
    func expoRequest(_ location: ManifestLocation) -> ExpoRequest? {
        location.url.flatMap {
            ExpoRequest(
                $0, isExpected: format == .expo, expectsSignature: !trust.certificates.isEmpty,
                updateID: expoUpdate?.id)
        }
    }

    /// Returns the manifest in a response of a server of Expo Updates, verified if certificates are trusted; nil if it is
    /// another manifest, or must have the signature of a key.
    ///
    /// - Parameter responses: the response, unless the manifest is in a file.
    func expoDocument(
        _ bytes: [UInt8], _ location: ManifestLocation, _ responses: [ManifestSource.FetchedDocument]
    ) throws(LarderError) -> Document? {
        let mustBeSigned = !trust.certificates.isEmpty
        guard mustBeSigned || !trust.requiresSignature, format == nil || format == .expo,
            mustBeSigned || expoRequest(location) != nil || ExpoResponse.isMultipart(bytes)
        else { return nil }
        let response: ExpoResponse
        do throws(ManifestError) {
            response = try ExpoResponse(
                bytes, file: location.name, signature: responses.first?.fields.joinedValues("expo-signature"))
        } catch {
            throw LarderError(error)
        }
        var signer: ManifestSigner?
        if mustBeSigned, response.content != .nothing {
            guard response.signature != nil || trust.keys.isEmpty else { return nil }
            do throws(ManifestRefusal) {
                signer = try trust.verify(response, at: secondsSinceEpoch())
            } catch {
                throw LarderError(error, of: location.name, trust)
            }
        }
        switch response.content {
        case .manifest:
            // Only the signed part counts: other parts could contain another manifest.
            let manifest =
                signer == nil ? try parse(bytes, location.name) : try parseSigned(response, location)
            return Document(manifest: manifest, bytes: bytes, signer: signer, responses: responses)
        case .nothing:
            throw LarderError(nil, of: location.name, after: expoUpdate)
        case .directive(let directive):
            throw LarderError(directive, of: location.name, after: expoUpdate)
        }
    }

    /// Throws if the update is for another runtime than the one that was asked for: its code would not fit the app. The
    /// signature does not tell them apart, since the publisher signs the updates of all runtimes.
    func requireRuntime(of manifest: Manifest, _ location: ManifestLocation) throws(LarderError) {
        guard let offered = manifest.runtimeVersion, let url = location.url else { return }
        let name = "Expo-Runtime-Version"
        guard let wanted = try ownFields(for: url)[name] ?? expoRequest(location)?.fields[name],
            wanted != offered
        else { return }
        throw LarderError(
            .refused,
            "the manifest \(location.name) is refused: it is for the runtime version \"\(offered.prefix(80))\", but "
                + "\"\(wanted.prefix(80))\" was asked for: publish an update for that runtime, or ask for the right one"
        )
    }

    private func parseSigned(
        _ response: ExpoResponse, _ location: ManifestLocation
    ) throws(LarderError) -> Manifest {
        do throws(ManifestError) {
            return try Manifest(response.signedBytes, file: location.name, format: .expo)
        } catch {
            throw LarderError(error)
        }
    }
}

/// A request for the newest update, as the client of Expo Updates makes it.
struct ExpoRequest {
    /// The header fields of the request.
    let fields: HTTPFields

    /// Creates the request; nil if the URL does not name an update.
    ///
    /// The URL names it by the parameters `platform` and `runtime-version` of its query, which Expo's servers read too, so
    /// that each update has a URL of its own.
    ///
    /// - Parameters:
    ///   - isExpected: whether the manifest is one of Expo although the URL does not say so.
    ///   - expectsSignature: whether the response must be signed by a certificate.
    ///   - updateID: the update that is stored; nil if there is none, or it must be sent again.
    init?(_ url: WebURL, isExpected: Bool, expectsSignature: Bool, updateID: String? = nil) {
        let parameters = Self.parameters(of: url)
        let isNamed = parameters["platform"] != nil && parameters["runtime-version"] != nil
        guard isNamed || isExpected || expectsSignature else { return nil }
        var fields: HTTPFields = [
            "Accept": "multipart/mixed,application/expo+json,application/json", "Expo-Protocol-Version": "1",
            "Expo-API-Version": "1",
        ]
        for (parameter, name) in Self.fieldNames {
            if let value = parameters[parameter] { fields.append(name, value) }
        }
        if expectsSignature {
            fields.append("Expo-Expect-Signature", "sig, alg=\"\(ExpoSignature.algorithm)\"")
        }
        if let updateID { fields.append("Expo-Current-Update-ID", updateID) }
        // A line break would end the header.
        self.fields = HTTPFields(fields.list.filter { $0.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } })
    }

    /// The fields that the parameters of a URL are sent as.
    private static let fieldNames = [
        ("platform", "Expo-Platform"), ("runtime-version", "Expo-Runtime-Version"),
        ("channel-name", "Expo-Channel-Name"),
    ]

    private static func parameters(of url: WebURL) -> [String: String] {
        var parameters: [String: String] = [:]
        for pair in url.query?.utf8.split(separator: UInt8(ascii: "&")) ?? [] {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1).map {
                String(decoding: [UInt8](percentDecoding: Array($0).span), as: UTF8.self)
            }
            if parts.count == 2 { parameters[parts[0]] = parts[1] }
        }
        return parameters
    }

    /// Whether the manifest in a plan is requested as Expo's client does.
    static func isMade(for plan: ManifestPlan, _ trust: ManifestTrust) -> Bool {
        WebURL(plan.place).flatMap {
            ExpoRequest(
                $0, isExpected: plan.format == ManifestFormat.expo.rawValue,
                expectsSignature: !trust.certificates.isEmpty)
        } != nil
    }
}

/// The update of Expo Updates that is stored.
package struct ExpoUpdate: Sendable, Equatable {
    /// The ID, which the server compares with that of its newest update.
    var id: String?
    /// When the update that was accepted last was created. An older directive does not withdraw it.
    var created: HTTPDate?

    /// Reads the update that a site of the plan stores; nil if its manifest is not requested as Expo's client does.
    ///
    /// - Parameters:
    ///   - stored: the manifest of the live snapshot.
    ///   - trust: the keys that are trusted now. An update that none of them has signed is requested again.
    package init?(_ stored: StoredManifest?, _ plan: ManifestPlan, _ trust: ManifestTrust) {
        guard ExpoRequest.isMade(for: plan, trust) else { return nil }
        created = plan.accepted?.created
        guard let stored,
            !trust.requiresSignature || stored.signer.map({ trust.signers.contains($0.key) }) ?? false
        else { return }
        id = (try? Manifest(stored.bytes, file: stored.place, format: .expo))?.updateID
    }
}

extension LarderError {
    /// The error for a directive in place of a manifest.
    init(_ directive: ExpoDirective?, of manifest: String, after stored: ExpoUpdate?) {
        switch directive {
        case nil, .noUpdateAvailable?:
            self.init(
                .input,
                "the server of the manifest \(manifest) offers no update: check the platform, the runtime version, the "
                    + "channel and the device in its URL, or publish an update")
            isUpToDate = true
        case .rollBackToEmbedded(let time)?:
            if let time, let created = stored?.created, time <= created {
                self.init(
                    .refused,
                    "the manifest \(manifest) is refused: its server withdraws the updates before \(time.iso8601), but the one "
                        + "that was accepted last is of \(created.iso8601): publish a newer update")
                return
            }
            self.init(
                .refused,
                "the manifest \(manifest) is withdrawn: its server tells apps to run the code that they were built with "
                    + "(rollBackToEmbedded\(time.map { " of \($0.iso8601)" } ?? "")), which Larder does not have: publish a "
                    + "new update in its place")
        case .other(let type)?:
            self.init(
                .input,
                "the server of the manifest \(manifest) sends the directive \"\(type)\", which Larder does not know: publish "
                    + "an update")
        }
    }
}
