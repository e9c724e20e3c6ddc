internal import HTTPServer
internal import Origins
internal import Store
internal import System
internal import Web

/// The requests of the browser extension, which sends pages as the browser shows them.
///
/// They are the only requests of another origin that may change something. Each needs the `Origin` of an extension,
/// which no page can send. A request to save a page also needs the token that the extension got in exchange for a code
/// of the portal. The client must be on this machine.
extension Portal {
    /// Whether the request comes from a browser extension. Its answer has no CORS fields, so that only an extension with
    /// the permission for this host reads it.
    package static func isExtensionRequest(_ target: String, origin: String?) -> Bool {
        [PortalLinks.pair, PortalLinks.savePage].contains(target)
            && origin.map(ExtensionPairings.isExtension) ?? false
    }

    /// The maximum size of a page that the extension sends, in bytes. Larger pages get a 413.
    static let maxPageByteCount: Int64 = 256 << 20

    /// Handles a request of the extension whose body is in memory.
    ///
    /// - Parameter slot: makes the slot for a reply that follows later; called only then.
    /// - Returns: the answer, or nil if the reply follows later.
    func handleExtensionRequest(
        _ target: String, type: String?, body: [UInt8], from visitor: PortalVisitor,
        _ services: PortalServices,
        slot: () -> ReplySlot
    ) -> Answer? {
        let admission: ExtensionAdmission
        switch admit(target, visitor, services) {
        case .failure(let refusal): return refusalAnswer(refusal, visitor)
        case .success(let value): admission = value
        }
        guard target == PortalLinks.savePage else {
            return pair(PortalRequest(path: target, form: body), admission, visitor)
        }
        guard let upload = Self.upload(type, admission) else {
            return refusalAnswer(ExtensionRefusal(415, Phrase(.mistakeForm)), visitor)
        }
        // A form that is refused has its outcome before its end.
        let isWhole = upload.receive(body) || upload.outcome != nil
        switch upload.end(isWhole: isWhole) {
        case .refused(let status, let reason): return refusalAnswer(ExtensionRefusal(status, reason), visitor)
        case .command(let command):
            let (slot, number, replies) = (
                slot(), PendingJobNumber(), makeReplies(visitor, services.jobRunner)
            )
            let jobNumber = services.jobRunner.add(command, by: .localUser) {
                slot.send(Reply(answer: replies.answer(ofJob: number.value)))
            }
            upload.releaseFile(isWanted: jobNumber != nil)
            if let jobNumber {
                number.set(jobNumber)
            } else {
                slot.send(Reply(answer: replies.tooManyJobsAnswer))
            }
            return nil
        }
    }

    /// Takes over the connection of a page that is too long for memory. Returns nil for other requests.
    func handleLongUploadFromExtension(
        _ long: LongUpload, to target: String, type: String?, isChunked: Bool, byteCount: Int64,
        from visitor: PortalVisitor, _ services: PortalServices
    ) -> Reply? {
        guard target == PortalLinks.savePage else { return nil }
        let admission: ExtensionAdmission
        switch admit(target, visitor, services) {
        case .failure(let refusal): return Reply(answer: refusalAnswer(refusal, visitor))
        case .success(let value): admission = value
        }
        func refusalReply(_ status: Int, _ sentence: Sentence) -> Reply {
            Reply(answer: refusalAnswer(ExtensionRefusal(status, Phrase(sentence)), visitor))
        }
        guard !isChunked else { return refusalReply(411, .mistakeForm) }
        // The length is that of the whole form, whose boundaries take some bytes. `PortalUpload` checks the exact size.
        guard byteCount <= Self.maxPageByteCount + 4096 else {
            return refusalReply(413, .mistakePageTooLarge)
        }
        guard admission.files.uploadCount < PortalFiles.maxUploads else {
            return refusalReply(503, .mistakeTooManyJobs)
        }
        guard admission.files.hasSpace(for: byteCount) else { return refusalReply(507, .mistakeNoDiskSpace) }
        let (replies, jobRunner) = (makeReplies(visitor, services.jobRunner), services.jobRunner)
        // This answer is never sent, because the reply has a takeover.
        var reply = refusalReply(500, .mistakeForm)
        reply.takeover = UploadThread.takeover(long) {
            Self.upload(type, admission)
        } answer: { upload, isWhole in
            switch upload.end(isWhole: isWhole) {
            case .refused(let status, let reason):
                return replies.closingConnection(replies.answer(to: ExtensionRefusal(status, reason)))
            case .command(let command):
                // The thread of the upload serves only this client, so that it can wait for the job.
                let isOver = Monitor(false)
                let number = jobRunner.add(command, by: .localUser) { isOver.change { $0 = true } }
                upload.releaseFile(isWanted: number != nil)
                guard let number else { return replies.closingConnection(replies.tooManyJobsAnswer) }
                _ = isOver.wait { $0 ? true : nil }
                return replies.closingConnection(replies.answer(ofJob: number))
            }
        }
        return reply
    }

    // MARK: - Admission

    /// A request that passed the checks, with the objects that carry it out.
    private struct ExtensionAdmission: Sendable {
        let origin: String
        let pairings: ExtensionPairings
        let files: PortalFiles
    }

