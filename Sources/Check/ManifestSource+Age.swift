package import Bundles
package import Crawl
internal import Digest
package import Store
internal import System
package import Web

/// How the age of a manifest is judged.
package struct ManifestAgeRules: Sendable {
    /// Whether a manifest may be older than the one that was accepted last.
    package var allowsRollback: Bool
    /// The clock that decides whether a manifest has expired.
    package var secondsSinceEpoch: @Sendable () -> Int64

    package init(allowsRollback: Bool, secondsSinceEpoch: @escaping @Sendable () -> Int64) {
        (self.allowsRollback, self.secondsSinceEpoch) = (allowsRollback, secondsSinceEpoch)
    }

    package var now: HTTPDate { HTTPDate(secondsSinceEpoch: secondsSinceEpoch()) }

    /// The clock of this machine.
    package static let systemClock: @Sendable () -> Int64 = { SystemClock.secondsSinceEpoch() }
}

extension ManifestSource {
    /// The age of the manifest.
    package var age: ManifestAge {
        let signature = signer.flatMap { try? MinisignSignature($0.signature) }
        let signed = signature?.timestamp.map { HTTPDate(secondsSinceEpoch: Int64($0)) }
        var age = ManifestAge(manifest, bytes, signer: signer?.key, signed: signed)
        age.isVersionSeparate = isVersionSeparate
        return age
    }

    /// The time at which the server sent the manifest, by the server's clock; nil for a file.
    private var serverDate: HTTPDate? {
        fetchedDocuments.first.flatMap { $0.fields["Date"] }.flatMap { HTTPDate($0) }
    }

    /// Throws if the manifest must not be used because of its age.
    ///
    /// - Parameters:
    ///   - last: the age of the manifest that was accepted last; nil if there is none.
    ///   - trustedSigners: the keys that are trusted now.
    /// - Returns: a warning if the time of the manifest does not fit the clock of this machine; nil if it does.
    /// - Throws: `LarderError` of kind `.refused` if it is older, or has expired (`isExpired`).
    package func requireCurrent(
        _ age: ManifestAge, after last: ManifestAge?, trustedSigners: Set<String>, _ rules: ManifestAgeRules
    ) throws(LarderError) -> String? {
        let now = rules.now
        let admission = ManifestAdmission(
            age, expires: manifest.expires, after: last, trustedSigners: trustedSigners,
            allowsRollback: rules.allowsRollback, now: now)
        switch admission {
        case .admitted:
            return ManifestAgeText.clockWarning(age, now: now, serverDate: serverDate)
                .map { "the manifest \(name) \($0)" }
        case .older(let last):
            let reason = ManifestAgeText.older(age, than: last, now: now)
            throw LarderError(
                .refused, "the manifest \(name) is refused: \(reason)", remedy: .allowRollback)
        case .mixed(let last):
            throw LarderError(
                .refused,
                "the manifest \(name) is refused: \(ManifestAgeText.sameVersionReason(last))",
                remedy: .allowRollback)
        case .expired(let expires):
            let reason = ManifestAgeText.expiryReason(expires, now: now, serverDate: serverDate)
            let message = "the manifest \(name) \(reason)"
            var error = LarderError(.refused, message)
            error.isExpired = true
            throw error
        }
    }
}

extension ManifestPlan {
    /// Returns the age of the manifest that was accepted last from the same location; nil if there is none.
    package func lastAccepted(among sites: [Site]) -> ManifestAge? {
        if let accepted { return accepted }
        // The same base is preferred, but the manifest does not become older by another base.
        let known = sites.compactMap { SitePlan(text: $0.settings).manifest }.filter {
            $0.hasSamePlace(as: self) && $0.accepted != nil
        }
        return (known.first { $0.hasSameLocation(as: self) } ?? known.first)?.accepted
    }
}

/// The part of a check of bundles that judges the age of the manifest.
struct AgeCheck {
    /// Why the manifest is not current; nil if it is.
    private let expiry: String?
    /// Why its time does not fit the clock of this machine; nil if it does.
    private let warning: String?
    private let name: String

    /// - Parameter isLive: whether the source is the manifest of the live snapshot. The user may have rolled back to it, so
    ///   that an older one is only mentioned.
    /// - Throws: `LarderError` of kind `.refused` if the manifest is older than the one that was accepted last.
    init(
        of source: ManifestSource, named name: String, isLive: Bool, _ options: CheckOptions,
        _ folder: StoreFolder
    ) throws(LarderError) {
        self.name = source.name
        let plan = ManifestPlan(
            place: ManifestPlan.absoluteLocation(of: name), base: options.bases.first, format: options.format)
        var last: ManifestAge?
        if folder.exists {
            do throws(StoreError) {
                last = plan.lastAccepted(among: try StoreReader(folder).sites())
            } catch  where error.reason == .missing {
                // A folder without a database has accepted no manifest.
            } catch {
                throw LarderError(error)
            }
        }
        let rules = ManifestAgeRules(
            allowsRollback: options.allowsRollback || isLive, secondsSinceEpoch: options.secondsSinceEpoch)
        let age = source.age
        do throws(LarderError) {
            let warning = try source.requireCurrent(
                age, after: last, trustedSigners: options.trust.signers, rules)
            self.warning = isLive ? Self.rollbackNote(source.name, age, last) ?? warning : warning
            expiry = nil
        } catch {
            guard error.isExpired else { throw error }
            (expiry, warning) = (error.description, nil)
        }
    }

    /// A note that the manifest of the live snapshot is older than the one that was accepted last; nil if it is not.
    private static func rollbackNote(_ name: String, _ age: ManifestAge, _ last: ManifestAge?) -> String? {
        // The version of `chcp.json` is not stored with the manifest that it names.
        guard let last, !last.isVersionSeparate, age.order(after: last) == .older else { return nil }
        return "the manifest \(name) of the live snapshot is \(age.text); \(last.text) was accepted later"
    }

    /// Returns the report with an item for an expired manifest, since nothing proves that its bundles are current.
    func adding(to report: CheckReport) -> CheckReport {
        var report = report
        if let expiry {
            let finding = CheckReport.Finding(url: name, verdict: .unverifiable, detail: expiry)
            report.items.append(
                CheckReport.Item(
                    name: name, line: nil, isRequired: true, chain: [],
                    findings: report.places.map { _ in finding }))
        }
        if let warning { report.notes.append(warning) }
        return report
    }
}

extension CheckOptions {
    /// Whether a manifest with a URL is read from the store.
    var readsManifestFromStore: Bool { places.contains(.stored) && !places.contains(.live) }
}
