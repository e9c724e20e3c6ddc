internal import Glibc
internal import HTTPServer
internal import System
internal import Web

/// A form with a file that a client uploads. The file is written to the disk as it arrives.
///
/// The token is the first field of the form. The file begins only after it was checked, so that a client without the
/// right to upload writes nothing to the disk. `receive` takes the bytes of the form, `end` returns the outcome, and
/// `releaseFile` passes the file to its job or removes it. After a refusal, no further bytes are read.
///
/// Not thread-safe: it belongs to the thread that receives the form.
final class PortalUpload {
    /// The result of an upload.
    enum UploadOutcome: Equatable {
        case command(PortalCommand)
        case refused(Int, Phrase)
    }

    private var reader: MultipartReader
    private let files: PortalFiles
    /// Returns why a client with this token may not upload.
    private let refusal: (_ token: String?) -> Phrase?
    /// The name of the command that the upload becomes.
    private let command: String
    private let maxByteCount: Int64
    /// The fields of the form so far.
    private var fields: [(name: String, value: String)] = []
    /// The file; nil until it has begun and after `releaseFile`.
    private var pendingUpload: PortalFiles.PendingUpload?
    /// The name of the file; nil until the file has begun.
    private var name: String?
    /// Whether the next bytes belong to the file. A second file of the form is skipped.
    private var isInFile = false
    /// The size of the file so far.
    private var byteCount: Int64 = 0
    /// The number of bytes since the last check of the free disk space.
    private var uncheckedByteCount = 0
    /// The result; nil until the upload was refused or has ended.
    private(set) var outcome: UploadOutcome?

    /// The number of bytes between checks of the free disk space.
    private static let checkIntervalBytes = 16 << 20
    /// The name of the field with the file.
    static let fileField = "file"

    /// Creates the reader of a form.
    ///
    /// - Parameters:
    ///   - type: the Content-Type; the result is nil if it is not a form with files.
    ///   - command: the name of the command that the upload becomes.
    ///   - maxByteCount: the size in bytes beyond which the file is refused.
    ///   - refusal: returns why a client with this token may not upload; nil if it may.
    init?(
        type: String, _ files: PortalFiles, makes command: String = "import", maxByteCount: Int64 = .max,
        refusal: @escaping (_ token: String?) -> Phrase?
    ) {
        guard let reader = MultipartReader(type: type) else { return nil }
        (self.command, self.maxByteCount) = (command, maxByteCount)
        (self.reader, self.files, self.refusal) = (reader, files, refusal)
    }

    /// Adds the next bytes. Returns false if no more bytes are needed.
    func receive(_ bytes: [UInt8]) -> Bool {
        guard outcome == nil else { return false }
        for event in reader.parse(bytes) where outcome == nil { handle(event) }
        if reader.isBroken { refuse(400, Phrase(.mistakeForm)) }
        return outcome == nil
    }

    /// Handles the next part of the form.
    private func handle(_ event: MultipartReader.FormEvent) {
        switch event {
        case .field(let name, let value): fields.append((name, value))
        case .file(let name, let fileName):
            if let reason = refusal(form["token"]) { return refuse(403, reason) }
            guard name == Self.fileField, self.name == nil, !fileName.isEmpty else { return }
            guard files.hasSpace() else { return refuse(507, Phrase(.mistakeNoDiskSpace)) }
            do throws(SystemError) {
                let pendingUpload = try files.beginUpload(named: fileName)
                self.name = pendingUpload.name
                self.pendingUpload = consume pendingUpload
                isInFile = true
            } catch {
                refuse(507, Phrase(.untranslated, error.description))
            }
        case .bytes(let bytes): write(bytes)
        case .end: isInFile = false
        }
    }

    /// Writes the next bytes of the file.
    private func write(_ bytes: [UInt8]) {
        guard isInFile else { return }
        guard byteCount + Int64(bytes.count) <= maxByteCount else {
            return refuse(413, Phrase(.mistakePageTooLarge))
        }
        do throws(SystemError) { try pendingUpload?.write(bytes) } catch {
            return refuse(507, Phrase(.untranslated, error.description))
        }
        byteCount += Int64(bytes.count)
        uncheckedByteCount += bytes.count
        guard uncheckedByteCount >= Self.checkIntervalBytes else { return }
        uncheckedByteCount = 0
        if !files.hasSpace() { refuse(507, Phrase(.mistakeNoDiskSpace)) }
    }

    /// Ends the upload, when its body is complete or the client has disconnected. The caller of a successful upload then
    /// adds the command to the jobs and calls `releaseFile`.
    ///
    /// - Parameter isWhole: whether the whole body was received.
    func end(isWhole: Bool) -> UploadOutcome {
        if outcome == nil { outcome = makeOutcome(isWhole) }
        guard let outcome else { return .refused(400, Phrase(.mistakeForm)) }
        if case .refused = outcome { releaseFile(isWanted: false) }
        return outcome
    }

