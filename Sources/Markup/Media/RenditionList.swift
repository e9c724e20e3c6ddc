package import Web

/// One of several versions of a video, a sound or subtitles that a playlist offers.
package struct Rendition: Hashable, Sendable {
    package enum Kind: Sendable {
        case video, audio, subtitles
        /// Small pictures that a player shows while a person looks for a place in the video.
        case preview
    }

    package var kind: Kind
    /// The part of the presentation to which it belongs. Each part has renditions of its own.
    var period = 0
    /// DASH: the number of its adaptation set, whose renditions are alternatives. HLS: 0.
    var set = 0
    /// HLS: the group of a rendition that is only played beside another one, such as a sound; nil for others.
    var group: String?
    /// HLS: the groups with the sounds and subtitles that a player plays beside this rendition.
    var usedGroups: Set<String> = []
    /// The number of lines of the picture: the shorter side, so that an upright video has the same.
    package var height: Int?
    var bandwidth = 0
    /// Whether all browsers play its format.
    var isCommonFormat = true
    /// Whether a player chooses it unless a person says otherwise.
    var isDefault = false
    /// The references to its playlist or segments, relative to the base of the document.
    package var references: [String] = []
    /// The parts of the document to remove if the rendition is left out.
    package var ranges: [Range<Int>] = []

    init(_ kind: Kind) { self.kind = kind }
}