    /// The reason why a request of the extension was refused, with the status code of the answer.
    fileprivate struct ExtensionRefusal: Error, Sendable {
        let status: Int
        let reason: Phrase

        init(_ status: Int, _ reason: Phrase) { (self.status, self.reason) = (status, reason) }
    }

    /// Checks the origin, the client, the rights of the server and the token. Pairing needs no token, because it
    /// provides one.
    private func admit(
        _ target: String, _ visitor: PortalVisitor, _ services: PortalServices
    ) -> Result<ExtensionAdmission, ExtensionRefusal> {
        guard let origin = visitor.origin, ExtensionPairings.isExtension(origin) else {
            return .failure(ExtensionRefusal(403, Phrase(.refusedOrigin)))
        }
        guard services.accessGuard.principal(of: visitor) == .localUser else {
            return .failure(ExtensionRefusal(403, Phrase(.refusedOtherMachine)))
        }
        guard services.accessGuard.acceptsCommands, let pairings = services.extensions,
            let files = services.jobRunner.files
        else {
            return .failure(ExtensionRefusal(403, Phrase(.refusedReadOnly)))
        }
        if target != PortalLinks.pair {
            guard let token = visitor.bearerToken, pairings.isPaired(token, origin: origin) else {
                return .failure(ExtensionRefusal(401, Phrase(.refusedPairing)))
            }
        }
        return .success(ExtensionAdmission(origin: origin, pairings: pairings, files: files))
    }

    /// Exchanges the code that the user typed in the extension for a token.
    private func pair(_ form: PortalRequest, _ admission: ExtensionAdmission, _ visitor: PortalVisitor)
        -> Answer
    {
        do throws(StoreError) {
            let token = try admission.pairings.pair(
                form["code"] ?? "", name: form["name"] ?? "", origin: admission.origin,
                now: SystemClock.seconds(), date: SystemClock.secondsSinceEpoch())
            guard let token else {
                return refusalAnswer(ExtensionRefusal(403, Phrase(.pairCodeWrong)), visitor)
            }
            return ExtensionReplies.json(200, ["token": token], securityFields)
        } catch {
            return refusalAnswer(ExtensionRefusal(507, Phrase(.untranslated, error.description)), visitor)
        }
    }

    /// Makes the reader of a sent page. `admit` has checked the request, so that its form needs no token.
    private static func upload(_ type: String?, _ admission: ExtensionAdmission) -> PortalUpload? {
        type.flatMap {
            PortalUpload(type: $0, admission.files, makes: "save", maxByteCount: maxPageByteCount) { _ in nil
            }
        }
    }

    // MARK: - Answers

    /// The answer to a refused request: JSON with the reason in the visitor's language.
    private func refusalAnswer(_ refusal: ExtensionRefusal, _ visitor: PortalVisitor) -> Answer {
        ExtensionReplies.json(
            refusal.status, ["error": refusal.reason.text(in: visitor.language)], securityFields)
    }

    private func makeReplies(_ visitor: PortalVisitor, _ jobRunner: JobRunner) -> ExtensionReplies {
        ExtensionReplies(
            jobRunner: jobRunner, layout: layout, language: visitor.language, fields: securityFields)
    }

    /// Makes the answers of jobs. It contains copies of the values that they need, because the portal belongs to the
    /// server's thread and a job ends on another one.
    private struct ExtensionReplies: Sendable {
        let jobRunner: JobRunner
        let layout: OriginLayout
        let language: PortalLanguage
        let fields: [(name: String, value: String)]

        /// The answer if no further job is accepted.
        var tooManyJobsAnswer: Answer { answer(to: ExtensionRefusal(503, Phrase(.mistakeTooManyJobs))) }

        func answer(to refusal: ExtensionRefusal) -> Answer {
            Self.json(refusal.status, ["error": refusal.reason.text(in: language)], fields)
        }

        /// The answer to a request whose job has ended: the saved page, or the reason of the failure.
        ///
        /// - Parameter number: nil if the job was not accepted.
        func answer(ofJob number: Int?) -> Answer {
            guard let job = jobRunner.jobs.first(where: { $0.number == number }) else {
                return tooManyJobsAnswer
            }
            let words = job.outcome.map { $0.text(in: language) }
            guard job.isGood, let saved = job.outcome.first(where: { $0.sentence == .savedPage }),
                let url = saved.parts.first
            else {
                return Self.json(
                    500, ["error": words.first ?? job.stateSentence.text(in: language)], fields)
            }
            return Self.json(
                200,
                [
                    "url": url, "title": saved.parts.last, "address": WebURL(url).flatMap(layout.address),
                    "outcome": words,
                ], fields)
        }

        /// Adds the fields of the last answer on a connection. `UploadThread` sends it without the event loop, which
        /// otherwise adds the date.
        func closingConnection(_ answer: Answer) -> Answer {
            let now = HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch()).text
            return answer.adding(("Date", now)).adding(("Connection", "close"))
        }

        /// Makes a JSON answer.
        static func json(
            _ status: Int, _ members: JSONMembers, _ fields: [(name: String, value: String)]
        ) -> Answer {
            Answer(
                status: status,
                fields: [("Content-Type", "application/json"), ("Cache-Control", "no-store")] + fields,
                body: Array("\(members.text(.compact))\n".utf8))
        }
    }
}
