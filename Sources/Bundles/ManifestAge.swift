internal import Digest
package import Web

/// How new a manifest is: its version and the time at which it was created. A manifest that is older than the one
/// accepted last is refused, because an attacker on the server or the network could announce an old release with known
/// faults. Its digests would verify, and so would its signature.
///
/// A manifest without version and time cannot be protected like this, unless the one accepted last gave one: then it is
/// refused.
package struct ManifestAge: Sendable, Equatable {
    /// The version that the manifest gives; nil if it gives none.
    package var version: String?
    /// When the manifest was created, according to itself or else to its verified signature.
    package var created: HTTPDate?
    /// The SHA-256 of the manifest in hexadecimal digits.
    package var digest: String
    /// The key whose signature of the manifest was verified, as text; nil if no signature was.
    package var signer: String?
    /// Whether another file gives the version, and nothing but a signature of each proves that the two belong together:
    /// `chcp.json` without the digest of its manifest.
    package var isVersionSeparate = false

    /// The order of two manifests.
    package enum Order: Sendable {
        case newer, same, older
        /// The manifests have no versions or times that can be compared.
        case unknown
        /// Both have the same version, but they are different signed files.
        case mixed
    }

    /// Creates the age of a manifest.
    ///
    /// - Parameters:
    ///   - signer: the key whose signature was verified; nil if no signature was.
    ///   - signed: the time in the trusted comment of the verified signature. It counts if the manifest does not say
    ///     when it was created.
    package init(_ manifest: Manifest, _ bytes: [UInt8], signer: String? = nil, signed: HTTPDate? = nil) {
        version = manifest.version
        created = manifest.created ?? (signer == nil ? nil : signed)
        digest = DigestStream.digest(.sha256, of: bytes.span).hex
        self.signer = signer
    }

    package init(
        version: String? = nil, created: HTTPDate? = nil, digest: String, signer: String? = nil,
        isVersionSeparate: Bool = false
    ) {
        (self.version, self.created, self.digest, self.signer) = (version, created, digest, signer)
        self.isVersionSeparate = isVersionSeparate
    }

    /// Compares with another manifest of the same location. The version decides. If the versions are equal or have no
    /// order, the time decides. A manifest without a version or time that the other one has counts as older, so that
    /// leaving it out does not circumvent the comparison.
    package func order(after other: ManifestAge) -> Order {
        if isVersionSeparate, signer != nil { return orderOfParts(after: other) }
        if digest == other.digest { return .same }
        let order = orderOfVersion(after: other)
        switch order {
        case .newer, .older, .mixed: return order
        case .same, .unknown: break
        }
        return orderOfTime(after: other) ?? (lacksMeasure(of: other) ? .older : order)
    }

    /// The order by time; nil if a time is missing or both are the same.
    fileprivate func orderOfTime(after other: ManifestAge) -> Order? {
        guard let created, let otherCreated = other.created, created != otherCreated else { return nil }
        return created > otherCreated ? .newer : .older
    }

    /// Whether the other manifest gives a version or a time, and this one does not.
    private func lacksMeasure(of other: ManifestAge) -> Bool {
        version == nil && other.version != nil || created == nil && other.created != nil
    }

    /// Compares two files that are signed one by one. A server can combine each with any earlier one, so neither may be
    /// older: not the version, which one of them gives, and not the time, which the signature of the other one gives.
    /// Different files of one version are never combined by their publisher.
    private func orderOfParts(after other: ManifestAge) -> Order {
        let order = orderOfVersion(after: other)
        if order == .older { return .older }
        if digest == other.digest { return .same }
        let time = orderOfTime(after: other)
        if time == .older || lacksMeasure(of: other) { return .older }
        return order == .same ? .mixed : order == .unknown ? time ?? .unknown : order
    }

    fileprivate func orderOfVersion(after other: ManifestAge) -> Order {
        guard let version, let otherVersion = other.version else { return .unknown }
        if version == otherVersion { return .same }
        return ManifestVersion(version).order(after: ManifestVersion(otherVersion))
    }

    /// Whether a manifest of this age must not be older than `last`, the one accepted last.
    ///
    /// Without a signature anyone can announce any version. So a manifest without a signature does not bind one with
    /// a signature. One that was signed by a key that is no longer trusted binds none.
    ///
    /// - Parameter trustedSigners: the keys that are trusted now.
    package func isBound(by last: ManifestAge, trustedSigners: Set<String>) -> Bool {
        guard let lastSigner = last.signer else { return signer == nil }
        return lastSigner == signer || trustedSigners.contains(lastSigner)
    }

    /// The age to store when this manifest has been accepted. Of the same manifest with another signature, or with
    /// another version in the file that names it, the newest version and time count.
    package func accept(after last: ManifestAge?) -> ManifestAge {
        guard let last, last.digest == digest, signer == nil || last.signer != nil else { return self }
        var age = self
        // The new version may have come before its own manifest, which must not be refused later.
        let isUnproven = isVersionSeparate && signer != nil
        if version == nil || isUnproven || orderOfVersion(after: last) == .older {
            age.version = last.version
        }
        if let created = last.created { age.created = max(created, age.created ?? created) }
        return age
    }

    /// The age in words: `version 1.2 of 2026-01-31T12:00:00Z`.
    package var text: String {
        let time = created?.iso8601
        return switch (version.map(Self.abbreviate), time) {
        case (let version?, let time?): "version \(version) of \(time)"
        case (let version?, nil): "version \(version)"
        case (nil, let time?): "the one of \(time)"
        case (nil, nil): "one without version and time"
        }
    }

    /// The beginning of a long version, for messages.
    private static func abbreviate(_ version: String) -> String {
        version.utf8.count <= 80 ? version : "\(version.prefix(40))…"
    }
}

