import Mirror
import Store
import TestOrigin
import Testing

/// Playlists of videos of which only some renditions are stored.
@Suite struct MediaServingTests {
    private static let hls = "application/vnd.apple.mpegurl"

    private static let master = """
        #EXTM3U
        #EXT-X-STREAM-INF:BANDWIDTH=1,RESOLUTION=640x360
        https://cdn.test/low.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=2,RESOLUTION=1920x1080
        https://cdn.test/high.m3u8

        """

    private static let presentation = """
        <MPD mediaPresentationDuration='PT6S'><BaseURL>https://cdn.test/d/</BaseURL><Period><AdaptationSet>\
        <SegmentTemplate duration='4' media='$RepresentationID$-$Number$.m4s'/>\
        <Representation id='a' height='2160'/><Representation id='b' height='720'/></AdaptationSet></Period></MPD>
        """

    private func served(_ target: String, _ entries: [StockedStore.Entry]) throws -> (RawResponse, Int) {
        let store = try StockedStore(entries)
        let server = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000)
        defer { server.stop() }
        let port = Int(server.port)
        return (try RawClient(port: port).get(target, host: "example-test.localhost:\(port)"), port)
    }

    @Test func `a master playlist offers only the stored rendition, with its address in the mirror`() throws {
        let (answer, port) = try served(
            "/v.m3u8",
            [
                .init(
                    href: "https://example.test/v.m3u8", text: Self.master, type: Self.hls,
                    extra: "ETag: \"1\"\r\nLast-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n"),
                .init(href: "https://cdn.test/low.m3u8", text: "#EXTM3U\n", type: Self.hls),
            ])
        #expect(
            answer.text == """
                #EXTM3U
                #EXT-X-STREAM-INF:BANDWIDTH=1,RESOLUTION=640x360
                http://cdn-test.localhost:\(port)/low.m3u8

                """)
        // A later snapshot may have other renditions.
        #expect(answer["ETag"] == nil && answer["Last-Modified"] == nil)
    }

    @Test func `a playlist without a stored rendition stays whole`() throws {
        let (answer, port) = try served(
            "/v.m3u8", [.init(href: "https://example.test/v.m3u8", text: Self.master, type: Self.hls)])
        #expect(
            answer.text
                == Self.master.replacing("https://cdn.test", with: "http://cdn-test.localhost:\(port)"))
    }

    @Test func `a presentation offers only the stored representation`() throws {
        let (answer, port) = try served(
            "/m.mpd",
            [
                .init(
                    href: "https://example.test/m.mpd", text: Self.presentation, type: "application/dash+xml"),
                .init(href: "https://cdn.test/d/b-1.m4s", text: "1", type: "video/mp4"),
                .init(href: "https://cdn.test/d/b-2.m4s", text: "2", type: "video/mp4"),
            ])
        let expected = Self.presentation.replacing("<Representation id='a' height='2160'/>", with: "")
            .replacing("https://cdn.test", with: "http://cdn-test.localhost:\(port)")
        #expect(answer.text == expected)
    }
}
