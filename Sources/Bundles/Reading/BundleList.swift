internal import Digest

/// Gathers a manifest's bundles in their order, and sees to it that none is listed twice with different things to say.
struct BundleList {
    private(set) var bundles: [Bundle] = []
    private var places: [String: Int] = [:]

    /// Why a bundle could not be added.
    enum Refusal {
        case listed
        case conflict(String)
        case unusable(String)

        var detail: String {
            switch self {
            case .listed: "the URL is listed twice"
            case .conflict(let what): "the URL is listed twice, with different values of \(what)"
            case .unusable(let why): why
            }
        }
    }

    func contains(_ reference: String) -> Bool { places[reference] != nil }

    /// Nil when it was added.
    mutating func add(_ bundle: Bundle) -> Refusal? {
        if let problem = Self.problem(of: bundle.reference) { return .unusable(problem) }
        guard places[bundle.reference] == nil else { return .listed }
        guard bundles.count < ManifestLimits.bundleCount else {
            return .unusable("more than \(ManifestLimits.bundleCount) bundles")
        }
        places[bundle.reference] = bundles.count
        bundles.append(bundle)
        return nil
    }

    /// The same, and what is said of a reference in several places is put together. It is required if one place says
    /// so.
    mutating func merge(_ bundle: Bundle) -> Refusal? {
        guard let place = places[bundle.reference] else { return add(bundle) }
        bundles[place].isRequired = bundles[place].isRequired || bundle.isRequired
        for new in bundle.claims where !bundles[place].claims.contains(new) {
            let known = bundles[place].claims
            guard !known.contains(where: { $0.contradicts(new) }) else { return .conflict(new.source) }
            bundles[place].claims.append(new)
        }
        return nil
    }

    private static func problem(of reference: String) -> String? {
        if reference.isEmpty { return "expected a URL, found an empty text" }
        let count = reference.utf8.count
        guard count > ManifestLimits.referenceByteCount else { return nil }
        return "expected a URL of at most \(ManifestLimits.referenceByteCount) bytes, found \(count)"
    }
}

extension Claim {
    /// Whether no body can meet both.
    fileprivate func contradicts(_ other: Claim) -> Bool {
        guard subject == other.subject, strength == .strong, other.strength == .strong else { return false }
        switch (content, other.content) {
        case (.digest(let one), .digest(let two)): return one.algorithm == two.algorithm && one != two
        case (.byteCount(let one), .byteCount(let two)): return one != two
        case (.digest(let digest), .integrity(let integrity)), (.integrity(let integrity), .digest(let digest)):
            return integrity.algorithm == digest.algorithm && !integrity.digests.contains(digest)
        case (.integrity(let one), .integrity(let two)):
            return one.algorithm == two.algorithm && Set(one.digests).isDisjoint(with: two.digests)
        default: return false
        }
    }
}