    /// Ends the upload of the file: a job owns it from now on, or it is removed.
    func releaseFile(isWanted: Bool) {
        pendingUpload?.finish(isWanted: isWanted)
        pendingUpload = nil
    }

    /// The command that the form describes, or the reason why there is none.
    private func makeOutcome(_ isWhole: Bool) -> UploadOutcome {
        if let reason = refusal(form["token"]) { return .refused(403, reason) }
        guard isWhole, reader.isDone else { return .refused(400, Phrase(.mistakeForm)) }
        guard let name, byteCount > 0, let number = pendingUpload?.number else {
            return .refused(400, Phrase(.mistakeNoFile))
        }
        // The client may not name the stored file: these two fields come from the upload itself.
        let own = fields.filter { $0.name != "upload" && $0.name != "name" }
        let all = own + [("upload", number), ("name", name)]
        do throws(PortalFormError) {
            let made = try PortalCommand(command, PortalRequest(path: "/", fields: all))
            return made.map(UploadOutcome.command) ?? .refused(400, Phrase(.mistakeForm))
        } catch {
            return .refused(400, error.phrase)
        }
    }

    private func refuse(_ status: Int, _ reason: Phrase) { outcome = .refused(status, reason) }

    private var form: PortalRequest { PortalRequest(path: "/", fields: fields) }
}

/// Reads the body of an upload that is too long for memory on its own thread, and answers the client.
///
/// The thread owns the socket and closes it. Two time limits keep slow clients from occupying threads: the whole form up
/// to the file must arrive within `tokenTimeoutMilliseconds`, and after that no pause may be longer than
/// `idleTimeoutMilliseconds`.
enum UploadThread {
    /// The number of milliseconds without data after which the client counts as disconnected.
    private static let idleTimeoutMilliseconds: Int32 = 60_000
    /// The time in which the client must show the token, in milliseconds.
    private static let tokenTimeoutMilliseconds: Int64 = 30_000

    /// Makes the takeover that receives the body on a new thread.
    ///
    /// - Parameters:
    ///   - make: called on the thread that uses the upload.
    ///   - answer: called once, with the result.
    static func takeover(
        _ long: LongUpload, make: @escaping @Sendable () -> PortalUpload?,
        answer: @escaping @Sendable (PortalUpload, _ isWhole: Bool) -> Answer
    ) -> Takeover {
        { client in
            do throws(SystemError) {
                try NamedThread.start("larder-upload") {
                    defer { close(client.descriptor) }
                    // Made here, because `PortalUpload` is not thread-safe.
                    guard let upload = make() else { return }
                    let detachedClient = DetachedClient(client)
                    let isWhole = run(detachedClient, client.received, long.reader, upload)
                    let bytes = answer(upload, isWhole).bytes
                    detachedClient.sendAll(bytes)
                    // Closing the socket with unread input would reset the connection before the client has read the answer.
                    if !isWhole { detachedClient.discardInput() }
                }
            } catch {
                close(client.descriptor)
            }
        }
    }

    /// Reads the body until it ends, is refused, or the client is gone or too slow. Returns whether the whole body was
    /// received and accepted.
    ///
    /// - Parameter received: the bytes that the event loop has already read.
    private static func run(
        _ detachedClient: DetachedClient, _ received: [UInt8], _ reader: BodyReader, _ upload: PortalUpload
    ) -> Bool {
        var reader = reader
        var piece = received
        let start = SystemClock.milliseconds()
        while true {
            var (position, body): (Int, [UInt8]) = (0, [])
            let progress = piece.withUnsafeBufferPointer { reader.read($0, from: &position, into: &body) }
            guard upload.receive(body) else { return false }
            switch progress {
            case .complete: return true
            case .refused: return false
            case .incomplete: break
            }
            guard upload.hasFile || SystemClock.milliseconds() - start < tokenTimeoutMilliseconds else {
                return false
            }
            var count = 0
            piece = [UInt8](unsafeUninitializedCapacity: 256 * 1024) { buffer, filled in
                count = detachedClient.receive(into: UnsafeMutableRawBufferPointer(buffer))
                filled = max(0, count)
            }
            if count == 0 { return false }
            guard count < 0 else { continue }
            guard errno == EAGAIN || errno == EINTR else { return false }
            var waiting = pollfd(fd: detachedClient.descriptor, events: Int16(POLLIN), revents: 0)
            let ready = poll(&waiting, 1, idleTimeoutMilliseconds)
            guard ready > 0 || ready < 0 && errno == EINTR else { return false }
        }
    }
}

extension PortalUpload {
    /// Whether the file has begun, and so the token was accepted.
    fileprivate var hasFile: Bool { name != nil }
}
