internal import Browser
internal import System
internal import TLS

/// A browser that a prefetch and the rehearsal after it share. It trusts the certificates of the store's authority, and
/// gets less processor time than the crawl. May be used from any thread; a monitor protects the state.
///
/// The states: `none`, until `prepare` or `browser` is called; `starting`, while one thread starts it; then `running` or
/// `failed`. `close` sets `none` from every state; it waits for the end of `starting` first. Only the thread
/// that set `starting` may leave that state, so that no browser is started twice.
final class SharedBrowser: Sendable {
    private enum BrowserState {
        case none
        case starting
        case running(Browser)
        case failed(BrowserError)
    }

    private let program: String?
    private let authorityFolder: String
    private let state = Monitor(BrowserState.none)

    /// - Parameters:
    ///   - program: the path of the browser; nil for the first one that is found.
    ///   - authorityFolder: the folder with the store's authority.
    init(program: String?, authorityFolder: String) {
        (self.program, self.authorityFolder) = (program, authorityFolder)
    }

    /// Starts the browser in the background, unless it is running or starting.
    func prepare() {
        let isFirst = state.change { state in
            guard case .none = state else { return false }
            state = .starting
            return true
        }
        guard isFirst else { return }
        do throws(SystemError) {
            try NamedThread.start("larder-launch") { [self] in start() }
        } catch {
            start()
        }
    }

    private func start() {
        do throws(BrowserError) {
            let browser = try makeBrowser()
            state.change { $0 = .running(browser) }
        } catch {
            state.change { $0 = .failed(error) }
        }
    }

    private func makeBrowser() throws(BrowserError) -> Browser {
        var options: BrowserOptions
        do throws(LarderError) {
            options = BrowserOptions(executable: try BrowserProgram.resolve(program))
        } catch {
            throw Self.error(error)
        }
        do throws(TLSError) {
            options.keyDigests = [try CertificateAuthority.openOrCreate(in: authorityFolder).keyDigest]
        } catch {
            throw Self.error(error)
        }
        // The crawl must not wait for the browser's processes.
        options.niceness = 5
        return try Browser(options)
    }

    private static func error(_ error: some CustomStringConvertible) -> BrowserError {
        BrowserError(doing: "starting the browser", why: error.description)
    }

    /// The running browser. Starts it if it is not running, and waits until it answers.
    func browser() throws(BrowserError) -> Browser {
        while true {
            prepare()
            let result = state.wait { state -> Result<Browser, BrowserError>?? in
                switch state {
                case .starting: nil
                // Another thread has just closed it.
                case .none: .some(nil)
                case .running(let browser): .success(browser)
                case .failed(let error): .failure(error)
                }
            }
            guard let browser = try result?.get() else { continue }
            guard browser.hasGivenUp else { return browser }
            close()
        }
    }

    /// Ends the browser; if it is starting, when it has started. The next use starts another one.
    func close() {
        let browser = state.wait { state -> Browser?? in
            if case .starting = state { return nil }
            defer { state = .none }
            if case .running(let browser) = state { return browser }
            return .some(nil)
        }
        browser?.close()
    }
}
