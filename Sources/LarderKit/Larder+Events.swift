internal import Check
public import Crawl
public import Prefetch

/// An element of the sequence of a running prefetch, update or preload.
public enum PrefetchEvent<Report: Sendable>: Sendable {
    /// The progress so far.
    case progress(PrefetchProgress)
    /// The report. It is the last element.
    case finished(Report)
}

/// Progress as an asynchronous sequence. The calls do the same as those without `Events` in their name.
///
/// The run begins with the call. It stops soon when the loop over the sequence ends early, when the task of the loop is
/// cancelled, or when the sequence is released. The responses that were received by then are stored, and the next run
/// continues. The sequence has no report then; use the calls with a `progress` callback to get the report of a cancelled
/// run.
///
/// A loop that is slower than the run receives only the latest progress, and always the report. A `progress` callback in
/// the options is called too.
extension Larder {
    /// The events of a prefetch: its progress about ten times a second, and its report as the last element.
    ///
    /// ```swift
    /// for try await event in larder.prefetchEvents(["https://example.com/"]) {
    ///     switch event {
    ///     case .progress(let now): print(now.pages.done, now.pages.queued)
    ///     case .finished(let report): print(report.pages, report.missing.count)
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - urls: the start URLs. The first one is the name of the site.
    ///   - options: scope, limits, network and cache policy.
    /// - Returns: A sequence for one loop. It throws the `LarderError` that `prefetch` throws.
    public func prefetchEvents(
        _ urls: [String], options: PrefetchOptions = PrefetchOptions()
    ) -> AsyncThrowingStream<PrefetchEvent<PrefetchReport>, any Error> {
        Self.events { (receive) throws(LarderError) in
            try await prefetch(urls, options: options.reporting(to: receive))
        }
    }

    /// The events of a prefetch of the site that a manifest describes.
    ///
    /// - Parameters:
    ///   - manifest: the path or URL of the manifest.
    ///   - base: the URL against which the manifest's URLs are resolved, as for `prefetch`.
    ///   - options: the options of the prefetch. The manifest's settings override them, except for headers.
    /// - Returns: A sequence for one loop. It throws the `LarderError` that `prefetch` throws.
    public func prefetchEvents(
        manifest: String, base: String? = nil, options: PrefetchOptions = PrefetchOptions()
    ) -> AsyncThrowingStream<PrefetchEvent<PrefetchReport>, any Error> {
        Self.events { (receive) throws(LarderError) in
            try await prefetch(manifest: manifest, base: base, options: options.reporting(to: receive))
        }
    }

    /// The events of an update of stored sites, one after another. The progress names its site. The last element has a
    /// result for each site, as `updateEach` returns them: a site that fails does not end the sequence.
    ///
    /// - Parameters:
    ///   - sites: names, URLs or hosts of sites; empty for all sites.
    ///   - options: network, limits and cache policy. The scope is that of each site.
    /// - Returns: A sequence for one loop. It throws the `LarderError` that `updateEach` throws.
    public func updateEvents(
        _ sites: [String] = [], options: PrefetchOptions = PrefetchOptions()
    ) -> AsyncThrowingStream<PrefetchEvent<[SiteUpdate]>, any Error> {
        Self.events { (receive) throws(LarderError) in
            try await updateEach(sites, options: options.reporting(to: receive))
        }
    }

    /// The events of a preload of the bundles that a manifest lists.
    ///
    /// - Parameters:
    ///   - manifest: the path or URL of the manifest.
    ///   - options: the options of the preload.
    /// - Returns: A sequence for one loop. It throws the `LarderError` that `preload` throws.
    public func preloadEvents(
        _ manifest: String, options: PreloadOptions = PreloadOptions()
    ) -> AsyncThrowingStream<PrefetchEvent<PreloadReport>, any Error> {
        Self.events { (receive) throws(LarderError) in
            var options = options
            options.progress = receive.after(options.progress)
            return try await preload(manifest, options: options)
        }
    }

    /// Begins a run in a task of its own.
    ///
    /// The stream buffers only its newest element, so that a slow loop needs no memory. That loses no report, because the
    /// report is the last element.
    private static func events<Report: Sendable>(
        _ run: @escaping @Sendable (ProgressReceiver) async throws(LarderError) -> Report
    ) -> AsyncThrowingStream<PrefetchEvent<Report>, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: PrefetchEvent<Report>.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        let task = Task {
            do throws(LarderError) {
                let report = try await run(ProgressReceiver { continuation.yield(.progress($0)) })
                continuation.yield(.finished(report))
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }
}

/// Receives the progress of a run for the sequence of its events.
private struct ProgressReceiver: Sendable {
    let receive: @Sendable (PrefetchProgress) -> Void

    /// A callback that calls the user's own callback first, if there is one.
    func after(
        _ callback: (@Sendable (PrefetchProgress) -> Void)?
    ) -> @Sendable (PrefetchProgress) -> Void {
        { progress in
            callback?(progress)
            receive(progress)
        }
    }
}

extension PrefetchOptions {
    fileprivate func reporting(to receiver: ProgressReceiver) -> PrefetchOptions {
        var options = self
        options.progress = receiver.after(progress)
        return options
    }
}
