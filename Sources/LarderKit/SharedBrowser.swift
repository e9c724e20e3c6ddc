internal import Browser
internal import System

/// A browser that starts in the background, and that a prefetch and the rehearsal after it share.
final class SharedBrowser: Sendable {
    typealias Start = @Sendable () throws(BrowserError) -> Browser

    private enum State {
        case none
        case starting
        case running(Browser)
        case failed(BrowserError)
    }

    private let state = Monitor(State.none)

    /// Begins to start the browser, unless it is running or starting. Returns at once.
    func prepare(_ start: @escaping Start) {
        let isFirst = state.change { state in
            guard case .none = state else { return false }
            state = .starting
            return true
        }
        guard isFirst else { return }
        do throws(SystemError) {
            try NamedThread.start("larder-launch") { [self] in run(start) }
        } catch {
            run(start)
        }
    }

    private func run(_ start: Start) {
        do throws(BrowserError) {
            let browser = try start()
            state.change { $0 = .running(browser) }
        } catch {
            state.change { $0 = .failed(error) }
        }
    }

    /// The running browser. Starts it if that has not been done, and waits until it answers.
    func browser(_ start: @escaping Start) throws(BrowserError) -> Browser {
        prepare(start)
        let result = state.wait { state -> Result<Browser, BrowserError>? in
            switch state {
            case .none, .starting: nil
            case .running(let browser): .success(browser)
            case .failed(let error): .failure(error)
            }
        }
        return try result.get()
    }

    /// Ends the browser, after it has started. The next use starts another one.
    func close() {
        let browser = state.wait { state -> Browser?? in
            switch state {
            case .starting: return nil
            case .none, .failed: return .some(nil)
            case .running(let browser):
                state = .none
                return .some(browser)
            }
        }
        browser?.close()
    }
}
