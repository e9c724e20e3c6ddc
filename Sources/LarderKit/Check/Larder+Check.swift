internal import Bundles
internal import Fetch
internal import Store
internal import Web

extension Larder {
    /// Compares every bundle of a manifest with the digests that it gives.
    ///
    /// - Parameter manifest: the path of a file, or an http or https URL.
    /// - Throws: `LarderError` of kind `.input` for a manifest that is not there or says what it must not, `.machine` when
    ///   the store or this machine fails, `.interrupted` when the task is cancelled. A bundle that differs or is missing
    ///   is no error; it is in the report.
    public func check(
        _ manifest: String, options: CheckOptions = CheckOptions()
    ) async throws(LarderError) -> CheckReport {
        let folder = folder
        let interruption = Interruption()
        return try await Self.onThread("larder-check", onCancel: interruption.request) { () throws(LarderError) in
            let source = try ManifestSource(manifest, options: options, folder: folder, interruption: interruption)
            let parsed: Manifest
            do throws(ManifestError) {
                parsed = try Manifest(source.bytes, file: manifest)
            } catch {
                throw LarderError(error)
            }
            let targets = try Self.targets(of: parsed, manifest, base: source.base)
            let verdicts =
                switch options.place {
                case .live: try Self.liveVerdicts(targets, interruption)
                case .held: try Self.heldVerdicts(targets, folder, interruption)
                }
            guard !interruption.isRequested else { throw .interrupted }
            let items = zip(targets, verdicts).map { CheckReport.Item($0.url.href, $0.bundle, $1) }
            return CheckReport(manifest: manifest, items: items)
        }
    }

    private struct Target {
        let url: WebURL
        let bundle: Bundle
    }

    private static func targets(
        of manifest: Manifest, _ name: String, base: WebURL?
    ) throws(LarderError) -> [Target] {
        var targets: [Target] = []
        for bundle in manifest.bundles {
            guard let url = WebURL(bundle.reference, base: base) else {
                throw LarderError(
                    .input,
                    base == nil
                        ? "\(name): \"\(bundle.reference)\" is relative: say to what with --base URL"
                        : "\(name): \"\(bundle.reference)\" is not a URL")
            }
            guard url.isHTTP else { throw LarderError(.input, "\(name): \(url.href) is neither http nor https") }
            targets.append(Target(url: url.withoutFragment, bundle: bundle))
        }
        return targets
    }

    private static func liveVerdicts(
        _ targets: [Target], _ interruption: Interruption
    ) throws(LarderError) -> [Verdict] {
        var verdicts = [Verdict](repeating: .missing("nothing was answered"), count: targets.count)
        var stopped: LarderError?
        do throws(FetchFailure) {
            try FetchBatch.run(
                targets.map(\.url), options: .forReading, interruption: interruption
            ) { number, outcome in
                switch outcome {
                case .failure(let failure) where failure.kind == .machine:
                    // It says nothing about the bundle, and would go on for all the others.
                    stopped = stopped ?? LarderError(failure, fetching: targets[number].url)
                    interruption.request()
                case .failure(let failure):
                    verdicts[number] = .missing(failure.description)
                case .success(let body):
                    verdicts[number] = BodyContent(body).verdict(on: targets[number].bundle)
                    body.discard()
                }
            }
        } catch {
            throw LarderError(error)
        }
        if let stopped { throw stopped }
        return verdicts
    }

    private static func heldVerdicts(
        _ targets: [Target], _ folder: StoreFolder, _ interruption: Interruption
    ) throws(LarderError) -> [Verdict] {
        do throws(StoreError) {
            var bundles = HeldBundles(try StoreReader(folder))
            var verdicts: [Verdict] = []
            for target in targets where !interruption.isRequested {
                verdicts.append(try bundles.verdict(on: target.bundle, at: target.url))
            }
            try bundles.keep(in: folder)
            return verdicts
        } catch {
            throw LarderError(error)
        }
    }
}
