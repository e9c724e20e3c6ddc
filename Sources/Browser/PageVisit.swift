internal import Web

/// The size and kind of the screen on which a page is shown.
package struct Viewport: Sendable, Equatable {
    /// The width in CSS pixels.
    package var width: Int
    /// The height in CSS pixels.
    package var height: Int
    /// The number of device pixels per CSS pixel.
    package var scale: Double
    var isMobile: Bool

    package init(width: Int, height: Int, scale: Double = 1, isMobile: Bool = false) {
        self.width = width
        self.height = height
        self.scale = scale
        self.isMobile = isMobile
    }

    /// Reads `1280x900` or `390x844@3`. A width below 600 means a phone. Returns nil for anything else and
    /// for sizes outside 16 to 8192.
    package init?(_ text: String) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        let sides = parts[0].split(separator: "x", omittingEmptySubsequences: false)
        guard parts.count <= 2, sides.count == 2, let width = Self.number(sides[0]),
            let height = Self.number(sides[1]), Self.sides.contains(width), Self.sides.contains(height)
        else { return nil }
        var scale = 1.0
        if parts.count == 2 {
            let isPlain = parts[1].utf8.allSatisfy { $0.isASCIIDigit || $0 == 0x2E }
            guard isPlain, let number = Double(parts[1]), (0.25...8).contains(number) else { return nil }
            scale = number
        }
        self.init(width: width, height: height, scale: scale, isMobile: width < 600)
    }

    private static let sides = 16...8192

    private static func number(_ digits: Substring) -> Int? {
        digits.utf8.allSatisfy(\.isASCIIDigit) ? Int(digits) : nil
    }
}

/// The controls of a page that are used, to load the content that they show. Links are not followed and forms are not
/// sent.
package enum Acting: Sendable {
    case never
    /// The search field: it gets the focus and a word of the page.
    case search
    /// The search field, collapsed parts, tabs, menus, and buttons whose names do not say that they change
    /// something.
    case all
}

/// One page to render, how to look at it, and what to collect from it.
package struct PageVisit: Sendable {
    package var url: String
    /// The proxy for all requests of this page, also to loopback, such as `http://127.0.0.1:8080`. If nil,
    /// the browser connects directly, as ``BrowserOptions/networkAccess`` allows.
    package var proxy: String?
    /// The page loads in the first viewport. Each further one is set afterwards, so that the page can request
    /// the assets that it needs there.
    package var viewports = [Viewport(width: 1280, height: 900)]
    /// The name of the browser that scripts and servers see; nil for its own.
    package var userAgent: String?
    /// Whether the page is also shown with dark colours, after the light ones.
    package var seesDark = false
    /// The maximum number of screens to scroll. Scrolling stops earlier at the end of a page that does not
    /// grow.
    package var scroll = 20
    /// The maximum number of views of one document to show, where links name them by a fragment (`#/about`).
    package var maxViews = 1000
    /// The fragments of the only views to show, the first of which the URL has.
    var laterRoutes: [String] = []
    /// How a banner is answered that asks for consent to cookies.
    package var consent = ConsentChoice.leave
    /// Which controls of the page are used.
    package var acting = Acting.never
    /// The controls that were used on other pages. They are not used again.
    package var usedControls: UsedControls?
    /// The group of pages in which controls with the same name at the same place do the same.
    package var controlGroup = ""
    /// Called before the first control is used. Requests from then on may be consequences of that.
    package var willAct: (@Sendable () -> Void)?
    /// Whether to play the beginning of audio and video, if all controls are used.
    package var isDeep = false
    /// Scripts that run in each new document before its own scripts, in frames and workers too.
    package var preludes: [String] = []
    /// Scripts that run once, one after another, when the page has loaded and become quiet.
    package var scripts: [String] = []
    /// The page is quiet when it has sent no requests for this time.
    package var quiet: Duration = .milliseconds(500)
    /// How long a request that receives no data keeps the page from being quiet or loaded.
    package var patience: Duration = .seconds(3)
    /// A script that blocks the page for this time is stopped.
    package var stall: Duration = .seconds(5)
    /// The time limit, from the start of the navigation; each further view of a document adds a second. Then
    /// the page is read as it is.
    package var limit: Duration = .seconds(20)
    /// Whether to ignore links marked `nofollow`, `ugc` or `sponsored`.
    package var ignoresNofollowLinks = false
    /// Whether to ignore links that may change something (`ActionLink`).
    package var ignoresActionLinks = false
    /// Whether the page opens in a window for a person. Larder then stops and answers nothing; the page uses
    /// the browser's own profile. It ends when the person closes the window, or at the time limit. The
    /// outcome contains the profile's cookies.
    package var staysOpen = false
    package var wantsText = false
    package var wantsPicture = false
    /// Whether the picture shows the whole page, up to ``maxPictureHeight``, and not only the viewport.
    package var wantsWholePicture = false
    /// Whether to print the page to PDF.
    package var wantsPDF = false
    /// Whether the page is shown with dark colours from the beginning.
    package var prefersDark = false
    package var wantsDocument = false
    /// Whether to write the page as it is shown as HTML without scripts.
    package var wantsFrozen = false
    /// Whether to record the messages of sockets and event streams.
    package var wantsSockets = false
    /// Whether to read the large entries of `localStorage`. Scripts write them some time after the page has become quiet,
    /// so up to three seconds are waited for the first one.
    package var wantsStorage = false
    /// Whether to collect the cookies that are set at the end.
    package var wantsCookies = false

    /// The maximum height of a picture in device pixels, which Chromium can draw at once.
    package static let maxPictureHeight = 16_384

    package init(url: String) {
        self.url = url
    }

    /// Makes the waits for scripts and servers longer, because a busy machine slows both down by this factor.
    package mutating func extendWaits(by slowness: Double) {
        stall = min(limit, stall * slowness)
        patience = max(patience, min(limit / 2, patience * slowness))
    }

    /// Returns how to show the views that were found after controls had been used, or nil if none was found
    /// then. They are shown in a fresh document, because scripts of the old one may still react to the controls.
    package func visitToLaterViews(of outcome: PageOutcome) -> PageVisit? {
        guard outcome.ending == .complete, let first = outcome.laterRoutes.first else { return nil }
        var visit = PageVisit(url: outcome.address.prefix { $0 != "#" } + first)
        visit.laterRoutes = outcome.laterRoutes
        (visit.proxy, visit.viewports, visit.prefersDark) = (proxy, viewports, prefersDark)
        visit.userAgent = userAgent
        (visit.preludes, visit.scripts, visit.scroll) = (preludes, scripts, scroll)
        (visit.quiet, visit.patience, visit.stall, visit.limit) = (quiet, patience, stall, limit)
        (visit.ignoresNofollowLinks, visit.ignoresActionLinks) = (ignoresNofollowLinks, ignoresActionLinks)
        return visit
    }
}
