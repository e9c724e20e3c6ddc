/// Which of the renditions of a video or sound are stored, if a playlist (HLS or DASH) offers several.
public enum MediaChoice: Hashable, Sendable {
    /// The one with the highest resolution, and the sound in all languages.
    case best
    /// The one with the highest resolution up to this number of lines.
    case height(Int)
    /// Only the sound, if the playlist offers it without the picture.
    case audio
    /// No videos and sounds at all, with or without a playlist.
    case none

    /// Enough for the place that a page gives a video, at a third to a tenth of the size of the best rendition.
    public static let standard = MediaChoice.height(720)

    /// The heights that can be chosen.
    private static let heights = 1...8640
}

extension MediaChoice: RawRepresentable {
    /// Reads a choice as it is typed: `best`, `720p`, `audio` or `none`.
    public init?(rawValue: String) {
        switch rawValue {
        case "best": self = .best
        case "audio": self = .audio
        case "none": self = .none
        default:
            guard rawValue.hasSuffix("p"), rawValue.utf8.first?.isASCIIDigit == true,
                let height = Int(rawValue.dropLast()), Self.heights.contains(height)
            else { return nil }
            self = .height(height)
        }
    }

    public var rawValue: String {
        switch self {
        case .best: "best"
        case .height(let height): "\(height)p"
        case .audio: "audio"
        case .none: "none"
        }
    }
}
