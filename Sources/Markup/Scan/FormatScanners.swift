extension BodyFormat {
    /// Finds the links of a text in this format: a whole body, or a script or stylesheet inside one.
    ///
    /// A scanner adds each link to the sink with its place in the text; places ascend. A format without a scanner has
    /// no links.
    func scan(_ text: SourceText, _ sink: LinkSink) {
        switch self {
        case .html: HTMLScanner.scan(text, sink)
        case .css: CSSScanner.scan(text, sink)
        case .javaScript: ScriptScanner.scan(text, sink)
        case .xhtml, .svg, .xml, .json, .webManifest, .importMap, .speculationRules, .jsonLD, .hls, .dash, .webVTT,
            .sitemap, .feed:
            scanOther(text, sink)
        case .plainText, .opaque: break
        }
    }
}
