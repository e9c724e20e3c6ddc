package import HTTPServer
internal import Reports
internal import Store
internal import Synchronization
internal import System
internal import Web

/// The counters of one server thread. Only that thread increases them; any thread may read.
///
/// Each thread has counters of its own, so that requests of two threads never write to the same counter.
/// `ServingTotals` adds them up. The order of the atomic operations is relaxed: readers need no consistent set of values.
package final class ServingCounts: Sendable {
    /// The counters of a thread.
    package enum Counter: Int, CaseIterable {
        /// Sources of responses.
        case memory, store, validated, network, missed, tunnel
        /// Classes of status codes.
        case informational, success, redirect, clientError, serverError
        /// The number of bytes in the bodies of responses.
        case bodyBytes
        /// Requests for pages and assets that are not stored.
        case misses
    }

    /// A reference to a counter, because an array cannot contain noncopyable values.
    private final class CounterCell: Sendable {
        let value = Atomic<UInt64>(0)
    }

    /// The counters, by the raw values of `Counter`.
    private let cells = Counter.allCases.map { _ in CounterCell() }

    /// Increases a counter. Negative counts are ignored.
    package func increase(_ counter: Counter, _ count: Int = 1) {
        cells[counter.rawValue].value.add(UInt64(clamping: count), ordering: .relaxed)
    }

    /// The value of a counter.
    package subscript(_ counter: Counter) -> UInt64 { cells[counter.rawValue].value.load(ordering: .relaxed) }

    /// Counts an answer that was sent from memory.
    package func record(_ answer: Answer) { recordResponse(answer.status, answer.bodyByteCount, .memory) }

    /// Counts a reply. A connection that was taken over has no answer to count.
    package func record(_ reply: Reply) {
        guard reply.takeover == nil else { return }
        let (status, byteCount) = reply.streamed ?? (reply.answer.status, reply.answer.bodyByteCount)
        let source: Counter =
            switch reply.source {
            case .store: .store
            case .validated: .validated
            case .network: .network
            case .missed: .missed
            case .tunnel: .tunnel
            }
        recordResponse(status, byteCount, source)
    }

    /// Counts a response in its source, its status class and its size.
    private func recordResponse(_ status: Int, _ byteCount: Int, _ source: Counter) {
        increase(source)
        increase(.bodyBytes, byteCount)
        switch status / 100 {
        case 1: increase(.informational)
        case 2: increase(.success)
        case 3: increase(.redirect)
        case 4: increase(.clientError)
        default: increase(.serverError)
        }
    }
}

/// The counters of all threads. Thread-safe.
package final class ServingTotals: Sendable {
    private let threads = Mutex<[ServingCounts]>([])

    package init() {}

    /// Adds the counters of one more thread.
    package func makeCounts() -> ServingCounts {
        let counts = ServingCounts()
        threads.withLock { $0.append(counts) }
        return counts
    }

    /// The sum of a counter over all threads.
    package subscript(_ kind: ServingCounts.Counter) -> UInt64 {
        threads.withLock { $0.reduce(0) { $0 &+ $1[kind] } }
    }
}

/// A text in the Prometheus format, version 0.0.4.
struct MetricsText {
    /// The type of a metric.
    enum MetricType: String {
        case counter, gauge
    }

    /// The `Content-Type` of the text.
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""

    /// Adds a metric with one sample for each set of labels. Without samples, nothing is added.
    ///
    /// - Parameters:
    ///   - name: the name, without the prefix `larder_`.
    ///   - help: the description of the metric.
    ///   - samples: labels and value of each sample.
    mutating func add(
        _ name: String, _ type: MetricType, _ help: String,
        _ samples: [(labels: [(name: String, value: String)], value: Double)]
    ) {
        guard !samples.isEmpty else { return }
        text += "# HELP larder_\(name) \(Self.escaped(help, quotes: false))\n# TYPE larder_\(name) \(type)\n"
        for (labels, value) in samples {
            let list = labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
            text += "larder_\(name)\(list.isEmpty ? "" : "{\(list.joined(separator: ","))}") "
            text += Self.number(value) + "\n"
        }
    }

