internal import Bundles
internal import Web

/// What a check found, bundle by bundle, in the order of the manifest.
public struct CheckReport: Sendable, Equatable {
    public let manifest: String
    public let items: [Item]

    public struct Item: Sendable, Equatable {
        public let url: String
        public let verdict: Verdict
        /// What differs, or why nothing can be said; nil for a verified bundle.
        public let detail: String?
        public let isRequired: Bool
    }

    public enum Verdict: String, Sendable, Equatable, CaseIterable {
        case verified
        case mismatch
        case missing
        case unverifiable
    }

    /// Every required bundle is what the manifest says.
    public var isClean: Bool { items.allSatisfy { $0.verdict == .verified || !$0.isRequired } }

    public func count(_ verdict: Verdict) -> Int { items.count { $0.verdict == verdict } }

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("manifest", manifest)
            object.member("clean", isClean)
            object.member("bundles") { list in
                list.array { array in
                    for item in items {
                        array.object { object in
                            object.member("url", item.url)
                            object.member("verdict", item.verdict.rawValue)
                            object.memberIfPresent("detail", item.detail)
                            object.member("required", item.isRequired)
                        }
                    }
                }
            }
        }
        return writer.text
    }
}

extension CheckReport.Item {
    init(_ url: String, _ bundle: Bundle, _ verdict: Verdict) {
        self.init(url: url, verdict: .init(verdict), detail: verdict.detail, isRequired: bundle.isRequired)
    }
}

extension CheckReport.Verdict {
    init(_ verdict: Verdict) {
        switch verdict {
        case .verified: self = .verified
        case .mismatch: self = .mismatch
        case .missing: self = .missing
        case .unverifiable: self = .unverifiable
        }
    }
}
