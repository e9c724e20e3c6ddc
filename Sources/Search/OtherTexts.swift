internal import Glibc
internal import Markup
internal import System
internal import Web

/// The text of what is neither HTML nor plain: Markdown by its own reader, and documents by programs of this
/// machine, where they are installed.
enum OtherTexts {
    /// Nil for what is read by its form, and for what nobody here can read.
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

    /// `$1` is the document, and its text comes out.
    private static let programs: [(type: String, command: String)] = [
        ("application/pdf", "pdftotext -q -enc UTF-8 \"$1\" -"),
        ("application/epub+zip", "unzip -p \"$1\" '*.xhtml' '*.html' '*.htm' | sed 's/<[^>]*>/ /g'"),
        ("application/vnd.oasis.opendocument.text", "odt2txt \"$1\""),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx2txt \"$1\" -"),
    ]

    /// Kilobytes of memory, seconds of work and of waiting: a document may be made to take all that there is.
    private static let bounds = "ulimit -v 1048576; ulimit -t 10; ulimit -c 0; exec timeout 20 sh -c"
    private static let mostOutput = 8 << 20

    /// Nil where there is no such program, or it fails.
    private static func output(of command: String, over bytes: [UInt8]) -> [UInt8]? {
        guard let folder = try? Folder.makeTemporary(named: "larder-text") else { return nil }
        defer { Folder.remove(folder) }
        guard let path = try? WholeFile.temporary(in: folder, named: "document", bytes),
            let pipe = try? Pipe()
        else {
            return nil
        }
        defer { close(pipe.reading) }
        let process = spawn(["sh", "-c", "\(bounds) \"$0\" sh \"$1\"", command, path], output: pipe.writing)
        close(pipe.writing)
        guard let process else { return nil }
        var output: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while output.count < mostOutput {
            let count = read(pipe.reading, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            output += piece[..<count]
        }
        // What it still says goes nowhere, and ends it.
        if output.count >= mostOutput { kill(process, SIGTERM) }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return output.isEmpty ? nil : output
    }

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
