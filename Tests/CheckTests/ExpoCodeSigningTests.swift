import Bundles
import Crawl
import Digest
import System
import TestOrigin
import Testing
import Web

@testable import Check

/// Decisions on responses of servers of Expo Updates, without any loading.
@Suite struct ExpoCodeSigningTests {
    private let folder: TemporaryFolder
    private static let bytes = Array("{\"id\": \"1\"}".utf8)
    private static let now: Int64 = 1_800_000_000

    init() throws {
        folder = try TemporaryFolder()
    }

    private func trust(_ pems: String..., storedKeys: [String] = []) throws -> ManifestTrust {
        var files: [String] = []
        for (number, pem) in pems.enumerated() {
            files.append(try folder.write(pem, to: "\(number).pem"))
        }
        return try ManifestTrust(files, storedKeys: storedKeys)
    }

    private func signature(_ key: String, of bytes: [UInt8] = bytes) throws -> String {
        ExpoSignature(try #require(RSAPrivateKey(pem: key)).sign(bytes), keyID: "main").text
    }

    /// Why a response is refused; nil if it is accepted.
    private func refusal(
        _ signature: String?, _ trust: ManifestTrust, at time: Int64 = now
    ) throws -> ManifestRefusal? {
        let response = try ExpoResponse(Self.bytes, file: "m", signature: signature)
        do throws(ManifestRefusal) {
            _ = try trust.verify(response, at: time)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a certificate in a PEM file is trusted, and stored with the site`() throws {
        let own = try trust(CodeSigningKeys.publisher)
        #expect(own.requiresSignature && own.keys.isEmpty && own.certificates.count == 1)
        let stored = try ManifestTrust([], storedKeys: own.storedTexts)
        #expect(stored == own && stored.signers == own.signers)
        #expect(own.signers.allSatisfy { $0.hasPrefix("x509:") && $0.utf8.count == 69 })
        #expect(try trust(CodeSigningKeys.publisher, CodeSigningKeys.publisher) == own)
    }

    @Test func `the signature of any trusted certificate is accepted, and the signer is returned`() throws {
        let both = try trust(CodeSigningKeys.stranger, CodeSigningKeys.publisher)
        let text = try signature(CodeSigningKeys.publisherKey)
        let response = try ExpoResponse(Self.bytes, file: "m", signature: text)
        let signer = try both.verify(response, at: Self.now)
        let own = try trust(CodeSigningKeys.publisher)
        #expect(signer.signature == text && own.signers == [signer.key])
    }

    @Test func `everything else is refused, with its reason`() throws {
        let own = try trust(CodeSigningKeys.publisher)
        let right = try signature(CodeSigningKeys.publisherKey)
        #expect(try refusal(right, own) == nil)
        #expect(try refusal(nil, own) == .unsigned("it has no expo-signature"))
        #expect(try refusal(signature(CodeSigningKeys.strangerKey), own) == .otherSigner)
        #expect(try refusal(signature(CodeSigningKeys.publisherKey, of: [1]), own) == .otherSigner)
        guard case .damaged? = try refusal("sig", own), case .untrusted? = try refusal(right, own, at: 1)
        else {
            Issue.record("accepted")
            return
        }
    }

    @Test(arguments: [CodeSigningKeys.publisher + CodeSigningKeys.team, "-----BEGIN CERTIFICATE-----\nAAAA"])
    func `a file that is not one certificate is an error that names it`(text: String) throws {
        let error = #expect(throws: LarderError.self) { try trust(text) }
        #expect(error?.kind == .input && error?.description.contains("0.pem cannot be used") == true)
    }

    @Test func `a private key is not trusted`() {
        #expect(throws: LarderError.self) { try trust(CodeSigningKeys.publisherKey) }
    }

    // MARK: Requests

    private func request(
        _ url: String, isExpected: Bool = false, expectsSignature: Bool = false, updateID: String? = nil
    ) throws -> HTTPFields? {
        ExpoRequest(
            try #require(WebURL(url)), isExpected: isExpected, expectsSignature: expectsSignature,
            updateID: updateID)?.fields
    }

    @Test func `a URL with platform and runtime version is requested as Expo's client does`() throws {
        let url = "https://example.com/api/manifest?platform=ios&runtime-version=1.0%2B5&channel-name=beta"
        let fields = try #require(try request(url, updateID: "7c1a"))
        #expect(fields["expo-platform"] == "ios" && fields["expo-runtime-version"] == "1.0+5")
        #expect(fields["expo-channel-name"] == "beta" && fields["expo-protocol-version"] == "1")
        #expect(fields["accept"] == "multipart/mixed,application/expo+json,application/json")
        #expect(fields["expo-current-update-id"] == "7c1a" && fields["expo-expect-signature"] == nil)
    }

    @Test func `other URLs are requested so only for the format or with a certificate`() throws {
        for url in ["https://example.com/site.json", "https://example.com/?platform=ios"] {
            #expect(try request(url) == nil)
            #expect(try request(url, isExpected: true)?["expo-protocol-version"] == "1")
            let signed = try request(url, expectsSignature: true)
            #expect(signed?["expo-expect-signature"] == "sig, alg=\"rsa-v1_5-sha256\"")
        }
    }

    @Test func `a line break in a parameter adds no header`() throws {
        let fields = try request("https://example.com/?platform=ios%0d%0aX: 1&runtime-version=1")
        #expect(fields?["expo-platform"] == nil && fields?["expo-runtime-version"] == "1")
    }

    @Test func `a directive that is older than the accepted update is refused as such`() throws {
        let (early, late) = (HTTPDate(secondsSinceEpoch: 1000), HTTPDate(secondsSinceEpoch: 2000))
        var update = try #require(
            ExpoUpdate(nil, ManifestPlan(place: "https://example.com/", format: "expo"), .anyone))
        update.created = late
        let old = LarderError(.rollBackToEmbedded(early), of: "m", after: update)
        #expect(old.kind == .refused && old.description.contains("publish a newer update"))
        update.created = early
        let new = LarderError(.rollBackToEmbedded(late), of: "m", after: update)
        #expect(new.kind == .refused && new.description.contains("is withdrawn"))
        #expect(LarderError(.noUpdateAvailable, of: "m", after: update).isUpToDate)
        #expect(LarderError(nil, of: "m", after: nil).isUpToDate)
        #expect(!LarderError(.other("dance"), of: "m", after: nil).isUpToDate)
    }
}
