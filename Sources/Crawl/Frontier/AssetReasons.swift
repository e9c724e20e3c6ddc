internal import Markup

/// The reasons for rendering that were found in scripts and other assets. They apply to all pages that need the asset,
/// also by way of other scripts.
struct AssetReasons: Sendable {
    private var reasons: [UInt32: RenderReasons] = [:]
    /// The assets that scripts need.
    private var assetsOfScripts: [UInt32: [UInt32]] = [:]
    /// Assets that are new, or differ from those in an earlier snapshot.
    private(set) var changed: Set<UInt32> = []
    /// Whether `spread` must run again, because the assets of patterns, their reasons or their own assets have changed.
    var mustSpread = false

    /// The maximum number of assets that are recorded for a script.
    private static let maxAssetsOfScript = 64
    /// The maximum size of each collection here. Further assets give no reason.
    private static let maxAssets = 65_536

    /// Adds an asset with the assets that it needs. Returns whether it may be a reason to render pages.
    mutating func add(
        _ number: UInt32, _ reasons: RenderReasons, assets: [UInt32], isChanged: Bool
    ) -> Bool {
        var isReason = false
        if isChanged, changed.count < Self.maxAssets, changed.insert(number).inserted { isReason = true }
        if !reasons.isEmpty, self.reasons.count < Self.maxAssets {
            self.reasons[number] = reasons
            isReason = true
        }
        if !assets.isEmpty, assetsOfScripts.count < Self.maxAssets {
            assetsOfScripts[number] = Array(assets.prefix(Self.maxAssetsOfScript))
            mustSpread = true
        }
        if isReason { mustSpread = true }
        return isReason
    }

    /// The assets that an asset needs.
    func assets(of number: UInt32) -> [UInt32] { assetsOfScripts[number] ?? [] }

    /// Applies the reasons to all patterns whose pages need the assets.
    mutating func spread(to patterns: inout [RenderScheduler.Pattern]) {
        mustSpread = false
        guard !reasons.isEmpty || !changed.isEmpty else { return }
        for place in patterns.indices {
            var (seen, rest) = (patterns[place].assets, Array(patterns[place].assets))
            while let asset = rest.popLast() {
                if let reasons = reasons[asset] { patterns[place].sharedReasons.formUnion(reasons) }
                if changed.contains(asset) { patterns[place].hasChangedAsset = true }
                for next in assets(of: asset) where seen.insert(next).inserted { rest.append(next) }
            }
        }
    }
}
