internal import Check
internal import Digest
internal import Store
internal import Web

extension Larder {
    /// Hands over the body of an URL as it was fetched, in pieces, in constant memory.
    ///
    /// - Parameters:
    ///   - visit: as this visit shows it; nil for what the larder shows.
    ///   - take: called on a thread of the reading's; false ends it.
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL, or when there is no such visit, `.machine`
    ///   when there is no larder, or it cannot be read. That there is no body to hand over is no error; the report says so.
    public func read(
        _ url: String, visit: Int64? = nil, take: @escaping @Sendable (Span<UInt8>) -> Bool
    ) async throws(LarderError) -> BodyReport {
        let asked = try Self.startURL(url)
        let folder = folder
        return try await Self.onThread("larder-cat") { () throws(LarderError) in
            do throws(StoreError) {
                let reader = try StoreReader(folder)
                let outcome: BodyReport.Outcome
                switch try Self.find(asked, visit, in: reader) {
                case .success(let response):
                    outcome = try Self.read(response, of: asked, in: reader, take)
                    // The next who fetches loads it again.
                    if case .damaged = outcome, let body = response.body {
                        try NoteBook.mark(damaged: [body.sha256], in: folder)
                    }
                case .failure(let refusal): outcome = refusal.outcome
                }
                return BodyReport(url: asked.href, outcome: outcome)
            } catch {
                throw LarderError(error)
            }
        }
    }

    private struct Refusal: Error {
        let outcome: BodyReport.Outcome
    }

    private static func find(
        _ url: WebURL, _ visit: Int64?, in reader: StoreReader
    ) throws(StoreError) -> Result<StoredResponse, Refusal> {
        guard let visit else {
            if let response = try reader.response(for: url.href) { return .success(response) }
            return .failure(Refusal(outcome: .notHeld(try Absence(of: url, in: reader))))
        }
        guard let site = try reader.sites().first(where: { $0.visits.contains { $0.id == visit } }) else {
            throw StoreError(
                .request, doing: "find the visit", path: "\(visit)", detail: "there is none with this number",
                advice: "see them with: larder visits")
        }
        let rows = try reader.rows(of: url.href).filter { $0.response.request == .get }
        // A visit shows the newest that is not newer than itself.
        if let row = rows.first(where: { $0.site == site.name && $0.response.visit <= visit }) {
            return .success(row.response)
        }
        guard rows.isEmpty else {
            return .failure(Refusal(outcome: .notInVisit(rows.map(\.response.visit).reversed())))
        }
        return .failure(Refusal(outcome: .notHeld(try Absence(of: url, in: reader))))
    }

    private static func read(
        _ response: StoredResponse, of url: WebURL, in reader: StoreReader, _ take: (Span<UInt8>) -> Bool
    ) throws(StoreError) -> BodyReport.Outcome {
        guard let body = response.body else {
            guard response.isRedirect else { return .empty(status: response.status) }
            let location = HTTPFields(block: response.fields.utf8.span)["Location"]
            let target = location.flatMap { WebURL($0, base: url) }
            return .redirect(status: response.status, to: target?.withoutFragment.href)
        }
        guard let content = try reader.content(of: body) else { return .damaged("its bytes are gone or cut short") }
        var stream = DigestStream(.sha256)
        let isWhole: Bool
        do throws(StoreError) {
            isWhole = try content.eachWantedPiece { piece in
                stream.update(piece)
                return take(piece)
            }
        } catch {
            return .damaged(error.detail)
        }
        guard isWhole else { return .cut }
        return stream.finish().bytes == body.sha256 ? .whole : .damaged("its bytes have changed")
    }
}

/// What came of reading a body.
public struct BodyReport: Sendable, Equatable {
    public let url: String
    public let outcome: Outcome

    public enum Outcome: Sendable, Equatable {
        /// All of it was handed over, and is what was fetched.
        case whole
        /// Whoever took it wanted no more.
        case cut
        /// What was handed over is not what was fetched.
        case damaged(String)
        /// It is a redirect; nil where that leads to no URL.
        case redirect(status: Int, to: String?)
        /// The answer has no body, as when the page is gone.
        case empty(status: Int)
        /// The visit does not show it; these visits have it.
        case notInVisit([Int64])
        case notHeld(Absence)
    }

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("url", url)
            switch outcome {
            case .whole:
                object.member("outcome", "whole")
            case .cut:
                object.member("outcome", "cut")
            case .damaged(let fault):
                object.member("outcome", "damaged")
                object.member("fault", fault)
            case .redirect(let status, let target):
                object.member("outcome", "redirect")
                object.member("status", status)
                object.member("target", target)
            case .empty(let status):
                object.member("outcome", "empty")
                object.member("status", status)
            case .notInVisit(let visits):
                object.member("outcome", "notInVisit")
                object.member("visits", visits)
            case .notHeld(let absence):
                object.member("outcome", "notHeld")
                object.member("instead") { absence.write(to: &$0) }
            }
        }
        return writer.text
    }
}
