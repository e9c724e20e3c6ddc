internal import Store
internal import Synchronization
internal import Web

/// What one server thread has answered. It adds, and any thread reads.
final class ServingCounts: Sendable {
    enum Kind: Int, CaseIterable {
        /// Where answers came from.
        case memory, larder, validated, network, missed, tunnel
        /// How they began.
        case informational, success, redirect, clientError, serverError
        case bodyBytes
        /// Addresses of pages and of what they need that are not held.
        case misses
    }

    private final class Cell: Sendable {
        let value = Atomic<UInt64>(0)
    }

    private let cells = Kind.allCases.map { _ in Cell() }

    func add(_ kind: Kind, _ count: Int = 1) {
        cells[kind.rawValue].value.add(UInt64(clamping: count), ordering: .relaxed)
    }

    subscript(_ kind: Kind) -> UInt64 { cells[kind.rawValue].value.load(ordering: .relaxed) }

    func note(_ answer: Answer) { note(answer.status, answer.bodyByteCount, .memory) }

    func note(_ reply: Reply) {
        guard reply.takeover == nil else { return }
        let (status, byteCount) = reply.streamed ?? (reply.answer.status, reply.answer.bodyByteCount)
        let source: Kind =
            switch reply.source {
            case .larder: .larder
            case .validated: .validated
            case .network: .network
            case .missed: .missed
            case .tunnel: .tunnel
            }
        note(status, byteCount, source)
    }

    private func note(_ status: Int, _ byteCount: Int, _ source: Kind) {
        add(source)
        add(.bodyBytes, byteCount)
        switch status / 100 {
        case 1: add(.informational)
        case 2: add(.success)
        case 3: add(.redirect)
        case 4: add(.clientError)
        default: add(.serverError)
        }
    }
}

/// Those of all threads. Any thread may use it.
final class ServingTotals: Sendable {
    private let threads = Mutex<[ServingCounts]>([])

    /// For one more thread.
    func counts() -> ServingCounts {
        let counts = ServingCounts()
        threads.withLock { $0.append(counts) }
        return counts
    }

    subscript(_ kind: ServingCounts.Kind) -> UInt64 {
        threads.withLock { $0.reduce(0) { $0 &+ $1[kind] } }
    }
}

/// A text in Prometheus' format, version 0.0.4: families of samples, each with what it is.
struct MetricsText {
    enum Kind: String {
        case counter, gauge
    }

    static let type = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""

    /// - Parameter samples: each by its labels, with its value.
    mutating func add(
        _ name: String, _ kind: Kind, _ help: String,
        _ samples: [(labels: [(name: String, value: String)], value: Double)]
    ) {
        guard !samples.isEmpty else { return }
        text += "# HELP larder_\(name) \(Self.escaped(help, quotes: false))\n# TYPE larder_\(name) \(kind)\n"
        for (labels, value) in samples {
            let list = labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
            text += "larder_\(name)\(list.isEmpty ? "" : "{\(list.joined(separator: ","))}") "
            text += Self.number(value) + "\n"
        }
    }

    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Double) {
        add(name, kind, help, [([], value)])
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
        if quotes { escaped = escaped.replacing("\"", with: "\\\"") }
        return escaped
    }
}

extension Portal {
    /// What the server did since it began, and what the store holds.
    func metrics(_ reader: StoreReader) throws(StoreError) -> Answer {
        var text = MetricsText()
        text.add(
            "info", .gauge, "The larder that answers.", [([("version", Product.version)], 1)])
        if let figures { add(figures, to: &text) }
        try add(reader, to: &text)
        return Answer(
            status: 200,
            fields: [("Content-Type", MetricsText.type), ("Cache-Control", "no-store")] + fields,
            body: Array(text.text.utf8))
    }

