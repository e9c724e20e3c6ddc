internal import Fetch
internal import Glibc
internal import Store
internal import Synchronization
internal import System
internal import Web

/// Runs the ``MediaCommand`` of a crawl, one URL after the other, on a thread of its own. Any thread may call the methods.
///
/// The response to a URL becomes a page with a `<video>`, and its files get URLs below it.
final class MediaCommandRunner: Sendable {
    /// The header field of the responses that a command made. It comes first, so that it is found at once.
    static let fieldName = "Larder-Media"
    /// The part of the path above the files.
    private static let folderName = "larder-media"

    private struct State {
        var queue: [(number: UInt32, url: WebURL)] = []
        var results: [FetchResult] = []
        /// The files by their URLs.
        var files: [String: (path: String, type: String)] = [:]
        var thread: NamedThread?
        var isBusy = false
    }

    private let command: MediaCommand
    private let folder: String
    private let limits: (seconds: Int64, bytes: Int)
    private let wake: @Sendable () -> Void
    private let state = Mutex(State())
    private let isStopped = Atomic<Bool>(false)

    /// The maximum time for one URL. Then the program is killed.
    private static let maxSeconds: Int64 = 3600
    /// The maximum number of files that are stored for a URL.
    private static let maxFiles = 100

    /// - Parameters:
    ///   - folder: a folder in the file system of the store, which is created and removed.
    ///   - maxBytes: the maximum size of all files of a URL.
    ///   - wake: called when a result is ready.
    init(_ command: MediaCommand, in folder: String, maxBytes: Int, wake: @escaping @Sendable () -> Void) {
        self.command = command
        self.folder = folder
        self.wake = wake
        limits = (Self.maxSeconds, maxBytes)
    }

    /// The stored response that a command made in an earlier run. It is used again without a request, since the server has
    /// another one.
    static func madeResponse(_ decision: CacheLookup.Decision?) -> StoredResponse? {
        let stored: StoredResponse?
        switch decision {
        case .load(_, let response)?: stored = response
        case .validate(let copy, _)?: stored = copy.response
        case .done?, .failed?, .reuse?, nil: stored = nil
        }
        return stored.flatMap { $0.fields.hasPrefix("\(fieldName):") ? $0 : nil }
    }

    func handles(_ url: WebURL) -> Bool { command.matches(url) }

    /// Queues a URL.
    func start(_ number: UInt32, _ url: WebURL) {
        let needsThread = state.withLock { state in
            state.queue.append((number, url))
            defer { state.isBusy = true }
            return !state.isBusy
        }
        guard needsThread else { return }
        do throws(SystemError) {
            let thread = try NamedThread.start("larder-media") { [self] in runQueue() }
            state.withLock { $0.thread = thread }
        } catch {
            state.withLock { state in
                state.isBusy = false
                let failure = FetchFailure(.refused, error.description)
                state.results += state.queue.map {
                    FetchResult(number: $0.number, url: $0.url, outcome: .failure(failure))
                }
                state.queue = []
            }
            wake()
        }
    }

    func takeResults() -> [FetchResult] {
        state.withLock { state in
            defer { state.results = [] }
            return state.results
        }
    }

    /// The response for a file that a command made; nil for other URLs.
    func fileResult(_ number: UInt32, _ url: WebURL) -> FetchResult? {
        guard let file = state.withLock({ $0.files.removeValue(forKey: url.href) }) else { return nil }
        let fields = Self.fields("file", file.type)
        let body = FetchedBody.file(path: file.path, byteCount: Self.byteCount(file.path) ?? 0)
        return FetchResult(
            number: number, url: url,
            outcome: .response(FetchedResponse(status: 200, fields: fields, body: body)))
    }

    private static func fields(_ mark: String, _ type: String) -> HTTPFields {
        [fieldName: mark, "Content-Type": type]
    }