/// The renditions that a playlist of HLS (RFC 8216) or DASH (ISO/IEC 23009-1) offers.
package struct RenditionList: Sendable {
    var renditions: [Rendition] = []
    /// Whether the playlist is of a live stream, which has no end.
    package internal(set) var isLive = false
    /// DASH: the elements around renditions, to be removed if all renditions in them are.
    var containers: [(range: Range<Int>, renditions: Range<Int>)] = []

    /// The maximum number of renditions of a list. Further ones are treated like other links.
    static let maxRenditions = 1000

    init() {}

    /// Reads the body of a playlist. Returns nil for bodies of other formats.
    package init?(_ body: Span<UInt8>, format: BodyFormat) {
        let list: RenditionList? = body.withUnsafeBufferPointer { bytes in
            switch format {
            case .hls: HLSPlaylist(bytes).list
            case .dash: DASHManifest(bytes).list
            case .opaque, .html, .xhtml, .css, .javaScript, .svg, .xml, .json, .webManifest, .importMap,
                .speculationRules, .jsonLD, .webVTT, .sitemap, .feed, .plainText, .pagefindIndex:
                nil
            }
        }
        guard let list else { return nil }
        self = list
    }

    /// The references of the renditions that a choice leaves out, except those that a stored rendition has too.
    package func leftOut(by choice: MediaChoice) -> Set<String> {
        let kept = renditionsToStore(by: choice)
        var leftOut: Set<String> = []
        for (number, rendition) in renditions.enumerated() where !kept.contains(number) {
            leftOut.formUnion(rendition.references)
        }
        for number in kept { leftOut.subtract(renditions[number].references) }
        return leftOut
    }

    /// Returns the parts of the playlist to remove, in ascending order, so that it offers only the renditions that are
    /// stored. Returns nothing if no rendition with a picture or sound is stored.
    ///
    /// Of the segments of a rendition only the first, one in the middle and the last are looked up.
    package func unstoredRanges<Failure: Error>(
        _ isStored: (String) throws(Failure) -> Bool
    ) throws(Failure) -> [Range<Int>] {
        var known: [String: Bool] = [:]
        var removed: Set<Int> = []
        for (number, rendition) in renditions.enumerated() {
            let all = rendition.references
            for place in Set([0, all.count / 2, all.count - 1]) where all.indices.contains(place) {
                if known[all[place]] == nil { known[all[place]] = try isStored(all[place]) }
                if known[all[place]] == false { removed.insert(number) }
            }
        }
        guard !removed.isEmpty else { return [] }
        for period in Set(renditions.map(\.period)) {
            let playable = renditions.indices.filter { renditions[$0].period == period && isPlayable($0) }
            if removed.isSuperset(of: playable) { return [] }
        }
        // A group that a remaining rendition names must exist.
        let needed = renditions.indices.filter { !removed.contains($0) }.reduce(into: Set<String>()) {
            $0.formUnion(renditions[$1].usedGroups)
        }
        for group in needed {
            let members = renditions.indices.filter { renditions[$0].group == group }
            if removed.isSuperset(of: members) { removed.subtract(members) }
        }
        var ranges = removed.flatMap { renditions[$0].ranges }
        ranges += containers.filter { !$0.renditions.isEmpty && removed.isSuperset(of: $0.renditions) }
            .map(\.range)
        return Self.withoutInnerRanges(ranges)
    }

    /// Ranges in ascending order, without those inside others.
    private static func withoutInnerRanges(_ ranges: [Range<Int>]) -> [Range<Int>] {
        var merged: [Range<Int>] = []
        for range in ranges.sorted(by: { ($0.lowerBound, $1.upperBound) < ($1.lowerBound, $0.upperBound) })
        where range.lowerBound >= merged.last?.upperBound ?? 0 { merged.append(range) }
        return merged
    }

    /// Whether a rendition shows a picture or has a sound by itself.
    private func isPlayable(_ number: Int) -> Bool {
        let rendition = renditions[number]
        return rendition.group == nil && (rendition.kind == .video || rendition.kind == .audio)
    }

    // MARK: - The choice

    /// The numbers of the renditions to store.
    func renditionsToStore(by choice: MediaChoice) -> Set<Int> {
        guard choice != .none else { return [] }
        var kept: Set<Int> = []
        for numbers in Dictionary(grouping: renditions.indices, by: { renditions[$0].period }).values {
            let main = mainRendition(of: numbers.filter(isPlayable), choice)
            if let main { kept.insert(main) }
            keepSets(of: numbers, choice, in: &kept)
            keepGroups(of: numbers, beside: main, choice, in: &kept)
        }
        return kept
    }

    /// The rendition with the picture, or the sound if there is none or only the sound is wanted.
    private func mainRendition(of numbers: [Int], _ choice: MediaChoice) -> Int? {
        let videos = numbers.filter { renditions[$0].kind == .video }
        let sounds = numbers.filter { renditions[$0].kind == .audio }
        switch choice {
        case .none: return nil
        case .best: return best(of: videos) ?? best(of: mainSounds(sounds))
        case .height(let height): return best(of: videos, upTo: height) ?? best(of: mainSounds(sounds))
        case .audio:
            // Without sound of its own, the smallest video is the smallest rendition with the sound.
            return best(of: mainSounds(sounds)) ?? videos.min { rank($0) < rank($1) }
        }
    }

    /// The sounds of the first set, or of that which is marked as the main one.
    private func mainSounds(_ sounds: [Int]) -> [Int] {
        guard let main = sounds.first(where: { renditions[$0].isDefault }) ?? sounds.first else { return [] }
        return sounds.filter { renditions[$0].set == renditions[main].set }
    }

    private func best(of numbers: [Int]) -> Int? { numbers.max { rank($0) < rank($1) } }

    /// The best one that is not larger, else the smallest one.
    private func best(of numbers: [Int], upTo height: Int) -> Int? {
        let haveHeights = numbers.contains { renditions[$0].height != nil }
        let fitting = numbers.filter { number in
            if haveHeights { return renditions[number].height.map { $0 <= height } ?? false }
            return renditions[number].bandwidth <= Self.bandwidth(ofHeight: height)
        }
        return best(of: fitting) ?? numbers.min { rank($0) < rank($1) }
    }

    /// About the bandwidth of a video of this height, for playlists that do not name the heights: 4 Mbit/s for 720.
    private static func bandwidth(ofHeight height: Int) -> Int { height * height * 8 }

    /// The order of renditions by their quality. Of two with the same height, one that all browsers play is better.
    private func rank(_ number: Int) -> (Int, Int, Int) {
        let rendition = renditions[number]
        return (rendition.height ?? 0, rendition.isCommonFormat ? 1 : 0, rendition.bandwidth)
    }

    /// DASH: keeps one rendition of each set of sounds and subtitles.
    private func keepSets(of numbers: [Int], _ choice: MediaChoice, in kept: inout Set<Int>) {
        let others = numbers.filter { renditions[$0].group == nil && renditions[$0].set > 0 }
        let sounds = others.filter { renditions[$0].kind == .audio }
        let mainSet = mainSounds(sounds).first.map { renditions[$0].set }
        for (set, members) in Dictionary(grouping: others, by: { renditions[$0].set }) {
            switch members.first.map({ renditions[$0].kind }) {
            case .audio where set == mainSet || choice == .best:
                if let best = best(of: members) { kept.insert(best) }
            case .subtitles: if let first = members.first { kept.insert(first) }
            case .audio, .video, .preview, nil: break
            }
        }
    }

    /// HLS: keeps the default sound and all subtitles of the groups that belong to the main rendition.
    private func keepGroups(
        of numbers: [Int], beside main: Int?, _ choice: MediaChoice, in kept: inout Set<Int>
    ) {
        for group in main.map({ renditions[$0].usedGroups }) ?? [] {
            let members = numbers.filter { renditions[$0].group == group }
            let standard = members.first { renditions[$0].isDefault } ?? members.first
            for member in members {
                let isKept = choice == .best || renditions[member].kind == .subtitles || member == standard
                if isKept, renditions[member].kind != .preview { kept.insert(member) }
            }
        }
    }
}
