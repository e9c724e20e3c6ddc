internal import Web

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
