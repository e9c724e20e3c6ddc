import Fetch
import Testing
import Web

@Suite struct PartialBodyTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let later = "Sun, 06 Nov 1994 08:49:38 GMT"

    /// RFC 9110, sections 8.8.2.2 and 13.1.5.
    @Test(
        arguments: [
            (["ETag": #""a""#], #""a""#),
            (["ETag": #"W/"a""#], nil),
            (["ETag": #"W/"a""#, "Last-Modified": date, "Date": later], nil),
            (["ETag": #""a""#, "Last-Modified": date, "Date": later], #""a""#),
            (["Last-Modified": date, "Date": later], date),
            (["Last-Modified": date, "Date": date], nil),
            (["Last-Modified": "yesterday", "Date": later], nil),
            (["Last-Modified": date], nil),
            ([:], nil),
        ] as [([String: String], String?)])
    func `only what tells versions apart is a condition`(names: [String: String], condition: String?) {
        let fields = HTTPFields(names.map { HTTPFields.Field(name: $0, value: $1) })
        #expect(PartialBody(path: "", byteCount: 1, fields: fields).condition == condition)
    }
}
