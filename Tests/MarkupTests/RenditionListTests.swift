import Testing
import Web

@testable import Markup

/// The renditions of playlists, which of them a choice keeps, and the playlist that offers only the stored ones.
@Suite struct RenditionListTests {
    private static let master = """
        #EXTM3U
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="s",NAME="English",LANGUAGE="en",DEFAULT=YES,URI="en.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="s",NAME="Deutsch",LANGUAGE="de",URI="de.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="low",NAME="English",DEFAULT=YES,URI="low.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="t",NAME="English",URI="t-en.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="t",NAME="Deutsch",URI="t-de.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=8000000,RESOLUTION=1920x1080,CODECS="avc1.640028,mp4a.40.2",AUDIO="s",SUBTITLES="t"
        1080.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=2000000,RESOLUTION=1280x720,CODECS="hvc1.2.4.L93,mp4a.40.2",AUDIO="s",SUBTITLES="t"
        720-hevc.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=3000000,RESOLUTION=1280x720,CODECS="avc1.64001f,mp4a.40.2",AUDIO="s",SUBTITLES="t"
        720.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=500000,RESOLUTION=360x640,CODECS="avc1.64001f,mp4a.40.2",AUDIO="low"
        upright.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=64000,CODECS="mp4a.40.2",AUDIO="s"
        sound.m3u8
        #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,RESOLUTION=1280x720,URI="frames.m3u8"

        """

    /// A presentation of ffmpeg, shortened.
    private static let presentation = """
        <?xml version="1.0" encoding="utf-8"?>
        <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT5.0S">
        <Period id="0" start="PT0.0S">
        <AdaptationSet id="0" contentType="video" par="16:9">
        <Representation id="0" mimeType="video/mp4" codecs="avc1.f4000b" bandwidth="138089" width="320" height="180">
        <SegmentTemplate timescale="10240" initialization="init-stream$RepresentationID$.m4s" media="chunk-stream$RepresentationID$-$Number%05d$.m4s" startNumber="1">
        <SegmentTimeline><S t="0" d="20480" r="1" /><S d="10240" /></SegmentTimeline>
        </SegmentTemplate></Representation>
        <Representation id="1" mimeType="video/mp4" codecs="avc1.f4000a" bandwidth="69470" width="160" height="90">
        <SegmentTemplate timescale="10240" initialization="init-stream$RepresentationID$.m4s" media="chunk-stream$RepresentationID$-$Number%05d$.m4s" startNumber="1">
        <SegmentTimeline><S t="0" d="20480" r="1" /><S d="10240" /></SegmentTimeline>
        </SegmentTemplate></Representation>
        </AdaptationSet>
        <AdaptationSet id="1" contentType="audio">
        <Representation id="2" mimeType="audio/mp4" codecs="mp4a.40.2" bandwidth="69000">
        <SegmentTemplate timescale="44100" initialization="init-stream$RepresentationID$.m4s" media="chunk-stream$RepresentationID$-$Number%05d$.m4s" startNumber="1">
        <SegmentTimeline><S t="0" d="88064" /><S d="89088" /><S d="43348" /></SegmentTimeline>
        </SegmentTemplate></Representation>
        </AdaptationSet>
        </Period>
        </MPD>
        """

    private static func list(_ text: String, _ format: BodyFormat) throws -> RenditionList {
        let bytes = Array(text.utf8)
        let list = RenditionList(bytes.span, format: format)
        return try #require(list)
    }

    private static func kept(_ text: String, _ format: BodyFormat, _ choice: MediaChoice) throws -> [String] {
        let list = try list(text, format)
        return list.renditionsToStore(by: choice).flatMap { list.renditions[$0].references }.sorted()
    }

    private static func served(_ text: String, _ format: BodyFormat, stored: Set<String>) throws -> String {
        let bytes = Array(text.utf8)
        let ranges = try list(text, format).unstoredRanges { stored.contains($0) }
        let patch = Patch(ranges.map { Patch.Change($0, []) }, of: bytes.count)
        return String(decoding: patch.apply(to: bytes), as: UTF8.self)
    }

    // MARK: - HLS

    @Test(arguments: [
        (MediaChoice.best, ["1080.m3u8", "de.m3u8", "en.m3u8", "t-de.m3u8", "t-en.m3u8"]),
        (.height(1080), ["1080.m3u8", "en.m3u8", "t-de.m3u8", "t-en.m3u8"]),
        (.height(1000), ["720.m3u8", "en.m3u8", "t-de.m3u8", "t-en.m3u8"]),
        (.height(480), ["low.m3u8", "upright.m3u8"]), (.height(100), ["low.m3u8", "upright.m3u8"]),
        (.audio, ["en.m3u8", "sound.m3u8"]), (.none, []),
    ])
    func `a choice keeps one variant of a master playlist, its sound and its subtitles`(
        choice: MediaChoice, references: [String]
    ) throws {
        #expect(try Self.kept(Self.master, .hls, choice) == references)
        let all = Set(try Self.list(Self.master, .hls).renditions.flatMap(\.references))
        #expect(try Self.list(Self.master, .hls).leftOut(by: choice) == all.subtracting(references))
    }

