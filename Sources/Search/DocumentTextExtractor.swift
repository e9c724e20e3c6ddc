internal import Glibc
internal import Markup
internal import System
internal import Web

/// Extracts the text of formats other than HTML and plain text: Markdown with our own parser, and documents
/// with programs that are used if they are installed.
enum DocumentTextExtractor {
    /// Returns the text; nil for other media types, and if the program is missing or fails.
    static func text(of bytes: [UInt8], type: String?) -> DocumentText? {
        switch type {
        case "text/markdown", "text/x-markdown": DocumentText(markdown: bytes.span)
        case let type?:
            programs.first { $0.type == type }.flatMap { program in
                output(of: program.command, over: bytes).map { DocumentText(plain: $0.span) }
            }
        case nil: nil
        }
    }

    /// Shell commands that write the text of the document `$1` to the standard output.
    private static let programs: [(type: String, command: String)] = [
        ("application/pdf", "pdftotext -q -enc UTF-8 \"$1\" -"),
        ("application/epub+zip", "unzip -p \"$1\" '*.xhtml' '*.html' '*.htm' | sed 's/<[^>]*>/ /g'"),
        ("application/vnd.oasis.opendocument.text", "odt2txt \"$1\""),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx2txt \"$1\" -"),
    ]

    /// Limits for hostile documents: 1 GiB of memory, 10 seconds of CPU time, 20 seconds in total. Beyond them the program
    /// ends, and the document has no text.
    private static let resourceLimits = "ulimit -v 1048576; ulimit -t 10; ulimit -c 0; exec timeout 20 sh -c"
    /// The maximum size of a text in bytes. The rest is ignored.
    private static let maxOutputBytes = 8 << 20

    /// Returns the output of a command for a document; nil if there is none.
    private static func output(of command: String, over bytes: [UInt8]) -> [UInt8]? {
        guard let folder = try? Folder.makeTemporary(named: "larder-text") else { return nil }
        defer { Folder.remove(folder) }
        guard let path = try? WholeFile.makeTemporary(in: folder, named: "document", bytes),
            let pipe = try? Pipe()
        else {
            return nil
        }
        defer { close(pipe.reading) }
        let process = spawn(
            ["sh", "-c", "\(resourceLimits) \"$0\" sh \"$1\"", command, path], output: pipe.writing)
        close(pipe.writing)
        guard let process else { return nil }
        var output: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while output.count < maxOutputBytes {
            let count = read(pipe.reading, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            output += piece[..<count]
        }
        // The program blocks on the full pipe, so it must be killed.
        if output.count >= maxOutputBytes { kill(process, SIGTERM) }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return output.isEmpty ? nil : output
    }

    /// Starts `/bin/sh` with these arguments. Its input is empty, its errors are dropped, and its output goes to a pipe.
    private static func spawn(_ words: [String], output: Int32) -> pid_t? {
        var words: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        defer { for word in words { free(word) } }
        words.append(nil)
        var actions = posix_spawn_file_actions_t()
        guard posix_spawn_file_actions_init(&actions) == 0 else { return nil }
        defer { posix_spawn_file_actions_destroy(&actions) }
        var process = pid_t()
        guard posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0,
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0,
            posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) == 0,
            posix_spawn(&process, "/bin/sh", &actions, nil, words, environ) == 0
        else { return nil }
        return process
    }
}
