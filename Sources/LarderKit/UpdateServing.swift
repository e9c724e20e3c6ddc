internal import Check
internal import Digest
internal import Mirror
internal import Rollouts
internal import System
internal import Web

/// How a server delivers updates to apps.
public struct UpdateServing: Sendable, Equatable {
    /// A file in PEM with the private RSA key that signs updates for Expo's client; nil signs none.
    public var signingKey: String?
    /// The URL at which devices reach the server, if a proxy stands before it, such as `https://updates.example.com`. Nil
    /// for the host that each request names.
    public var url: String?

    /// Creates the default options.
    public init() {}

    /// - Throws: `LarderError` of kind `.input` if the key or the URL is invalid.
    func settings() throws(LarderError) -> UpdateSettings {
        var settings = UpdateSettings()
        if let url {
            guard let parsed = WebURL(url), parsed.isHTTP, !parsed.hasCredentials, parsed.target == "/" else {
                throw LarderError(
                    .input,
                    "\"\(url)\" is not the address of an update server; write it like https://updates.example.com"
                )
            }
            settings.origin = parsed.origin
        }
        if let signingKey {
            let bytes: [UInt8]
            do throws(SystemError) {
                bytes = try WholeFile.read(signingKey, atMost: RSAPrivateKey.maxTextBytes)
            } catch {
                throw LarderError(error)
            }
            guard let key = RSAPrivateKey(pem: String(decoding: bytes, as: UTF8.self)) else {
                throw LarderError(
                    .input,
                    "\(signingKey) is not a private RSA key of at least 2048 bits in PEM without a passphrase; make one with: openssl genrsa -out key.pem 2048"
                )
            }
            settings.expo.signer = ExpoUpdateSettings.Signer(key)
        }
        return settings
    }
}
