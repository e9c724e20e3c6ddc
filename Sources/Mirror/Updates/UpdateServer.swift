internal import HTTPServer
internal import Origins
internal import Portal
internal import Rollouts
internal import Store
internal import Web

/// The update server of one thread: routes requests below `/-/updates/APP/` to the protocols.
///
/// A request takes these steps:
///
/// 1. It is refused if its client sends too many, or if it names no app or service.
/// 2. The protocol reads it (`plan`): which channel, which device, which reports.
/// 3. New reports are recorded on the thread `larder-updates`. If they can change the answer, it is made there afterwards.
/// 4. Otherwise the answer is made at once from the channel, which this thread has in memory (`UpdateDesk`).
/// 5. If there is nothing new and the device wants to wait, the same thread answers it later.
final class UpdateServer {
    private let worker: UpdateWorker
    private let desk: UpdateDesk
    private let files: UpdateFiles
    private let context: MirrorContext
    private var service: UpdateService { worker.service }

    /// - Parameter openReader: returns the thread's reader of the store.
    init(
        _ worker: UpdateWorker, _ context: MirrorContext,
        _ view: @escaping () throws(StoreError) -> MirrorResponder.StoreView
    ) {
        self.worker = worker
        self.context = context
        desk = UpdateDesk(worker.service) { () throws(StoreError) in try view().reader }
        files = UpdateFiles(worker.service, desk, context, view)
    }

    /// Reads a request of a protocol. Nil if there is no such service.
    ///
    /// To add a protocol, add its first path segment here, and a function that makes a plan of the request: the reports in it,
    /// and a closure that makes the answer from the channel. The closure gets the channel after the reports were recorded.
    private func plan(_ request: UpdateRequest) -> UpdatePlan? {
        switch request.service {
        case "manifest" where request.path.isEmpty: ManifestProtocol.manifest(request)
        case "report" where request.path.isEmpty: ManifestProtocol.report(request)
        case "expo" where request.path.isEmpty: ExpoProtocol.plan(request, service.settings)
        case "codepush": CodePushProtocol.plan(request)
        case "capgo": CapgoProtocol.plan(request)
        case CordovaProtocol.service: CordovaProtocol.plan(request)
        default: nil
        }
    }

    /// Whether the request is for the update server. Names of mirrored origins have no updates, since a file of a release
    /// would have the rights of the mirrored site there.
    func isResponsible(for request: Request) -> Bool {
        guard request.target.starts(with: UpdatePaths.prefix.utf8) else { return false }
        if context.layout.sharesOrigin || context.names.isLocalRoot(request.authority) { return true }
        switch context.names.resolve(authority: request.authority, target: request.targetText) {
        case .portal, .portalRedirect, .refused: return true
        case .shim, .originName, .redirectToStored, .moved, .unknownOrigin, .stored, .inSnapshot: return false
        }
    }

    /// Answers a request; nil if the answer comes later.
    func reply(to request: Request, orDefer later: DeferredReply) -> Reply? {
        guard
            let parsed = UpdateRequest(
                request, scheme: context.layout.scheme, origin: service.settings.origin)
        else { return send(.unknownChannel, "other") }
        if let client = LoginClient(limitedSenderOf: request),
            let seconds = service.wait(parsed.service == UpdateFiles.service ? .file : .request, of: client)
        {
            return send(.tooManyRequests(retryAfter: seconds), "other")
        }
        guard request.body.count <= parsed.maxBodyBytes else {
            return send(.refusal(413, "The body is too long."), "other")
        }
        do throws(StoreError) {
            if parsed.service == UpdateFiles.service {
                if let list = try CordovaProtocol.list(parsed, desk) {
                    return send(list, CordovaProtocol.service)
                }
                return try files.reply(to: parsed, request) { [service] in
                    service.counts.record(UpdateFiles.service, $0)
                }
            }
            switch plan(parsed) {
            case nil: return send(.unknownChannel, "other")
            case .answer(let answer)?: return send(answer, parsed.service)
            case .ask(let inquiry)?: return try answer(inquiry, parsed, orDefer: later)
            }
        } catch {
            return send(.failure, parsed.service)
        }
    }

    private func answer(
        _ inquiry: UpdateInquiry, _ request: UpdateRequest, orDefer later: DeferredReply
    ) throws(StoreError) -> Reply? {
        guard let channel = try desk.channel(inquiry.channel, of: request.app) else {
            return send(inquiry.missing, request.service)
        }
        func pending(at place: UpdateWorker.Place? = nil) -> UpdateWorker.Pending {
            let slot =
                if let place { later.makeSlot { place.release() } } else { later.makeSlot() }
            return UpdateWorker.Pending(
                inquiry: inquiry, app: request.app, channel: channel.name, service: request.service,
                slot: slot, place: place)
        }
        let reports = try desk.newReports(
            among: try desk.reports(of: inquiry, in: channel, of: request.app))
        if inquiry.confirmsReports && !reports.isEmpty || reports.contains(where: \.hasFailed) {
            // A failure may halt the release, and the answer must not announce it then.
            let pending = pending()
            if !worker.record(reports, then: pending) { pending.send(.failure, service.counts) }
            return nil
        }
        if !reports.isEmpty { _ = worker.record(reports, then: nil) }
        let situation = UpdateSituation(app: request.app, channel: channel, now: service.now(), desk: desk)
        let answer = try inquiry.answer(situation)
        guard answer.canWait, inquiry.waitSeconds > 0 else { return send(answer, request.service) }
        guard let place = worker.reservePlace() else {
            let retry = "Retry-After: \(UpdateWorker.secondsToRetry)\r\n"
            return send(answer, request.service, retry)
        }
        worker.wait(pending(at: place), otherwise: answer)
        return nil
    }

    private func send(_ answer: UpdateAnswer, _ label: String, _ lines: String = "") -> Reply {
        service.counts.record(label, answer.outcome)
        return Reply(answer: answer.answer, clientFields: Array(lines.utf8))
    }

    // MARK: - Pages of other origins

    /// The answer to a CORS preflight. Pages of any origin may send the fields of the manifest protocol.
    func preflight(_ request: Request) -> Reply {
        Reply(
            answer: Answer(
                status: 204,
                fields: UpdateAnswer.sharedFields + [
                    ("Access-Control-Allow-Methods", "GET, HEAD, POST"),
                    ("Access-Control-Allow-Headers", "Content-Type, If-None-Match, Prefer, Range"),
                    ("Access-Control-Max-Age", "86400"),
                ], body: [], sharing: .common))
    }
}

extension UpdateAnswer {
    fileprivate static func tooManyRequests(retryAfter seconds: Int) -> UpdateAnswer {
        UpdateAnswer(
            .text(
                429, "Too many requests; try again later.\n",
                fields: [("Cache-Control", "no-store"), ("Retry-After", "\(seconds)")] + sharedFields,
                sharing: .common), .limited)
    }
}