// MARK: - Storing

extension ManifestAge: JSONObject {
    package var members: JSONMembers {
        [
            "version": IfAny(version), "created": IfAny(created?.iso8601), "digest": digest,
            "signer": IfAny(signer), "separateVersion": IfAny(isVersionSeparate ? true : nil),
        ]
    }

    /// Reads a stored age; nil if it has no digest.
    package init?(_ json: JSONValue) {
        guard let digest = json["digest"]?.string else { return nil }
        self.init(
            version: json["version"]?.string,
            created: json["created"]?.string.flatMap { HTTPDate(rfc3339: $0) }, digest: digest,
            signer: json["signer"]?.string, isVersionSeparate: json["separateVersion"]?.bool ?? false)
    }
}

// MARK: - Admission

/// The decision whether a manifest may be used, as a value.
package enum ManifestAdmission: Sendable, Equatable {
    case admitted
    /// The manifest is older than the one that was accepted last.
    case older(than: ManifestAge)
    /// The manifest has the version that was accepted last, but is another one.
    case mixed(with: ManifestAge)
    /// The manifest expired at this time.
    case expired(HTTPDate)

    /// - Parameters:
    ///   - age: the age of the manifest.
    ///   - expires: when it expires; nil if it does not say so.
    ///   - last: the age of the manifest accepted last; nil if there is none.
    ///   - trustedSigners: the keys that are trusted now.
    ///   - allowsRollback: whether the user accepts an older manifest.
    package init(
        _ age: ManifestAge, expires: HTTPDate?, after last: ManifestAge?, trustedSigners: Set<String> = [],
        allowsRollback: Bool = false, now: HTTPDate
    ) {
        let isCompared =
            !allowsRollback && last.map { age.isBound(by: $0, trustedSigners: trustedSigners) } ?? false
        let order = isCompared ? last.map { age.order(after: $0) } : nil
        if let last, order == .older {
            self = .older(than: last)
        } else if let last, order == .mixed {
            self = .mixed(with: last)
        } else if let expires, expires <= now {
            self = .expired(expires)
        } else {
            self = .admitted
        }
    }
}

/// Clauses about manifests that are old, have expired, or do not fit the clock of this machine. They follow the name of
/// the manifest.
package enum ManifestAgeText {
    /// The maximum difference between two clocks that is not mentioned, in seconds.
    private static let maxClockSkew: Int64 = 24 * 60 * 60

    /// Why an older manifest is refused.
    package static func older(_ age: ManifestAge, than last: ManifestAge, now: HTTPDate) -> String {
        if let missing = missingMeasure(age, last) {
            return
                "it gives \(missing), but \(last.text) was accepted last: publish one with a version or time, or "
                + "allow the older one"
        }
        let isAhead = last.created.map { $0 > now.adding(seconds: maxClockSkew) } ?? false
        return "it is \(age.text), which is older than \(last.text) that was accepted last: "
            + (isAhead
                ? "that time is ahead of this machine's clock (\(now.iso8601)), so one of the clocks is wrong; "
                : "")
            + "publish a newer one, or allow the older one"
    }

    /// The measures that a manifest lacks and the one accepted last has, in words; nil if others show that it is older.
    private static func missingMeasure(_ age: ManifestAge, _ last: ManifestAge) -> String? {
        guard age.orderOfVersion(after: last) != .older, age.orderOfTime(after: last) == nil else {
            return nil
        }
        if age.version == nil, age.created == nil { return "no version and no time" }
        if age.version == nil, last.version != nil { return "no version" }
        return age.created == nil && last.created != nil ? "no time" : nil
    }

    /// Why a manifest is refused that has the version of another one.
    package static func sameVersionReason(_ last: ManifestAge) -> String {
        "it is not the one that was accepted last as \(last.text), although it has the same version: files of two releases "
            + "were combined, or the release was changed; publish it with a new version, or allow it"
    }

    /// Why an expired manifest is not current.
    ///
    /// - Parameter serverDate: the time that the server of the manifest gave; nil if it gave none.
    package static func expiryReason(_ expires: HTTPDate, now: HTTPDate, serverDate: HTTPDate? = nil)
        -> String
    {
        let days = (now.secondsSinceEpoch - expires.secondsSinceEpoch) / 86_400
        let age = days == 0 ? "" : days == 1 ? ", a day ago" : ", \(days) days ago"
        return "expired at \(expires.iso8601)\(age) by this machine's clock (\(now.iso8601))"
            + (serverDate.flatMap { clockDifference($0, now) }.map { ", \($0)" } ?? "")
            + ": publish it again with a later time, or set the clock if it is wrong"
    }

    /// A warning if the manifest was created after the time of this machine's clock; nil if it was not.
    package static func clockWarning(_ age: ManifestAge, now: HTTPDate, serverDate: HTTPDate? = nil)
        -> String?
    {
        guard let created = age.created, created > now.adding(seconds: maxClockSkew) else { return nil }
        let days = (created.secondsSinceEpoch - now.secondsSinceEpoch) / 86_400
        return "was created at \(created.iso8601), "
            + "\(days == 1 ? "a day" : "\(days) days") ahead of this machine's clock (\(now.iso8601))"
            + (serverDate.flatMap { clockDifference($0, now) }.map { ", \($0)" } ?? "")
            + ": set the clock if it is wrong, else that of the machine that makes the manifest"
    }

    /// A clause about the server's clock; nil if the clocks agree.
    private static func clockDifference(_ serverDate: HTTPDate, _ now: HTTPDate) -> String? {
        abs(serverDate.secondsSinceEpoch - now.secondsSinceEpoch) > maxClockSkew
            ? "while the server's clock says \(serverDate.iso8601)" : nil
    }
}
