internal import HTTPServer
internal import Rollouts
internal import Store
internal import Web

/// A request as a protocol has read it: the reports in it, and the answer once they are recorded.
///
/// A protocol is a function from `UpdateRequest` to `UpdatePlan` (`UpdateServer.plan`). It reads the request and does
/// nothing else, so that the server can record reports and wait for changes on another thread before `answer` runs.
struct UpdateInquiry: Sendable {
    /// The channel that a request is about.
    enum ChannelSelection: Sendable {
        case named(String)
        /// A channel that has one of these updates. The reports are those of the channel of each update.
        case having(updates: [String])
    }

    var channel: ChannelSelection
    /// The stable ID of the app on the device; reports without one do not count.
    var device: String?
    /// The update that the device runs, if the request says so, and earlier ones that it ran.
    var installed: [String] = []
    /// The updates that failed on the device.
    var failed: [String] = []
    /// Whether the device sends the report only once, so that it is answered when the report is stored.
    var confirmsReports = false
    /// How long the answer may wait for a change if there is nothing new.
    var waitSeconds = 0
    /// The answer if there is no such app or channel.
    var missing = UpdateAnswer.unknownChannel
    /// Makes the answer from the channel as it is after the reports. It is called on any thread, and may be called again
    /// when the channel has changed.
    var answer: @Sendable (UpdateSituation) throws(StoreError) -> UpdateAnswer
}

/// The state from which an inquiry is answered.
struct UpdateSituation {
    let app: AppName
    let channel: Channel
    let now: HTTPDate
    /// Reads stored releases.
    let desk: UpdateDesk
}

/// The result of reading a request.
enum UpdatePlan: Sendable {
    /// The request is answered without looking at a channel, such as one that cannot be read.
    case answer(UpdateAnswer)
    case ask(UpdateInquiry)
}

/// An answer of the update server, with its outcome for the metrics.
struct UpdateAnswer: Sendable {
    /// The kinds of answers. The raw values are labels of metrics.
    enum Outcome: String, Sendable, CaseIterable {
        /// A release that the device does not have.
        case update
        /// The device has the newest update for it.
        case current
        /// No update is for the device.
        case none
        /// The device must run the code that it was built with.
        case embedded
        /// A file of a release.
        case file
        /// A report was accepted.
        case report
        /// The request is wrong, or names nothing that exists.
        case refused
        /// The client sends too many requests.
        case limited
        /// The store could not be read or written.
        case failed
    }

    var answer: Answer
    let outcome: Outcome

    init(_ answer: Answer, _ outcome: Outcome) { (self.answer, self.outcome) = (answer, outcome) }

    init(
        _ outcome: Outcome, status: Int, fields: [(name: String, value: String)] = [], body: [UInt8] = []
    ) {
        self.init(Answer(status: status, fields: fields, body: body, sharing: .common), outcome)
    }

    /// A text for a request that is wrong.
    static func refusal(
        _ status: Int, _ text: String, fields: [(name: String, value: String)] = []
    ) -> UpdateAnswer {
        UpdateAnswer(
            .text(
                status, text + "\n", fields: [("Cache-Control", "no-store")] + fields + sharedFields,
                sharing: .common), .refused)
    }

    /// The answer if the store cannot be read or written; most reasons are temporary.
    static let failure = UpdateAnswer(
        .text(
            503, "The store cannot be read or written; try again later.\n",
            fields: [("Cache-Control", "no-store"), ("Retry-After", "2")] + sharedFields, sharing: .common),
        .failed)

    /// The fields by which pages of any origin may read an answer. WebViews load apps from origins of their own, and updates
    /// are the same for everyone who knows the name of the app.
    static let sharedFields: [(name: String, value: String)] = [
        ("Access-Control-Allow-Origin", "*"),
        (
            "Access-Control-Expose-Headers",
            "ETag, Larder-Update, Larder-Release, Preference-Applied, Retry-After"
        ),
        ("Cross-Origin-Resource-Policy", "cross-origin"), ("X-Content-Type-Options", "nosniff"),
    ]
}
