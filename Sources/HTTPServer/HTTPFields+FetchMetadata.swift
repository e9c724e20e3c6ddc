package import Web

/// The request headers by which browsers describe a request (Fetch Metadata).
extension HTTPFields {
    /// The use of the response, as the browser reports it; nil if the client is no browser.
    ///
    /// A service worker that forwards a navigation with `fetch(event.request)` requests it with the mode of a
    /// navigation and an empty destination, which no page can do. Browsers keep the workers of windows apart
    /// from those of foreign pages' frames, so this is treated as a window.
    package var fetchDestination: String? {
        let destination = self["Sec-Fetch-Dest"]
        return destination == "empty" && self["Sec-Fetch-Mode"] == "navigate" ? "document" : destination
    }

    /// Whether the response will be shown as a document. Browsers send its destination; other programs are
    /// judged by the media types that they accept.
    package var isNavigation: Bool {
        if let destination = fetchDestination {
            return ["document", "iframe", "frame", "fencedframe"].contains(destination)
        }
        return self["Accept"]?.utf8.contains("text/html".utf8) ?? false
    }

    /// Whether a browser opens a page in a window. False for programs such as curl, for frames, and for pages that a browser
    /// loads in case a person opens them later.
    package var isPageOpening: Bool {
        guard let destination = fetchDestination else {
            // Over plain http, browsers send no `Sec-Fetch-Dest` to other machines, but this with each navigation.
            return self["Upgrade-Insecure-Requests"] == "1" && isNavigation
        }
        return destination == "document" && !(self["Sec-Purpose"]?.hasPrefix("prefetch") ?? false)
    }

    /// The media type that a page expects of a subresource, by the destination of the request. Nil if the
    /// request is a navigation or does not come from a page.
    ///
    /// Error responses use it: a script that expects JSON gets an empty body of that type instead of a text
    /// that it would show as data.
    var expectedTypeOfSubresource: String? {
        guard let destination = fetchDestination, !isNavigation else { return nil }
        switch destination {
        case "script", "worker", "sharedworker", "serviceworker", "audioworklet", "paintworklet":
            return "text/javascript"
        case "style": return "text/css"
        case "image": return "image/svg+xml"
        case "font": return "font/woff2"
        case "audio", "video": return "\(destination)/mp4"
        case "track": return "text/vtt"
        case "manifest": return "application/manifest+json"
        case "json": return "application/json"
        default:
            let acceptsJSON = self["Accept"]?.utf8.contains("json".utf8) ?? false
            return acceptsJSON ? "application/json" : "text/plain"
        }
    }
}