    /// Kills the running program, and removes files that were not stored.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        state.withLock { $0.thread }?.join()
        Folder.remove(folder)
    }

    // MARK: - The thread

    private func runQueue() {
        while true {
            let next: (number: UInt32, url: WebURL)? = state.withLock { state in
                if state.queue.isEmpty {
                    state.isBusy = false
                    return nil
                }
                return state.queue.removeFirst()
            }
            guard let next else { return }
            let outcome: FetchResult.Outcome
            do throws(FetchFailure) {
                let page = try run(next.url, "\(folder)/\(next.number)")
                let fields = Self.fields("page", "text/html; charset=utf-8")
                outcome = .response(
                    FetchedResponse(status: 200, fields: fields, body: .bytes(Array(page.utf8))))
            } catch {
                outcome = .failure(error)
            }
            state.withLock {
                $0.results.append(FetchResult(number: next.number, url: next.url, outcome: outcome))
            }
            wake()
        }
    }

    /// Runs the command for a URL, and returns the page that shows its files.
    private func run(_ url: WebURL, _ folder: String) throws(FetchFailure) -> String {
        guard let program = command.program else {
            throw FetchFailure(.refused, "the media command \(command.words[0]) is not installed")
        }
        let (work, output) = ("\(folder)/work", "\(folder)/files")
        let clock = ContinuousClock()
        let end = clock.now + .seconds(limits.seconds)
        var nextCount = clock.now
        var reason: String?
        let outcome: ExternalProgram.Outcome?
        do throws(SystemError) {
            for path in [self.folder, folder, work, output] { try Folder.make(path) }
            outcome = try ExternalProgram.run(
                program, command.arguments(for: url, folder: output), in: work, keeping: Self.keptVariables
            ) {
                if isStopped.load(ordering: .relaxed) { reason = "the run has ended" }
                let now = clock.now
                if now > end { reason = "it took longer than \(limits.seconds) seconds" }
                if now >= nextCount {
                    nextCount = now + .seconds(1)
                    if Self.byteCount(below: output) > limits.bytes {
                        reason = "its files have more than \(limits.bytes) bytes, the maximum of a body"
                    }
                }
                return reason != nil
            }
        } catch {
            throw FetchFailure(.refused, error.description)
        }
        guard let outcome, outcome.status == 0 else {
            throw FetchFailure(.refused, "\(command.words[0]): \(reason ?? outcome?.errorSummary ?? "")")
        }
        guard Self.byteCount(below: output) <= limits.bytes else {
            throw FetchFailure(
                .tooLarge, "its files have more than \(limits.bytes) bytes, the maximum of a body")
        }
        return try page(of: MediaFile.all(in: output).prefix(Self.maxFiles), url)
    }

    private static let keptVariables = [
        "HOME", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
        "SSL_CERT_FILE",
    ]

    /// Names the files, and returns the page that shows them.
    private func page(of files: some Collection<MediaFile>, _ url: WebURL) throws(FetchFailure) -> String {
        let playable = files.filter { $0.kind == .video || $0.kind == .audio }
        guard let main = playable.max(by: { $0.byteCount < $1.byteCount }) else {
            throw FetchFailure(.refused, "\(command.words[0]) made no video or sound")
        }
        let folder =
            "\(url.path.hasSuffix("/") ? url.path : url.path + "/")\(Self.folderName)/\(Self.key(of: url))"
        func publish(_ file: MediaFile, _ name: String) -> String {
            let path = "\(folder)/\(name)"
            if let target = WebURL(path, base: url)?.key {
                state.withLock { $0.files[target.href] = (file.path, file.type) }
            }
            return path.replacing("&", with: "&amp;").replacing("\"", with: "&quot;").replacing(
                "<", with: "&lt;")
        }
        let source = publish(main, "video.\(main.suffix)")
        let poster = files.first { $0.kind == .picture }.map {
            " poster=\"\(publish($0, "poster.\($0.suffix)"))\""
        }
        var tracks = ""
        for (place, file) in files.filter({ $0.kind == .subtitles }).enumerated() {
            let language = file.language
            let path = publish(file, "subtitles-\(place + 1).\(file.suffix)")
            tracks +=
                "<track kind=\"subtitles\" srclang=\"\(language)\" label=\"\(language)\" src=\"\(path)\">"
        }
        return """
            <!doctype html><meta charset="utf-8"><title>Video</title>
            <style>html,body,video{margin:0;width:100%;height:100%;background:#000}</style>
            <video controls preload="metadata" src="\(source)"\(poster ?? "")>\(tracks)</video>

            """
    }

    /// Distinguishes URLs that differ only in their query.
    private static func key(of url: WebURL) -> String {
        let hash = url.href.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        return String(hash, radix: 16)
    }

    private static func byteCount(_ path: String) -> Int? {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
    }

    /// The size of all files in a folder. Folders in it are not followed.
    private static func byteCount(below folder: String) -> Int {
        (Folder.names(in: folder) ?? []).reduce(0) {
            $0 + (byteCount("\(folder)/\(String(decoding: $1, as: UTF8.self))") ?? 0)
        }
    }

    /// A file that a command made.
    struct MediaFile {
        enum Kind { case video, audio, subtitles, picture }

        let path: String
        let suffix: String
        let kind: Kind
        let type: String
        let byteCount: Int
        /// The language in the name of subtitles, such as `en` of `talk.en.vtt`; empty if there is none.
        let language: String

        private static let types: [String: (kind: Kind, type: String)] = [
            "mp4": (.video, "video/mp4"), "m4v": (.video, "video/mp4"), "webm": (.video, "video/webm"),
            "mkv": (.video, "video/x-matroska"), "mov": (.video, "video/quicktime"),
            "ogv": (.video, "video/ogg"),
            "mp3": (.audio, "audio/mpeg"), "m4a": (.audio, "audio/mp4"), "ogg": (.audio, "audio/ogg"),
            "opus": (.audio, "audio/ogg"), "wav": (.audio, "audio/wav"), "flac": (.audio, "audio/flac"),
            "vtt": (.subtitles, "text/vtt"), "jpg": (.picture, "image/jpeg"),
            "jpeg": (.picture, "image/jpeg"),
            "png": (.picture, "image/png"), "webp": (.picture, "image/webp"),
        ]

        init?(_ name: String, in folder: String) {
            let parts = name.split(separator: ".")
            path = "\(folder)/\(name)"
            guard parts.count > 1, let suffix = parts.last?.lowercased(), let known = Self.types[suffix],
                let byteCount = MediaCommandRunner.byteCount(path), byteCount > 0
            else { return nil }
            self.suffix = suffix
            (kind, type, self.byteCount) = (known.kind, known.type, byteCount)
            let word = parts.count > 2 ? parts[parts.count - 2] : ""
            let isLanguage =
                (2...12).contains(word.utf8.count)
                && word.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") }
            language = isLanguage ? String(word) : ""
        }

        /// The usable files of a folder, by their names. Links and folders are left out.
        static func all(in folder: String) -> [MediaFile] {
            (Folder.names(in: folder) ?? []).map { String(decoding: $0, as: UTF8.self) }.sorted()
                .compactMap { MediaFile($0, in: folder) }
        }
    }
}
