internal import Digest
internal import HTTPServer
internal import Rollouts
internal import Store
internal import Web

/// Serves the files of the releases that a channel announces or announced: `/-/updates/APP/files/RELEASE/PATH`. The bytes of
/// such a URL never change.
struct UpdateFiles {
    /// The path segment of the files.
    static let service = "files"

    private let service: UpdateService
    private let desk: UpdateDesk
    private let context: MirrorContext
    private let view: () throws(StoreError) -> MirrorResponder.StoreView

    init(
        _ service: UpdateService, _ desk: UpdateDesk, _ context: MirrorContext,
        _ view: @escaping () throws(StoreError) -> MirrorResponder.StoreView
    ) {
        (self.service, self.desk, self.context, self.view) = (service, desk, context, view)
    }

    /// - Parameter record: counts the answer.
    func reply(
        to update: UpdateRequest, _ request: Request, record: (UpdateAnswer.Outcome) -> Void
    ) throws(StoreError) -> Reply {
        let answer = try answer(to: update, request)
        record(answer.outcome)
        if answer.outcome == .file {
            service.counts.addFile(byteCount: answer.answer.bodyByteCount, savedByteCount: 0)
        }
        return Reply(answer: answer.answer)
    }

    private func answer(to update: UpdateRequest, _ request: Request) throws(StoreError) -> UpdateAnswer {
        guard request.head.method != .other else {
            return .refusal(405, "A file has only GET and HEAD.", fields: [("Allow", "GET, HEAD")])
        }
        // As a document or a worker it would have the rights of the portal, which has the same origin.
        let use = FetchUse(update.fields)
        guard !use.makesDocument, !use.isWorker, !update.fields.contains("Service-Worker") else {
            return .refusal(
                403, "Files of releases are for apps, and are not shown as pages or run as workers here.")
        }
        let parts = update.path.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, try desk.hasRelease(String(parts[0]), of: update.app),
            let url = WebURL(update.app.storedBase + update.path)?.key,
            url.href.hasPrefix("\(update.app.storedBase)\(parts[0])/")
        else { return Self.missing }
        let view = try view()
        let (host, name) = (Array(Self.tierHost.utf8), Array(url.href.utf8))
        if let known = context.tier.value(for: host.span, name.span, now: view.time), known.isCurrent {
            return UpdateAnswer(known, .file)
        }
        guard let response = try desk.file(url.href), let body = response.body else { return Self.missing }
        guard case .whole(let content, let stamp) = try context.verifier.content(of: body, in: view.reader)
        else {
            context.notes?.addDamaged(body.sha256)
            return UpdateAnswer(
                .text(
                    500, "The stored file is damaged.\n", fields: [("Cache-Control", "no-store")],
                    sharing: .common),
                .failed)
        }
        let frame = try view.reader.frame(of: body)
        let digest = Base64.encode(body.sha256)
        var fields: [(name: String, value: String)] = [
            (
                "Content-Type",
                HTTPFields(block: response.fields.utf8.span)["Content-Type"] ?? "application/octet-stream"
            ),
            ("Cache-Control", "public, max-age=31536000, immutable"),
            ("ETag", "\"\(Hex.encode(body.sha256).prefix(32))\""), ("Repr-Digest", "sha-256=:\(digest):"),
            ("Vary", frame == nil ? "Sec-Fetch-Dest" : "Accept-Encoding, Sec-Fetch-Dest"),
        ]
        fields += UpdateAnswer.sharedFields
        let answer: Answer
        switch content {
        case .file(let path):
            let file = Answer.FileBody(path: path, byteCount: body.byteCount, stamp: stamp)
            answer = Answer(status: 200, fields: fields, file: file, sharing: .common)
        case .bytes(let bytes):
            answer = Answer(status: 200, fields: fields, body: bytes, zstdBody: frame, sharing: .common)
        }
        if context.verifier.allowsKeeping {
            context.tier.insert(
                answer, byteCount: answer.memoryByteCount, id: response.url, for: host.span, name.span,
                derivedIn: view.generation, now: view.time)
        }
        return UpdateAnswer(answer, .file)
    }

    /// The first part of the keys of files in memory. No `Host` has a space.
    private static let tierHost = "update files"

    private static var missing: UpdateAnswer { .refusal(404, "There is no such file of a release.") }
}
