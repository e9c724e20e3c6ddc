import Bundles
import Digest
import Rollouts
import Web

/// The readers of responses of servers of Expo Updates (the parts, the directive, `expo-signature` and the certificates), and of
/// requests to such a server.
struct ExpoTarget: Target {
    let name = "expo"
    let suffixes = [".expo"]
    let pieces = [
        "--cut", "--cut--", "--", "\r\n", "\n\n", "Content-Disposition: ", "form-data; ", "inline; ", "name=",
        "name=\"manifest\"", "name=\"directive\"", "name=\"certificate_chain\"", "name=\"extensions\"",
        "expo-signature: ", "sig=\"", "sig=:", "keyid=\"main\"", "alg=\"rsa-v1_5-sha256\"", ", ", "=\"",
        "AQID",
        "{\"type\": \"", "noUpdateAvailable", "rollBackToEmbedded", "\"parameters\": {\"commitTime\": \"",
        "Expo-Platform: ios", "Expo-Runtime-Version: ", "Expo-Protocol-Version: 1", "Accept: ", ";q=0.5",
        "EAS-Client-ID: ", "Expo-Recent-Failed-Update-IDs: ", "2026-01-31T12:00:00Z",
        "{\"launchAsset\": {\"url\": \"/a\"}}", "-----BEGIN CERTIFICATE-----",
        "-----END CERTIFICATE-----", "-----BEGIN PRIVATE KEY-----", "MII", "\u{FEFF}",
    ]

    func fault(_ input: [UInt8]) -> String? {
        let text = String(decoding: input, as: UTF8.self)
        return responseFault(input) ?? signatureFault(text) ?? certificateFault(text) ?? requestFault(input)
    }

    /// The bytes that a signature signs must be those of the response, and those that are parsed.
    private func responseFault(_ input: [UInt8]) -> String? {
        guard let response = try? ExpoResponse(input, file: "manifest", signature: nil) else { return nil }
        let isPart = ExpoResponse.isMultipart(input)
        guard response.signedBytes.isEmpty || input.firstRange(of: response.signedBytes) != nil else {
            return "the signed bytes: \(response.signedBytes)"
        }
        if let signature = response.signature {
            guard isPart else { return "a signature of nothing: \(signature)" }
            if let fault = signatureFault(signature) { return fault }
        }
        if isPart, let whole = try? Manifest(input, file: "manifest", format: .expo) {
            guard response.content == .manifest else { return "a manifest beside a directive: \(whole)" }
            let part = try? Manifest(response.signedBytes, file: "manifest", format: .expo)
            guard part == whole else { return "another manifest than the signed one: \(whole)" }
        }
        return response.certificateChain.flatMap(certificateFault)
    }

    /// A signature that is written must be read as the same one.
    private func signatureFault(_ text: String) -> String? {
        guard let signature = try? ExpoSignature(text) else { return nil }
        return (try? ExpoSignature(signature.text)) == signature ? nil : "a signature: \(signature)"
    }

    /// Each request that can be read must get an answer that Larder's own client reads, and a decision that stays the same after the
    /// channel was stored.
    private func requestFault(_ input: [UInt8]) -> String? {
        guard let request = try? ExpoUpdateRequest(HTTPFields(block: input.span)),
            let file = ReleaseFile(
                key: "k", url: "/a.js", sha256: DigestStream.digest(.sha256, of: input.span),
                mediaType: "text/javascript")
        else { return nil }
        let device = request.device
        var channel = Channel("c")
        let now = HTTPDate(secondsSinceEpoch: 1_800_000_000)
        let release = Release(
            platform: device.platform, runtimeVersions: [device.runtimeVersion], launch: file)
        let rollout = channel.publish(.release(release), at: now)
        channel.update(rollout.id) { $0.stop(ifFailed: request.failedUpdates.count, of: input.count) }
        let stored = Array(channel.members.text().utf8)
        guard (try? JSONValue.parse(stored.span)).flatMap({ Channel($0) }) == channel else {
            return "a stored channel: \(String(decoding: stored, as: UTF8.self))"
        }
        let decision = channel.decision(for: device, at: now)
        let answer = ExpoUpdateAnswer(to: request, decision, ExpoUpdateSettings())
        guard answer.status == 200 else {
            return request.expectsSignature && answer.status == 400 ? nil : "a status: \(answer.status)"
        }
        guard let response = try? ExpoResponse(answer.body, file: "answer", signature: nil) else {
            return "an answer: \(String(decoding: answer.body, as: UTF8.self))"
        }
        guard response.content == .manifest else { return nil }
        let manifest = try? Manifest(answer.body, file: "answer", format: .expo)
        return manifest?.updateID == rollout.id && manifest?.bundles.count == 1
            ? nil : "a manifest: \(device)"
    }

    /// Changed certificates must not be accepted for a message that they have not signed.
    private func certificateFault(_ text: String) -> String? {
        guard let chain = try? CodeSigningCertificate.list(pem: text), let first = chain.first else {
            return nil
        }
        let isAccepted =
            (try? first.verify([1], of: [2], chain: Array(chain.dropFirst()), at: 1_800_000_000)) != nil
        return isAccepted ? "a signature that nobody made: \(first.fingerprint)" : nil
    }
}
