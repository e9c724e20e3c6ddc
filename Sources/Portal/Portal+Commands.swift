internal import Glibc
package import HTTPServer
internal import Origins
package import Store
internal import System
internal import Web

/// The objects that carry out commands from the portal. The portals of all server threads share them.
package struct PortalServices: Sendable {
    /// Decides which visitors may give commands.
    package let accessGuard: PortalGuard
    /// Carries out the commands.
    package let jobRunner: JobRunner
    /// Whether mirrored pages have a bar.
    package var bar = BarSwitch()
    /// The browser extensions that may save pages; nil if none may.
    package var extensions: ExtensionPairings?
    /// Returns the browser extension as a zip file; nil if this program is installed without it. Any thread may call it.
    package var extensionFile: (@Sendable () -> [UInt8]?)?
    /// Whether something runs the scheduled updates: this server, another one, or a timer.
    package var isScheduled: @Sendable () -> Bool = { false }
    /// Whether the portal can install a timer that does.
    package var canInstallTimer = false
    /// The formats of `PortalCommand.exportForms` that can be written on this machine.
    package var exportForms = PortalCommand.exportForms

    package init(
        accessGuard: PortalGuard, jobRunner: JobRunner, bar: BarSwitch = BarSwitch(),
        extensions: ExtensionPairings? = nil,
        isScheduled: @escaping @Sendable () -> Bool = { false }, canInstallTimer: Bool = false,
        exportForms: [String] = PortalCommand.exportForms
    ) {
        (self.accessGuard, self.jobRunner, self.bar, self.extensions) = (
            accessGuard, jobRunner, bar, extensions
        )
        (self.isScheduled, self.canInstallTimer) = (isScheduled, canInstallTimer)
        self.exportForms = exportForms
    }
}

extension Portal {
    /// Handles a POST request, which changes something. Returns nil if the reply follows later.
    ///
    /// The checks come in this order: requests of the browser extension, which have a token of their own; uploads, whose
    /// token is a part of the body; the login, which has no token yet; then the token and the origin of all other forms.
    /// Only after them does the name of the command matter.
    ///
    /// - Parameters:
    ///   - target: the path of the request.
    ///   - type: the Content-Type of the body.
    ///   - slot: reserves a slot for the later reply.
    package func handleCommand(
        _ target: String, type: String?, body: [UInt8], from visitor: PortalVisitor, reader: StoreReader,
        slot: () -> ReplySlot
    ) throws(StoreError) -> Answer? {
        guard let services else { return refusal(403, Phrase(.refusedReadOnly), visitor) }
        if Self.isExtensionRequest(target, origin: visitor.origin) {
            return handleExtensionRequest(target, type: type, body: body, from: visitor, services, slot: slot)
        }
        if target == PortalLinks.commands + "import", let type,
            let upload = Self.upload(type, services, visitor)
        {
            let needsMore = upload.receive(body)
            return makeUploadHandler(visitor, services, isLast: false)(
                upload, needsMore || upload.outcome != nil)
        }
        guard let type, type.lowercased().hasPrefix("application/x-www-form-urlencoded") else {
            // The forms of the portal have no other type. Pages of other origins can send `text/plain`.
            return refusal(415, Phrase(.refusedOrigin), visitor)
        }
        let form = PortalRequest(path: target, form: body)
        if target == PortalLinks.login { return logIn(form, visitor, services, slot) }
        if let reason = services.accessGuard.refusal(
            of: visitor, token: form["token"], now: SystemClock.seconds())
        {
            return refusal(403, Phrase(reason), visitor)
        }
        if target == PortalLinks.logout {
            services.accessGuard.logOut(visitor.session)
            return seeOther("/", cookie: "\(cookieName)=; Max-Age=0; \(cookieTraits)")
        }
        guard target.hasPrefix(PortalLinks.commands) else { return notFound(target, visitor) }
        let name = String(target.dropFirst(PortalLinks.commands.utf8.count))
        if name == "bar" {
            services.bar.turn(on: form["on"] == "1")
            return seeOther(Self.returnPath(form["back"]))
        }
        if ["pair", "unpair"].contains(name) {
            guard let pairings = services.extensions,
                services.accessGuard.principal(of: visitor) == .localUser
            else {
                return refusal(403, Phrase(.refusedOtherMachine), visitor)
            }
            if name == "pair" {
                pairings.offerCode(now: SystemClock.seconds())
            } else if let number = form.number("number") {
                try pairings.remove(Int(clamping: number))
            }
            return seeOther(PortalLinks.save)
        }
        let command: PortalCommand?
        do throws(PortalFormError) {
            let principal = services.accessGuard.principal(of: visitor)
            // A visitor who may not see a job may not stop or repeat it, and gets the same answer as for an unknown job.
            if let number = form.number("job"), hidesPrivate(from: visitor),
                !jobs(for: visitor, services).contains(where: { $0.number == Int(clamping: number) })
            {
                throw PortalFormError(Phrase(.mistakeMissingField))
            }
            if let answer = try controlJob(name, form, services.jobRunner, by: principal) { return answer }
            command = try PortalCommand(name, form)
        } catch {
            return refusal(400, error.phrase, visitor, form: RefusalPage.Form(ofCommand: name, form))
        }
        guard let command else { return notFound(PortalLinks.commands + name, visitor) }
        // A user of another machine may not change what this user's systemd runs.
        if command == .installTimer,
            services.accessGuard.principal(of: visitor) != .localUser || !services.canInstallTimer
        {
            return refusal(403, Phrase(.refusedTimer), visitor)
        }
        if let mistake = try unknownTarget(of: command, reader) {
            return refusal(404, mistake.phrase, visitor)
        }
        // The user may want a copy of pages that are stored already, but should know that they are.
        if case .prefetch(let address, let settings) = command, form["again"] != "1",
            let page = try StoredPageNotice(of: address, settings, command.form.fields, reader)
        {
            return html(page, "/", visitor)
        }
        return runCommand(command, back: Self.returnPath(form["back"]), visitor, services, slot)
    }