    private func add(_ figures: PortalFigures, to text: inout MetricsText) {
        typealias Labels = [(name: String, value: String)]
        let totals = figures.totals
        func samples(
            _ label: String, _ kinds: [(String, ServingCounts.Kind)]
        ) -> [(labels: Labels, value: Double)] {
            kinds.map { (labels: [(name: label, value: $0.0)], value: Double(totals[$0.1])) }
        }
        text.add(
            "requests_total", .counter, "Requests that were answered, by where the answer came from.",
            samples(
                "source",
                [
                    ("memory", .memory), ("larder", .larder), ("validated", .validated),
                    ("network", .network), ("missed", .missed),
                ]))
        text.add(
            "responses_total", .counter, "Answers, by the first digit of their status.",
            samples(
                "class",
                [("2xx", .success), ("3xx", .redirect), ("4xx", .clientError), ("5xx", .serverError)]))
        text.add(
            "response_body_bytes_total", .counter, "Bytes of the bodies of answers.",
            Double(totals[.bodyBytes]))
        text.add(
            "misses_total", .counter, "Requests for what is not held.", Double(totals[.misses]))
        text.add(
            "memory_bytes", .gauge, "What answers take that are kept ready.",
            Double(figures.memoryByteCount()))
        text.add(
            "store_generation", .counter, "Changes of the store that were seen.",
            Double(figures.generation()))
        text.add(
            "store_readable", .gauge, "Whether the store could be read at the last look.",
            figures.isReadable() ? 1 : 0)
        text.add(
            "held_back_total", .counter,
            "Responses that did not replace stored ones, since they look like those of a captive portal or a broken server.",
            Double(figures.heldBackCount()))
        guard let counts = traffic?.log.counts else { return }
        text.add(
            "proxy_requests_total", .counter, "Requests to the proxy, by where the answer came from.",
            PassLog.Source.allCases.map { ([("source", $0.rawValue)], Double(counts[$0])) })
        text.add(
            "proxy_body_bytes_total", .counter, "Bytes of the bodies that passed through the proxy.",
            Double(counts.byteCount))
    }

    private func add(_ reader: StoreReader, to text: inout MetricsText) throws(StoreError) {
        if let behind = try reader.secondsBehind() {
            text.add(
                "store_lag_seconds", .gauge, "How far the standby is behind that is read from.", behind)
        }
        let sites = try memory.sites(reader)
        text.add("sites", .gauge, "Sites that are held.", Double(sites.count))
        if !reader.hidesPrivate {
            text.add(
                "noted_misses", .gauge, "Addresses that were missed, and wait for the next prefetch.",
                Double(try reader.notedMisses().count))
        }
        typealias Sample = (labels: [(name: String, value: String)], value: Double)
        var (responses, started, finished): ([Sample], [Sample], [Sample]) = ([], [], [])
        for site in sites {
            // What is served, and what is being fetched.
            for visit in site.visits where visit.id == site.published || visit == site.visits.last {
                let labels = [
                    (name: "site", value: site.name), (name: "visit", value: "\(visit.id)"),
                    (
                        name: "state",
                        value: visit.id == site.published ? "served" : visit.finished == nil ? "open" : "kept"
                    ),
                ]
                for (kind, count) in try memory.counts(ofVisit: visit.id, reader) {
                    responses.append((labels + [(name: "kind", value: kind)], Double(count)))
                }
                started.append((labels, Double(visit.started)))
                if let end = visit.finished { finished.append((labels, Double(end))) }
            }
        }
        text.add(
            "visit_responses", .gauge,
            "What a visit has: pages, what they need, redirects, what is gone (404, 410), and other failures.",
            responses)
        text.add("visit_started_seconds", .gauge, "When a visit began, in seconds since 1970.", started)
        text.add("visit_finished_seconds", .gauge, "When a visit was complete.", finished)
    }
}

/// What a portal is told of the server that it is part of.
struct PortalFigures: Sendable {
    let totals: ServingTotals
    let memoryByteCount: @Sendable () -> Int
    let generation: @Sendable () -> Int
    let isReadable: @Sendable () -> Bool
    let heldBackCount: @Sendable () -> UInt64
}

extension PortalMemory {
    /// Of each kind of response how many a visit has.
    func counts(ofVisit visit: Int64, _ reader: StoreReader) throws(StoreError) -> [(String, Int)] {
        if let known = counts[visit] { return known }
        var found = ["page": 0, "requisite": 0, "redirect": 0, "gone": 0, "failure": 0]
        for row in try reader.statusCounts(ofVisit: visit) {
            let kind =
                switch row.status {
                case ..<300: row.role == 0 ? "page" : "requisite"
                case ..<400: "redirect"
                case 404, 410: "gone"
                default: "failure"
                }
            found[kind, default: 0] += row.count
        }
        let list = found.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        counts[visit] = list
        return list
    }
}
