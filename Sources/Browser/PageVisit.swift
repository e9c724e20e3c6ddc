internal import Web

/// What a page is shown in.
package struct Viewport: Sendable, Equatable {
    /// In the pixels of style sheets.
    package var width: Int
    package var height: Int
    /// How many pixels of the device make one of these.
    package var scale: Double
    package var isMobile: Bool

    package init(width: Int, height: Int, scale: Double = 1, isMobile: Bool = false) {
        self.width = width
        self.height = height
        self.scale = scale
        self.isMobile = isMobile
    }

    /// Reads `1280x900` and `390x844@3`; what is narrower than 600 is a phone. Nil for anything else, and for
    /// sizes that no device has.
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

/// One page that is to be rendered: where it is, how it is looked at, and what is wanted of it.
package struct PageVisit: Sendable {
    package var url: String
    /// `http://127.0.0.1:8080`: asked for everything that this page asks for, loopback too. Nil: the browser
    /// asks by itself, and reaches loopback alone.
    package var proxy: String?
    /// The first one loads the page; each further one is set afterwards, with a moment for what it asks for.
    package var viewports = [Viewport(width: 1280, height: 900)]
    /// Also shows it to who prefers dark colours, after the light ones.
    package var seesDark = false
    /// How many screens it is scrolled at most; earlier where it ends and nothing grows.
    package var scroll = 20
    /// How many views of one document are shown, where fragments name them (`#/about`).
    package var routes = 1000
    /// Opens details, tabs and menus, and plays the beginning of sound and film. It goes nowhere, and sends
    /// no form.
    package var isDeep = false
    /// Run in each new document before its own scripts, in frames and workers too.
    package var preludes: [String] = []
    /// Run once, in turn, when the page has loaded and has been quiet.
    package var scripts: [String] = []
    /// A page that has asked for nothing for so long is quiet.
    package var quiet: Duration = .milliseconds(500)
    /// How long a request without any byte keeps a page from being quiet, or from loading.
    package var patience: Duration = .seconds(3)
    /// A script that lets nobody else run for so long is stopped.
    package var stall: Duration = .seconds(5)
    /// All in all; then what is there is taken.
    package var limit: Duration = .seconds(20)
    /// Links that say nofollow, ugc or sponsored are none.
    package var leavesMarkedLinks = false
    /// It is for a person, in a window: nothing is answered or stopped for him, it has what the browser's own
    /// profile has, and ends when he closes it, or at its limit. The outcome has the profile's cookies.
    package var staysOpen = false
    package var wantsText = false
    package var wantsPicture = false
    /// Of a picture: all of the page, however high, up to ``pictureHeight``.
    package var wantsWholePicture = false
    /// The page as a PDF, as it is printed.
    package var wantsPaper = false
    /// It is shown to somebody who prefers dark colours, from the beginning.
    package var prefersDark = false
    package var wantsDocument = false
    /// Those that the page ends with, whoever set them.
    package var wantsCookies = false

    /// In pixels of the device: what Chromium draws at once.
    package static let pictureHeight = 16_384

    package init(url: String) {
        self.url = url
    }
}