    /// Returns an error if the site or snapshot of a command does not exist; else nil.
    private func unknownTarget(
        of command: PortalCommand, _ reader: StoreReader
    ) throws(StoreError) -> PortalFormError? {
        guard let target = command.target else { return nil }
        let sites = try sites(reader)
        guard let site = sites.first(where: { $0.name == target.site }) else {
            return PortalFormError(Phrase(.mistakeSite, target.site))
        }
        guard let name = target.snapshot, !site.snapshots.contains(where: { $0.name == name }) else {
            return nil
        }
        return PortalFormError(Phrase(.mistakeSnapshot, target.site, "\(name)"))
    }

    /// Carries out commands about existing jobs. Returns nil for other commands.
    private func controlJob(
        _ name: String, _ form: PortalRequest, _ jobRunner: JobRunner, by principal: Principal
    ) throws(PortalFormError) -> Answer? {
        let back = Self.returnPath(form["back"])
        switch name {
        case "stop":
            guard let number = form.number("job") else { throw PortalFormError(Phrase(.mistakeMissingField)) }
            jobRunner.stop(Int(clamping: number))
            // The page of jobs shows the state without a notice.
            let isOnJobsPage = back.hasPrefix(PortalLinks.jobs)
            return seeOther(isOnJobsPage ? back : Self.returnPath(back, noticeOfJob: Int(clamping: number)))
        case "goon":
            guard let number = form.number("job"),
                jobRunner.restart(Int(clamping: number), by: principal) != nil
            else {
                throw PortalFormError(Phrase(.mistakeMissingField))
            }
            return seeOther(PortalLinks.jobs)
        case "forget":
            guard let number = form.number("job") else { throw PortalFormError(Phrase(.mistakeMissingField)) }
            jobRunner.forget(Int(clamping: number))
            return seeOther(PortalLinks.jobs)
        default: return nil
        }
    }

