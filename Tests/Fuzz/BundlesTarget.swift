internal import Bundles
internal import Web

/// The parsers of all manifest formats, and Larder's own format as it is written.
struct BundlesTarget: Target {
    let name = "bundles"
    let suffixes = [".bundles"]
    let pieces = [
        "{", "}", "[", "]", "\"", ":", ",", "\\", "\\u", "null", "0", "-1", "1e99", "true", "\n", "\r\n",
        "\0",
        "\"bundles\":[", "\"url\":", "\"md5\":", "\"integrity\":", "\"size\":", "\"file\":", "\"hash\":",
        "\"assets\":",
        "\"files\":", "\"imports\":", "\"entrypoints\":", "\"hashTable\":", "\"pages\":", "\"src\":",
        "\"revision\":", "\"created\":\"2026-11-28T12:00:00Z\"", "v1.2.3-rc.1", "-14-gabc1234", "2026-11-28",
        "d41d8cd98f00b204e9800998ecf8427e", "sha256-", "sha384-AAAA", " *", "  ", "MD5 (", ") = ",
        "SIZE (a) = ",
        "\\\\",
        "precacheAndRoute([", "self.__precacheManifest", "'", "`", "//", "/*", "*/", "void 0", "../", "//",
        "%2F", "?",
        "#",
        "RESOURCES = {", "flutter-app-cache", "/*json-start*/", "/*json-end*/", "\"resources\":",
        "\"mainAssemblyName\":", "\"assembly\":", "\"name\":", "\"launchAsset\":", "\"hashes\":",
        "\"any_hashes\":", "--b\r\n", "--b--", "Content-Disposition: inline; name=\"manifest\"", "\r\n\r\n",
        "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
        "\"key\":", "\"signature\":", "untrusted comment: ", "\\ntrusted comment: ",
        "<script src=", "<link href=", " integrity=", "<base href=", "<!--", "&#43;", "\u{FEFF}", "ü",
    ]
    private static let body = Array("body".utf8)

    func fault(_ input: [UInt8]) -> String? {
        if let fault = orderFault(input) { return fault }
        for format in [nil] + ManifestFormat.allCases.map(Optional.some) {
            let manifest: Manifest
            do throws(ManifestError) {
                manifest = try Manifest(input, file: "m", format: format)
            } catch {
                guard error.position.line > 0, error.position.column > 0, !error.detail.isEmpty else {
                    return "a refusal: \(error)"
                }
                continue
            }
            if let format, manifest.format != format { return "a form: \(manifest.format) for \(format)" }
            if let fault = fault(in: manifest) ?? signatureFault(of: manifest, input) { return fault }
        }
        return nil
    }

    /// The order of the versions in the first two lines must be the opposite of the order the other way round.
    private func orderFault(_ input: [UInt8]) -> String? {
        let lines = input.split(separator: 0x0A, maxSplits: 2, omittingEmptySubsequences: false)
        guard lines.count > 1 else { return nil }
        let ages = lines.prefix(2).map { line in
            ManifestAge(
                version: String(decoding: line.prefix(200), as: UTF8.self), digest: "\(line.startIndex)")
        }
        let orders = (ages[0].order(after: ages[1]), ages[1].order(after: ages[0]))
        switch orders {
        case (.newer, .older), (.older, .newer), (.same, .same), (.unknown, .unknown): return nil
        default: return "an order: \(orders)"
        }
    }

    /// The signed bytes must be the same manifest without the signature: nothing else may be unsigned.
    private func signatureFault(of manifest: Manifest, _ input: [UInt8]) -> String? {
        guard let signature = manifest.signature else { return nil }
        var expected = manifest
        expected.signature = nil
        do throws(ManifestError) {
            let signed = try Manifest(signature.signedBytes(of: input), file: "m", format: .larder)
            return signed == expected ? nil : "what is signed: \(signed)"
        } catch {
            return "what is signed: \(error)"
        }
    }

    private func fault(in manifest: Manifest) -> String? {
        var seen: Set<String> = []
        for bundle in manifest.bundles {
            guard !bundle.reference.isEmpty, seen.insert(bundle.reference).inserted else {
                return "a reference: \(bundle.reference)"
            }
            let verdict = BundleMeter.verdict(on: bundle, bytes: Self.body)
            switch verdict {
            case .verified where !bundle.canBeVerified: return "proven by nothing: \(bundle)"
            case .missing, .skew: return "a verdict: \(verdict)"
            case .verified, .mismatch, .unverifiable: break
            }
            _ = HashedName(bundle.reference)?.family
        }
        var releases = KnownReleases()
        releases.add(manifest, name: "other")
        for format in WrittenFormat.allCases { _ = manifest.written(as: format) }
        let text = manifest.json
        // Other formats may contain bundles without a digest that Larder's format supports.
        guard manifest.format == .larder else { return nil }
        do throws(ManifestError) {
            let again = try Manifest(Array(text.utf8), file: "m", format: .larder)
            guard Set(again.bundles.map(\.reference)) == seen else { return "what was written: \(text)" }
        } catch {
            return "what was written: \(error) in \(text)"
        }
        return nil
    }
}
