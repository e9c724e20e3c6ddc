/// How a body is read. The raw values are stored.
package enum BodyFormat: UInt8, CaseIterable, Sendable {
    /// Nothing is looked for in it.
    case opaque = 0
    case html = 1
    case xhtml = 2
    case css = 3
    case javaScript = 4
    case svg = 5
    case xml = 6
    case json = 7
    case webManifest = 8
    case importMap = 9
    case speculationRules = 10
    case jsonLD = 11
    case hls = 12
    case dash = 13
    case webVTT = 14
    case sitemap = 15
    case feed = 16
    case plainText = 17
}