    /// Adds a command to the jobs.
    ///
    /// A long command redirects to the page of jobs at once. For a quick command the reply waits until the job has ended,
    /// and then redirects to the page with its outcome.
    ///
    /// - Parameter back: the path that the command was sent from.
    private func runCommand(
        _ command: PortalCommand, back: String, _ visitor: PortalVisitor, _ services: PortalServices,
        _ slot: () -> ReplySlot
    ) -> Answer? {
        let principal = services.accessGuard.principal(of: visitor)
        guard command.waitsForOutcome else {
            guard services.jobRunner.add(command, by: principal) != nil else {
                return refusal(503, Phrase(.mistakeTooManyJobs), visitor)
            }
            // The site's page may be gone when the job has run. The home page shows the removal.
            if case .remove = command { return seeOther("/") }
            return seeOther(PortalLinks.jobs)
        }
        let slot = slot()
        let number = PendingJobNumber()
        let securityFields = self.securityFields
        let jobNumber = services.jobRunner.add(command, by: principal) {
            slot.send(
                Reply(answer: Self.seeOther(Self.returnPath(back, noticeOfJob: number.value), securityFields))
            )
        }
        guard let jobNumber else {
            slot.send(Reply(answer: refusal(503, Phrase(.mistakeTooManyJobs), visitor)))
            return nil
        }
        number.set(jobNumber)
        return nil
    }

    // MARK: - Uploads

    /// Returns the reader of an uploaded archive; nil if the body is not a form with files, or uploads are
    /// disabled.
    private static func upload(
        _ type: String, _ services: PortalServices, _ visitor: PortalVisitor
    ) -> PortalUpload? {
        guard let files = services.jobRunner.files else { return nil }
        return PortalUpload(type: type, files) { token in
            services.accessGuard.refusal(of: visitor, token: token, now: SystemClock.seconds()).map {
                Phrase($0)
            }
        }
    }

    /// Takes over the connection of an upload that is too long for memory. Returns nil for other long
    /// requests.
    package func handleLongUpload(
        _ long: LongUpload, to target: String, method: String, type: String?, isChunked: Bool,
        byteCount: Int64, from visitor: PortalVisitor
    ) -> Reply? {
        if method == "POST", let services, Self.isExtensionRequest(target, origin: visitor.origin) {
            return handleLongUploadFromExtension(
                long, to: target, type: type, isChunked: isChunked, byteCount: byteCount, from: visitor,
                services)
        }
        guard method == "POST", target == PortalLinks.commands + "import", let services, let type,
            let files = services.jobRunner.files, MultipartReader(type: type) != nil
        else { return nil }
        // These checks need no token, which is in the body.
        switch services.accessGuard.access(of: visitor, now: SystemClock.seconds()) {
        case .full: break
        case .readOnly(let reason): return Reply(answer: refusal(403, Phrase(reason), visitor))
        case .loginRequired, .denied: return Reply(answer: refusal(403, Phrase(.refusedLogin), visitor))
        }
        if let reason = visitor.foreignOriginReason {
            return Reply(answer: refusal(403, Phrase(reason), visitor))
        }
        guard !isChunked else { return Reply(answer: refusal(411, Phrase(.mistakeForm), visitor)) }
        guard files.uploadCount < PortalFiles.maxUploads else {
            return Reply(answer: refusal(503, Phrase(.mistakeTooManyJobs), visitor))
        }
        guard files.hasSpace(for: byteCount) else {
            return Reply(answer: refusal(507, Phrase(.mistakeNoDiskSpace), visitor))
        }
        let answer = makeUploadHandler(visitor, services, isLast: true)
        // This answer is never sent, because the reply has a takeover.
        var reply = Reply(answer: refusal(500, Phrase(.mistakeForm), visitor))
        reply.takeover = UploadThread.takeover(long) {
            Self.upload(type, services, visitor)
        } answer: {
            answer($0, $1)
        }
        return reply
    }