    @Test func `without heights, the bandwidth decides`() throws {
        let text =
            "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=9000000\na\n#EXT-X-STREAM-INF:BANDWIDTH=3000000\nb\n"
            + "#EXT-X-STREAM-INF:BANDWIDTH=1000000\nc"
        #expect(try Self.kept(text, .hls, .height(720)) == ["b"])
        #expect(try Self.kept(text, .hls, .best) == ["a"])
        #expect(try Self.kept(text, .hls, .audio) == ["c"])
        #expect(try Self.kept(text, .hls, .height(144)) == ["c"])
    }

    @Test func `a playlist that two renditions share is kept if one of them is`() throws {
        let text = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=2\na\n#EXT-X-STREAM-INF:BANDWIDTH=1\na\n"
        #expect(try Self.list(text, .hls).leftOut(by: .best) == [])
    }

    @Test(arguments: [
        ("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\na.ts\n", true),
        ("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\na.ts\n#EXT-X-ENDLIST\n", false),
        ("#EXTM3U\n#EXTINF:200,Song\na.mp3\n", false), (master, false),
    ])
    func `a playlist of segments without an end is live`(text: String, isLive: Bool) throws {
        #expect(try Self.list(text, .hls).isLive == isLive)
    }

    @Test func `the served master playlist offers only what is stored`() throws {
        let served = try Self.served(
            Self.master, .hls, stored: ["720.m3u8", "en.m3u8", "t-de.m3u8", "t-en.m3u8"])
        #expect(
            served == """
                #EXTM3U
                #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="s",NAME="English",LANGUAGE="en",DEFAULT=YES,URI="en.m3u8"
                #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="t",NAME="English",URI="t-en.m3u8"
                #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="t",NAME="Deutsch",URI="t-de.m3u8"
                #EXT-X-STREAM-INF:BANDWIDTH=3000000,RESOLUTION=1280x720,CODECS="avc1.64001f,mp4a.40.2",AUDIO="s",SUBTITLES="t"
                720.m3u8

                """)
    }

    @Test func `a group that a stored variant names stays, and so does a list of which nothing is stored`()
        throws
    {
        let served = try Self.served(Self.master, .hls, stored: ["upright.m3u8"])
        #expect(served.contains("low.m3u8") && served.contains("upright.m3u8"))
        #expect(!served.contains("en.m3u8") && !served.contains("1080.m3u8"))
        #expect(try Self.served(Self.master, .hls, stored: []) == Self.master)
    }

    // MARK: - DASH

    @Test func `the segments of a template with a timeline are found, as ffmpeg writes it`() throws {
        let list = try Self.list(Self.presentation, .dash)
        #expect(list.renditions.map(\.height) == [180, 90, nil])
        #expect(list.renditions.map(\.kind) == [.video, .video, .audio])
        #expect(
            list.renditions[1].references == [
                "init-stream1.m4s", "chunk-stream1-00001.m4s", "chunk-stream1-00002.m4s",
                "chunk-stream1-00003.m4s",
            ])
        #expect(!list.isLive)
        let table = LinkScanner().scan(Self.presentation.utf8.span, as: .dash, charset: nil) { _, _ in }
        #expect(table.implied.count == 12 && table.implied.allSatisfy { $0.kind == .media })
    }

    @Test(arguments: [
        (MediaChoice.best, ["0", "2"]), (.height(100), ["1", "2"]), (.audio, ["2"]), (.none, []),
    ])
    func `a choice keeps one picture and one sound of a presentation`(
        choice: MediaChoice, ids: [String]
    ) throws {
        let kept = try Self.kept(Self.presentation, .dash, choice)
        #expect(kept.filter { $0.hasPrefix("init") } == ids.map { "init-stream\($0).m4s" })
        #expect(kept.count == ids.count * 4)
    }

    @Test func `the served presentation offers only what is stored`() throws {
        let kept = Set(try Self.kept(Self.presentation, .dash, .height(100)))
        let served = try Self.served(Self.presentation, .dash, stored: kept)
        #expect(try Self.list(served, .dash).renditions.map(\.height) == [90, nil])
        let sound = try Self.served(
            Self.presentation, .dash, stored: Set(try Self.kept(Self.presentation, .dash, .audio)))
        #expect(!sound.contains("contentType=\"video\"") && sound.contains("contentType=\"audio\""))
    }

    private static func segments(_ inside: String, _ attributes: String = "mediaPresentationDuration='PT10S'")
        throws
        -> [String]
    {
        try list("<MPD \(attributes)><Period>\(inside)</Period></MPD>", .dash).renditions.flatMap(
            \.references)
    }

    @Test(arguments: [
        // A duration and a timescale that the adaptation set gives.
        (
            "<AdaptationSet><SegmentTemplate timescale='2' duration='8' media='$Bandwidth$-$Number$.m4s'/><Representation id='a' bandwidth='7'/></AdaptationSet>",
            ["7-1.m4s", "7-2.m4s", "7-3.m4s"]
        ),
        // Repetitions up to the end of the period, by time.
        (
            "<AdaptationSet><Representation id='a'><SegmentTemplate timescale='10' media='$Time$$$'><SegmentTimeline><S t='5' d='40' r='-1'/></SegmentTimeline></SegmentTemplate></Representation></AdaptationSet>",
            ["5$", "45$", "85$"]
        ),
        (
            "<AdaptationSet><Representation><BaseURL>v/</BaseURL><SegmentList><Initialization sourceURL='i'/><SegmentURL media='1'/><SegmentURL media='/2'/></SegmentList></Representation></AdaptationSet>",
            ["v/i", "v/1", "/2"]
        ),
        (
            "<AdaptationSet><Representation><BaseURL>a&amp;b.mp4</BaseURL><SegmentBase indexRange='1-2'/></Representation></AdaptationSet>",
            ["a&b.mp4"]
        ),
        // No end is known, the numbers are broken, or the elements are not closed.
        ("<AdaptationSet><Representation><SegmentTemplate media='$Number$'/>", ["1"]),
        (
            "<AdaptationSet><Representation><SegmentTemplate media='$Number$' duration='-4' startNumber='x'/></Representation>",
            ["1"]
        ),
        (
            "<AdaptationSet><Representation><SegmentTemplate duration='1'/></Representation></AdaptationSet>",
            []
        ),
        (
            "<AdaptationSet><Representation><SegmentTemplate media='$Number$$Time' duration='10'/></Representation></AdaptationSet>",
            ["1$Time"]
        ),
    ])
    func `segments are named by templates, lists and files`(inside: String, references: [String]) throws {
        #expect(try Self.segments(inside) == references)
    }

    @Test func `huge presentations are bounded`() throws {
        let template = "<SegmentTemplate media='$Number%099d$' timescale='1000000' duration='1'/>"
        let representation = "<Representation id='a'>\(template)</Representation>"
        let many = String(repeating: representation, count: 6)
        let segments = try Self.segments(
            "<AdaptationSet>\(many)</AdaptationSet>", "mediaPresentationDuration='P300D'")
        #expect(segments.count == DASHManifest.maxReferences && segments[0].utf8.count == 32)
        let endless =
            "<SegmentTimeline><S d='1' r='9223372036854775807'/><S t='9223372036854775807' d='9'/></SegmentTimeline>"
        let timeline =
            "<Representation><SegmentTemplate media='$Time$'>\(endless)</SegmentTemplate></Representation>"
        #expect(
            try Self.segments("<AdaptationSet>\(timeline)</AdaptationSet>").count == DASHManifest.maxSegments)
        let deep = String(repeating: "<a>", count: 100_000)
        #expect(try Self.segments(deep) == [])
    }

    @Test func `a live presentation has no segments`() throws {
        let live = Self.presentation.replacing("type=\"static\"", with: "type=\"dynamic\"")
        let list = try Self.list(live, .dash)
        #expect(list.isLive && list.renditions.isEmpty)
    }

    @Test(arguments: [
        ("PT5.0S", 5.0), ("PT1H2M3.5S", 3723.5), ("P1DT1S", 86_401), ("P1M", 2_592_000), ("PT", 0),
        ("5", nil), ("PTS", nil), ("P9Y", nil), ("PT1", nil), ("P1H", nil), ("", nil),
    ])
    func `durations are read as ISO 8601 writes them`(text: String, seconds: Double?) {
        #expect(ISODuration.seconds(text) == seconds)
    }

    @Test(arguments: [
        ("best", MediaChoice.best), ("720p", .height(720)), ("audio", .audio), ("none", MediaChoice.none),
        ("720", nil),
        ("0p", nil), ("+720p", nil), ("99999p", nil), ("p", nil),
    ])
    func `a choice is read as it is typed`(text: String, choice: MediaChoice?) {
        #expect(MediaChoice(rawValue: text) == choice)
        if let choice { #expect(choice.rawValue == text) }
    }
}
