package import Store
internal import System
package import Web

/// Renders pages in a browser.
package protocol PageRenderer: Sendable {
    /// The name and version of the browser, such as `Chrome/150.0.1`; nil until it has reported them.
    var version: String? { get }

    /// Renders a page, and calls `done` once, on any thread.
    ///
    /// - Parameters:
    ///   - isBrief: Gives the page less time, because pages with similar URLs hardly ever finish loading.
    ///   - controlGroup: The group of pages that have the same controls, each of which is used once, as the
    ///     settings say; nil if no control is used.
    func render(
        _ page: UInt32, at url: WebURL, isBrief: Bool, controlGroup: String?,
        done: @escaping @Sendable (RenderedPage) -> Void)

    /// Ends the rendering of all pages. Returns when no part of the renderer is running any more.
    func close()
}

/// How many pages are rendered at once, and with which renderer.
package struct RenderPlan: Sendable {
    package var mode: RenderMode
    /// The maximum number of pages that are rendered at once.
    package var tabs: Int
    /// Starts the browser in the background, because pages will most likely be rendered.
    package var prepare: @Sendable () -> Void = {}
    /// Creates the renderer before the first page is rendered. The requests of pages go through the channel.
    /// Throws the reason if pages cannot be rendered.
    package var renderer: @Sendable (RenderChannel) throws(RenderFailure) -> any PageRenderer

    package init(
        mode: RenderMode, tabs: Int,
        renderer: @escaping @Sendable (RenderChannel) throws(RenderFailure) -> any PageRenderer
    ) {
        self.mode = mode
        self.tabs = tabs
        self.renderer = renderer
    }
}

/// The reason why no page can be rendered, such as a missing browser.
package struct RenderFailure: Error, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// The result of rendering a page.
package struct RenderedPage: Sendable {
    package var ending: RenderEnding
    /// Details of a failure.
    package var detail: String?
    /// The links of the document after its scripts have run.
    package var links: [WebURL] = []
    /// The text that the page shows.
    package var text: String?
    /// Whether the page was still loading when its text was read.
    package var isTextPartial = false
    /// A screenshot as a PNG.
    package var picture: [UInt8]?
    /// The page as it was shown, as HTML without scripts.
    package var frozen: String?
    /// The messages of its sockets and event streams, as JSON; nil without any.
    package var liveMessages: [UInt8]?
    /// The cookies that scripts of the page set, as lines of a Netscape cookie file.
    package var cookies: [String] = []
    /// The URLs that the page requested and received without a request to the crawl.
    package var urlsFromSnapshot: [WebURL] = []
    /// How often the page did something that is not part of loading, by kind.
    package var notices: [String: Int] = [:]

    package init(ending: RenderEnding) { self.ending = ending }
}

/// How the rendering of a page ended.
public enum RenderEnding: String, Sendable, CaseIterable {
    /// The page has loaded.
    case complete
    /// The time was over while it was still loading.
    case outOfTime
    /// The page's scripts did not end.
    case hung
    /// The page crashed.
    case crashed
    /// The response was a download, not a page.
    case download
    /// The browser failed.
    case failed
}

/// Passes the requests and results of rendered pages to the crawl. Any thread may use it.
package final class RenderChannel: Sendable {
    /// A message of a rendered page to the crawl.
    enum Message: Sendable {
        /// The page sends a request, and receives the result by the closure.
        case requested(page: UInt32, PageRequest, @Sendable (PageRequestResult) -> Void)
        /// The rendering of the page has ended.
        case rendered(page: UInt32, RenderedPage)
    }

    /// The folder of the store, from which pages read stored responses.
    package let folder: StoreFolder
    /// Whether requests are sent with credentials.
    package let hasSession: Bool
    /// The snapshot that stores the responses.
    package let snapshot: Int64
    private let messages: Inbox<Message>

    init(
        _ folder: StoreFolder, snapshot: Int64, hasSession: Bool = false, wake: @escaping @Sendable () -> Void
    ) {
        self.folder = folder
        self.hasSession = hasSession
        self.snapshot = snapshot
        messages = Inbox(wake: wake)
    }

    /// Sends a request of a page that is being rendered to the crawl, because the snapshot has no response to it yet.
    ///
    /// `answer` is called on any thread. It is not called if the crawl ends while the request is in progress.
    package func send(
        _ request: PageRequest, of page: UInt32, answer: @escaping @Sendable (PageRequestResult) -> Void
    ) {
        if !messages.put(.requested(page: page, request, answer)) { answer(.blocked("the crawl has ended")) }
    }

    /// Reports that the rendering of a page has ended.
    func report(_ page: UInt32, _ rendered: RenderedPage) { messages.put(.rendered(page: page, rendered)) }

    /// Takes all messages, on the crawl's thread.
    func takeAll() -> [Message] { messages.takeAll() }

    /// Accepts no more messages, and answers the requests among them.
    func close() {
        messages.close()
        for case .requested(_, _, let answer) in messages.takeAll() {
            answer(.blocked("the crawl has ended"))
        }
    }
}