    /// Makes the closure that imports an uploaded archive and answers. The portal belongs to the server's thread, so the
    /// closure contains copies of the values that an answer needs, and can run on the upload's thread.
    ///
    /// - Parameter isLast: whether the answer closes the connection.
    private func makeUploadHandler(
        _ visitor: PortalVisitor, _ services: PortalServices, isLast: Bool
    ) -> @Sendable (PortalUpload, _ isWhole: Bool) -> Answer {
        let frame = context("/", visitor)
        let principal = services.accessGuard.principal(of: visitor)
        let (fields, pageFields) = (securityFields, pageFields(hasScript: false))
        return { upload, isWhole in
            let now = HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch()).text
            let own = isLast ? [("Date", now), ("Connection", "close")] : []
            func refusalAnswer(_ status: Int, _ reason: Phrase) -> Answer {
                Answer(
                    status: status,
                    fields: [("Content-Type", "text/html; charset=utf-8")] + own + pageFields,
                    body: PortalFrame.html(RefusalPage(status: status, reason: reason), frame))
            }
            switch upload.end(isWhole: isWhole) {
            case .refused(let status, let reason): return refusalAnswer(status, reason)
            case .command(let command):
                let number = services.jobRunner.add(command, by: principal)
                upload.releaseFile(isWanted: number != nil)
                guard number != nil else { return refusalAnswer(503, Phrase(.mistakeTooManyJobs)) }
                return Self.seeOther(PortalLinks.jobs, fields + own)
            }
        }
    }

    // MARK: - The password

    /// Checks a password on a new thread, since that takes a tenth of a second and may have to wait for other attempts.
    private func logIn(
        _ form: PortalRequest, _ visitor: PortalVisitor, _ services: PortalServices, _ slot: () -> ReplySlot
    ) -> Answer? {
        // Without this check, a form on another site could log the user in: there is no token before the
        // login.
        if let reason = visitor.foreignOriginReason { return refusal(403, Phrase(reason), visitor) }
        guard let password = form["password"] else {
            return refusal(400, Phrase(.mistakeMissingField), visitor)
        }
        let later = slot()
        let (portal, name, traits) = (LoginReplies(self, visitor), cookieName, cookieTraits)
        let thread = try? NamedThread.start("larder-login") {
            later.send(
                Reply(
                    answer: portal.answer(
                        services.accessGuard.logIn(password, from: visitor.client), name, traits)))
        }
        if thread == nil { later.send(Reply(answer: refusal(503, Phrase(.mistakeTooManyJobs), visitor))) }
        return nil
    }

    /// The possible answers to a login. They are made on the server's thread, to which the portal belongs, and sent from
    /// the thread that checks the password.
    private struct LoginReplies: Sendable {
        let wrong: Answer
        let impossible: Answer
        /// The security fields of the portal.
        let fields: [(name: String, value: String)]
        /// Makes the answer that tells the client how many seconds to wait.
        let makeTooFast: @Sendable (Int64) -> Answer

        init(_ portal: Portal, _ visitor: PortalVisitor) {
            wrong = portal.html(LoginPage(failure: Phrase(.loginWrong)), PortalLinks.login, visitor)
            impossible = portal.html(LoginPage(hasPassword: false), PortalLinks.login, visitor)
            fields = portal.securityFields
            let frame = portal.context(PortalLinks.login, visitor)
            let fields = portal.pageFields(hasScript: false)
            makeTooFast = { seconds in
                Answer(
                    status: 429,
                    fields: [("Content-Type", "text/html; charset=utf-8"), ("Retry-After", "\(seconds)")]
                        + fields,
                    body: PortalFrame.html(
                        LoginPage(failure: Phrase(.loginTooManyAttempts, "\(seconds)")), frame))
            }
        }

        func answer(_ login: PortalGuard.LoginResult, _ cookie: String, _ traits: String) -> Answer {
            switch login {
            case .success(let session):
                Portal.seeOther(
                    "/", fields, cookie: "\(cookie)=\(session); \(traits)")
            case .wrong: wrong
            case .tooFast(let seconds): makeTooFast(seconds)
            case .impossible: impossible
            }
        }
    }

    // MARK: - Live

    /// Streams the state of the jobs as server-sent events, as long as the client is connected. Returns nil if the stream
    /// has begun, else the reason why not.
    package func streamJobEvents(for visitor: PortalVisitor, slot: () -> ReplySlot) -> Answer? {
        guard let services else { return notFound(PortalLinks.live, visitor) }
        switch services.accessGuard.access(of: visitor, now: SystemClock.seconds()) {
        case .full, .readOnly: break
        case .loginRequired, .denied: return refusal(403, Phrase(.refusedLogin), visitor)
        }
        // `none`: the user opened the address of the stream in the browser.
        if visitor.foreignOriginReason != nil, visitor.fetchSite != "none" {
            return refusal(403, Phrase(.refusedOrigin), visitor)
        }
        let lines = [("Content-Type", "text/event-stream"), ("Cache-Control", "no-store")] + securityFields
        let head = Array(
            ("HTTP/1.1 200 OK\r\n" + lines.map { "\($0.0): \($0.1)\r\n" }.joined()).utf8)
        let stream = ReplyStream(slot(), acceptsChunks: true) { _, _, _ in head }
        guard stream.begin(status: 200, fields: HTTPFields(), byteCount: nil) else { return nil }
        // With too many watchers the stream ends empty. The page works without it.
        if !services.jobRunner.watch(stream, hidesPrivate: hidesPrivate(from: visitor)) {
            stream.end(isWhole: true)
            stream.didStoreResponse()
        }
        return nil
    }

    // MARK: - Answers

    /// Attributes of the session cookie. Scripts cannot read it, and no other site can send it.
    private var cookieTraits: String {
        "Path=/; HttpOnly; SameSite=Strict" + (layout.scheme == "https" ? "; Secure" : "")
    }

    /// The name of the session cookie.
    var cookieName: String { PortalVisitor.cookieName(port: layout.port) }

    /// The page that says why a command was refused.
    ///
    /// - Parameter form: the submitted form, which the page shows again for correction.
    private func refusal(
        _ status: Int, _ reason: Phrase, _ visitor: PortalVisitor, form: RefusalPage.Form? = nil
    ) -> Answer {
        html(RefusalPage(status: status, reason: reason, form: form), "/", visitor)
    }

    private func notFound(_ target: String, _ visitor: PortalVisitor) -> Answer {
        html(NotFoundPage(target: target), target, visitor)
    }

    /// Redirects to a page after a command (303), so that reloading the page does not repeat the command.
    ///
    /// - Parameters:
    ///   - place: the path of the page.
    ///   - cookie: the value of a `Set-Cookie` field.
    private func seeOther(_ place: String, cookie: String? = nil) -> Answer {
        Self.seeOther(place, securityFields, cookie: cookie)
    }

    /// The same redirect for threads that have no portal.
    private static func seeOther(
        _ place: String, _ fields: [(name: String, value: String)], cookie: String? = nil
    ) -> Answer {
        let own = [("Location", place), ("Cache-Control", "no-store")]
        return Answer(
            status: 303, fields: own + (cookie.map { [("Set-Cookie", $0)] } ?? []) + fields, body: [])
    }

    /// Returns the path to redirect to after a command. The text comes from a form, so anything that a browser could take
    /// for another origin (`//host`, `/\host`) or for a header field becomes the home page.
    ///
    /// - Parameter number: the job whose outcome the page shows, as the query field `did`.
    static func returnPath(_ text: String?, noticeOfJob number: Int? = nil) -> String {
        guard let text, text.hasPrefix("/"), !text.hasPrefix("//"), !text.hasPrefix("/\\"),
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }), text.utf8.count < 4000
        else { return returnPath("/", noticeOfJob: number) }
        let parts = text.utf8.split(
            separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        let query = parts.count < 2 ? [] : parts[1].split(separator: UInt8(ascii: "&"))
        var fields = query.map { String(decoding: $0, as: UTF8.self) }.filter { !$0.hasPrefix("did=") }
        if let number { fields.append("did=\(number)") }
        let path = String(decoding: parts[0], as: UTF8.self)
        return fields.isEmpty ? path : "\(path)?\(fields.joined(separator: "&"))"
    }
}

/// The number of a job that was just added. The job's end callback needs it, but can run before `JobRunner.add` has
/// returned the number. Thread-safe.
final class PendingJobNumber: Sendable {
    private let number = Monitor<Int?>(nil)

    /// The number. Waits until it is set; nil after five seconds.
    var value: Int? { number.wait(atMost: .seconds(5)) { $0 } }
    func set(_ value: Int) { number.change { $0 = value } }
}

extension PortalCommand {
    /// Whether the reply waits for the end of the job, because the command is quick.
    fileprivate var waitsForOutcome: Bool {
        switch self {
        case .pin, .unpin, .drop, .rollBack, .undo, .changeSettings, .installTimer: true
        case .prefetch, .update, .fetch, .check, .checkLinks, .remove, .forecast, .collect, .export,
            .importArchive, .save:
            false
        }
    }
}
