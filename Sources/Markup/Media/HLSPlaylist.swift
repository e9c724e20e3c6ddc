/// Reads the renditions of an HLS playlist (RFC 8216). A playlist of segments has none.
struct HLSPlaylist {
    private(set) var list = RenditionList()
    private let bytes: Bytes
    private var isOfSegments = false
    private var hasEnd = false
    /// The variant whose URL is on one of the next lines.
    private var variant: Rendition?

    init(_ bytes: Bytes) {
        self.bytes = bytes
        TextLines.forEach(bytes) { read($0) }
        // Lists of songs are no playlists of this standard, and have neither of the two tags.
        list.isLive = isOfSegments && !hasEnd && list.renditions.isEmpty
    }

    private mutating func read(_ line: Range<Int>) {
        guard bytes[line.lowerBound] == UInt8(ascii: "#") else {
            guard var found = variant else { return }
            variant = nil
            found.references = [text(line)]
            found.ranges = [(found.ranges.first?.lowerBound ?? line.lowerBound)..<end(of: line)]
            return add(found)
        }
        let colon = bytes[line].firstIndex(of: UInt8(ascii: ":")) ?? line.upperBound
        let tag = bytes.part(line.lowerBound..<colon)
        if tag.equals("#ext-x-stream-inf") {
            variant = readVariant(line)
        } else if tag.equals("#ext-x-i-frame-stream-inf") {
            add(readMedia(line, .preview))
        } else if tag.equals("#ext-x-media") {
            add(readMedia(line))
        } else if tag.equals("#ext-x-targetduration") {
            isOfSegments = true
        } else if tag.equals("#ext-x-endlist") {
            hasEnd = true
        }
    }

    private mutating func add(_ rendition: Rendition?) {
        guard let rendition, list.renditions.count < RenditionList.maxRenditions else { return }
        list.renditions.append(rendition)
    }

    private func readVariant(_ line: Range<Int>) -> Rendition {
        var variant = Rendition(.video)
        variant.ranges = [line.lowerBound..<end(of: line)]
        var codecs = MediaCodecs("")
        HLSAttributes.forEach(bytes, line) { name, value, _ in
            if name.equals("bandwidth") {
                variant.bandwidth = Int(text(value)) ?? 0
            } else if name.equals("resolution") {
                let sides = text(value).utf8.split { $0 | 0x20 == UInt8(ascii: "x") }.map {
                    Int(Substring($0)) ?? 0
                }
                if sides.count == 2, let side = sides.min(), side > 0 { variant.height = side }
            } else if name.equals("codecs") {
                codecs = MediaCodecs(text(value))
            } else if name.equals("audio") || name.equals("video") || name.equals("subtitles") {
                variant.usedGroups.insert(group(name, text(value)))
            }
        }
        variant.isCommonFormat = codecs.areCommon
        if variant.height == nil, codecs.areOnlyAudio { variant.kind = .audio }
        return variant
    }

    /// Reads a rendition that is played beside a variant, or a playlist of single pictures.
    private func readMedia(_ line: Range<Int>, _ known: Rendition.Kind? = nil) -> Rendition? {
        var media = Rendition(known ?? .audio)
        var (type, groupID, isForced) = ("", "", false)
        HLSAttributes.forEach(bytes, line) { name, value, _ in
            if name.equals("type") {
                type = text(value).lowercased()
            } else if name.equals("group-id") {
                groupID = text(value)
            } else if name.equals("default") {
                media.isDefault = bytes.part(value).equals("yes")
            } else if name.equals("forced") {
                isForced = bytes.part(value).equals("yes")
            } else if name.equals("uri") {
                media.references = [text(value)]
            }
        }
        media.ranges = [line.lowerBound..<end(of: line)]
        if known == .preview {
            media.group = ""
            return media
        }
        switch type {
        case "audio": media.kind = .audio
        case "video": media.kind = .video
        case "subtitles": media.kind = .subtitles
        default: return nil
        }
        if isForced { media.isDefault = false }
        media.group = "\(type) \(groupID)"
        return media
    }

    private func group(_ attribute: Bytes, _ id: String) -> String {
        "\(String(decoding: attribute.map(\.lowercased), as: UTF8.self)) \(id)"
    }

    private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    /// The end of a line with its line break.
    private func end(of line: Range<Int>) -> Int {
        var end = line.upperBound
        while end < bytes.count, bytes[end] != 0x0A, bytes[end] != 0x0D { end += 1 }
        if end < bytes.count, bytes[end] == 0x0D { end += 1 }
        if end < bytes.count, bytes[end] == 0x0A { end += 1 }
        return end
    }
}

/// The attributes of a tag of an HLS playlist: `#TAG:NAME=value,NAME="value, with commas"` (RFC 8216, section 4.2).
enum HLSAttributes {
    /// Calls `body` with the name and the value of each attribute. The value has no quotes.
    static func forEach(
        _ bytes: Bytes, _ line: Range<Int>,
        _ body: (_ name: Bytes, _ value: Range<Int>, _ isQuoted: Bool) -> Void
    ) {
        guard var index = bytes[line].firstIndex(of: UInt8(ascii: ":")) else { return }
        while index < line.upperBound {
            index += 1
            let start = index
            while index < line.upperBound, bytes[index] != UInt8(ascii: "="),
                bytes[index] != UInt8(ascii: ",")
            {
                index += 1
            }
            let name = bytes.part(bytes.trimmed(start..<index))
            guard index < line.upperBound, bytes[index] == UInt8(ascii: "=") else { continue }
            index += 1
            let isQuoted = index < line.upperBound && bytes[index] == UInt8(ascii: "\"")
            let value = isQuoted ? index + 1 : index
            let mark = isQuoted ? UInt8(ascii: "\"") : UInt8(ascii: ",")
            index = bytes[value..<line.upperBound].firstIndex(of: mark) ?? line.upperBound
            body(name, isQuoted ? value..<index : bytes.trimmed(value..<index), isQuoted)
            while index < line.upperBound, bytes[index] != UInt8(ascii: ",") { index += 1 }
        }
    }
}

/// The formats of the streams of a rendition (RFC 6381): `avc1.64001f,mp4a.40.2`.
struct MediaCodecs {
    private let names: [Substring]

    init(_ text: String) {
        names = text.lowercased().split { $0 == "," || $0 == " " }.map { $0.prefix { $0 != "." } }
    }

    private static let videos: Set<Substring> = [
        "avc1", "avc3", "hvc1", "hev1", "dvh1", "dvhe", "dva1", "dvav", "av01", "vp08", "vp09", "vp8", "vp9",
        "mp4v", "theora", "jpeg",
    ]
    /// The formats that every browser plays.
    private static let common: Set<Substring> = ["avc1", "avc3", "mp4a", "mp3", "opus", "wvtt", "stpp"]

    var areOnlyAudio: Bool { !names.isEmpty && !names.contains(where: Self.videos.contains) }
    var areCommon: Bool { names.allSatisfy(Self.common.contains) }
    var areSubtitles: Bool { names.contains("wvtt") || names.contains("stpp") }
}