    /// Adds a metric without labels.
    mutating func add(_ name: String, _ type: MetricType, _ help: String, _ value: Double) {
        add(name, type, help, [([], value)])
    }

    /// Formats whole numbers without a fraction, as long as a `Double` represents them exactly.
    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    }

    /// Escapes a text for a line of help, or for the value of a label (`quotes`).
    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
        if quotes { escaped = escaped.replacing("\"", with: "\\\"") }
        return escaped
    }
}

extension Portal {
    /// Metrics of the server since it started, and of the store.
    func metrics(_ reader: StoreReader) throws(StoreError) -> Answer {
        var text = MetricsText()
        text.add(
            "info", .gauge, "The server and its version.", [([("version", Product.version)], 1)])
        if let serverMetrics { addServerMetrics(serverMetrics, to: &text) }
        try addStoreMetrics(reader, to: &text)
        if serverMetrics?.updates != nil {
            let now = HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch())
            text.add(try cache.channels(reader, at: now))
        }
        return Answer(
            status: 200,
            fields: [("Content-Type", MetricsText.contentType), ("Cache-Control", "no-store")]
                + securityFields,
            body: Array(text.text.utf8))
    }

    /// Adds the metrics of the server and of the proxy beside it.
    private func addServerMetrics(_ serverMetrics: ServerMetrics, to text: inout MetricsText) {
        typealias Labels = [(name: String, value: String)]
        let totals = serverMetrics.totals
        func samples(
            _ label: String, _ kinds: [(String, ServingCounts.Counter)]
        ) -> [(labels: Labels, value: Double)] {
            kinds.map { (labels: [(name: label, value: $0.0)], value: Double(totals[$0.1])) }
        }
        text.add(
            "requests_total", .counter, "Requests, by the source of the response.",
            samples(
                "source",
                [
                    ("memory", .memory), ("larder", .store), ("validated", .validated),
                    ("network", .network), ("missed", .missed),
                ]))
        text.add(
            "responses_total", .counter, "Responses, by the first digit of their status.",
            samples(
                "class",
                [("2xx", .success), ("3xx", .redirect), ("4xx", .clientError), ("5xx", .serverError)]))
        text.add(
            "response_body_bytes_total", .counter, "Bytes in the bodies of responses.",
            Double(totals[.bodyBytes]))
        text.add(
            "misses_total", .counter, "Requests for URLs that are not stored.", Double(totals[.misses]))
        text.add(
            "memory_bytes", .gauge, "Memory that cached responses use.",
            Double(serverMetrics.memoryByteCount()))
        text.add(
            "store_generation", .counter, "Changes of the store that the server noticed.",
            Double(serverMetrics.generation()))
        text.add(
            "store_readable", .gauge, "Whether the store could be read at the last check.",
            serverMetrics.isReadable() ? 1 : 0)
        text.add(
            "rejected_responses_total", .counter,
            "Responses that did not replace stored ones, because they looked like those of a captive portal or a broken server.",
            Double(serverMetrics.rejectedCount()))
        if let figures = serverMetrics.updates?() { text.add(figures) }
        guard let totals = traffic?.log.totals else { return }
        text.add(
            "proxy_requests_total", .counter, "Requests to the proxy, by the source of the response.",
            ProxyLog.Source.allCases.map { ([("source", $0.rawValue)], Double(totals[$0])) })
        text.add(
            "proxy_body_bytes_total", .counter, "Bytes in the bodies of the proxy's responses.",
            Double(totals.byteCount))
    }

    /// Adds the metrics of the store: its sites, and the responses of each site's live and newest snapshot.
    private func addStoreMetrics(_ reader: StoreReader, to text: inout MetricsText) throws(StoreError) {
        if let lag = try reader.replicationLagSeconds() {
            text.add(
                "store_lag_seconds", .gauge, "How far the standby database that is read lags behind.", lag)
        }
        let sites = try cache.sites(reader)
        text.add("sites", .gauge, "Stored sites.", Double(sites.count))
        if !reader.hidesPrivate {
            text.add(
                "noted_misses", .gauge, "Recorded misses that the next prefetch fetches.",
                Double(try reader.recordedMisses().count))
        }
        typealias Sample = (labels: [(name: String, value: String)], value: Double)
        var (responses, started, finished): ([Sample], [Sample], [Sample]) = ([], [], [])
        for site in sites {
            // The live snapshot and the newest one.
            for snapshot in site.snapshots
            where snapshot.id == site.published || snapshot == site.snapshots.last {
                let labels = [
                    (name: "site", value: site.name), (name: "snapshot", value: "\(snapshot.name)"),
                    (
                        name: "state",
                        value: snapshot.id == site.published
                            ? "live" : snapshot.finished == nil ? "open" : "kept"
                    ),
                ]
                for (kind, count) in try cache.kindCounts(ofSnapshot: snapshot.id, reader) {
                    responses.append((labels + [(name: "kind", value: kind)], Double(count)))
                }
                started.append((labels, Double(snapshot.started)))
                if let end = snapshot.finished { finished.append((labels, Double(end))) }
            }
        }
        text.add(
            "snapshot_responses", .gauge,
            "Responses of a snapshot: pages, assets, redirects, gone (404, 410) and other failures.",
            responses)
        text.add(
            "snapshot_started_seconds", .gauge, "When a snapshot was started, in seconds since 1970.", started
        )
        text.add(
            "snapshot_finished_seconds", .gauge, "When a snapshot was finished, in seconds since 1970.",
            finished)
    }
}

