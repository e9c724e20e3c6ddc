internal import HTTPServer
internal import Rollouts
internal import Store

/// Serves CodePush's protocol. The values in Rollouts decide; this connects them with the channels.
enum CodePushProtocol {
    /// Nil if the protocol has no such path.
    static func plan(_ request: UpdateRequest) -> UpdatePlan? {
        guard let endpoint = CodePushEndpoint(request.path) else { return nil }
        do throws(UpdateProblem) {
            switch endpoint {
            case .updateCheck(let naming):
                guard request.isReading else { return .answer(.wrongMethod("GET, HEAD")) }
                return .ask(inquiry(try CodePushCheck(request.parameters), naming, request))
            case .deployReport, .downloadReport:
                guard request.method == "POST" else { return .answer(.wrongMethod("POST")) }
                let report = try CodePushReport(request.body, to: endpoint).report
                return .record(report.map { [$0] } ?? [], then: .codePushReceived)
            }
        } catch {
            return .answer(UpdateAnswer(DeviceAnswer(codePush: error)))
        }
    }

    private static func inquiry(
        _ check: CodePushCheck, _ naming: CodePushEndpoint.Naming, _ request: UpdateRequest
    ) -> UpdateInquiry {
        var inquiry = UpdateInquiry(channel: .named(check.channel)) { (situation) throws(StoreError) in
            let other = situation.channel.otherVersion(than: check.device, at: situation.now)
            return try situation.answer(check.device, at: request) {
                UpdateAnswer(DeviceAnswer(to: check, naming, $0, $1, otherVersion: other))
            }
        }
        inquiry.missing = UpdateAnswer(DeviceAnswer(codePush: .unknownChannel(check.channel)))
        return inquiry
    }
}

extension UpdateSituation {
    /// Decides about a device, and makes the answer.
    ///
    /// - Parameter make: gets the decision, and a release that is new for the device at its address.
    func answer(
        _ device: Device, at request: UpdateRequest,
        _ make: (Channel.Decision, ServedRelease?) -> UpdateAnswer
    ) throws(StoreError) -> UpdateAnswer {
        let decision = channel.decision(for: device, at: now)
        guard case .release(let release, _, isNew: true) = decision else { return make(decision, nil) }
        guard let id = release.id, let contents = try desk.contents(ofRelease: id, of: app) else {
            return .failure
        }
        let base = request.origin + UpdatePaths.files(app.text, id)
        return make(decision, ServedRelease(contents, base: base))
    }
}

extension UpdatePlan {
    /// Records reports of one device, and answers when they are stored. Reports about unknown updates are accepted, too: clients
    /// repeat those that are refused.
    static func record(_ reports: [DeviceReport], then answer: DeviceAnswer) -> UpdatePlan {
        let answer = UpdateAnswer(answer)
        guard let first = reports.first else { return .answer(answer) }
        let own = reports.filter { $0.device == first.device }
        // A device that has changed its channel may report about updates of both.
        let updates = own.map(\.rollout)
        var inquiry = UpdateInquiry(channel: .having(updates: updates), device: first.device) { _ in answer }
        inquiry.failed = own.filter(\.hasFailed).map(\.rollout)
        inquiry.installed = own.filter { !$0.hasFailed }.map(\.rollout)
        inquiry.confirmsReports = true
        inquiry.missing = answer
        return .ask(inquiry)
    }
}

extension UpdateAnswer {
    init(_ answer: DeviceAnswer, cacheControl: String = "no-store") {
        let outcome: Outcome =
            switch answer.kind {
            case .update: .update
            case .current: .current
            case .none, .other: .none
            case .embedded: .embedded
            case .report: .report
            case .refused: .refused
            }
        self.init(
            outcome, status: answer.status,
            fields: [("Content-Type", answer.mediaType), ("Cache-Control", cacheControl)] + Self.sharedFields,
            body: answer.body)
    }

    /// - Parameter methods: those that the path has.
    static func wrongMethod(_ methods: String) -> UpdateAnswer {
        .refusal(405, "This path has only \(methods).", fields: [("Allow", methods)])
    }
}