/// The measurements of the server that the portal belongs to. The closures read the current values from any thread.
package struct ServerMetrics: Sendable {
    package let totals: ServingTotals
    /// The size of the responses in memory.
    package let memoryByteCount: @Sendable () -> Int
    /// The number of changes of the store that the server noticed.
    package let generation: @Sendable () -> Int
    /// Whether the store could be read at the last check.
    package let isReadable: @Sendable () -> Bool
    /// The number of responses that did not replace stored ones, because they looked wrong.
    package let rejectedCount: @Sendable () -> UInt64
    /// The figures of the update server; nil if there is none.
    package let updates: (@Sendable () -> UpdateFigures)?

    package init(
        totals: ServingTotals, memoryByteCount: @escaping @Sendable () -> Int,
        generation: @escaping @Sendable () -> Int, isReadable: @escaping @Sendable () -> Bool,
        rejectedCount: @escaping @Sendable () -> UInt64,
        updates: (@Sendable () -> UpdateFigures)? = nil
    ) {
        self.updates = updates
        (self.totals, self.memoryByteCount, self.generation) = (totals, memoryByteCount, generation)
        (self.isReadable, self.rejectedCount) = (isReadable, rejectedCount)
    }
}

extension PortalCache {
    /// The number of responses of each kind in a snapshot.
    func kindCounts(ofSnapshot snapshot: Int64, _ reader: StoreReader) throws(StoreError) -> [(String, Int)] {
        if let known = kindCounts[snapshot] { return known }
        var found = ["page": 0, "asset": 0, "redirect": 0, "gone": 0, "failure": 0]
        for row in try reader.statusCounts(ofSnapshot: snapshot) {
            let kind =
                switch row.status {
                case ..<300: row.role == 0 ? "page" : "asset"
                case ..<400: "redirect"
                case 404, 410: "gone"
                default: "failure"
                }
            found[kind, default: 0] += row.count
        }
        let list = found.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        kindCounts[snapshot] = list
        return list
    }
}
