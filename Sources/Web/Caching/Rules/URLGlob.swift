/// A pattern of URLs: `*` stands for any run of characters without a slash, `**` for any run whatever, `?` for any one
/// character but a slash; everything else stands for itself.
///
/// What a pattern is held against depends on how it looks:
/// - `https://example.com/docs/**`, with `://`: the URL;
/// - `/api/*`, with a slash first: path and query, on any host;
/// - `example.com/docs/**`: host, port unless it is the default, path and query, by http and https;
/// - `*.example.com`, without a slash: host and port.
///
/// The query is looked at only where the pattern has a question mark; fragments and credentials never are. Matching takes
/// time linear in the URL: one step of an automaton for each byte, all of whose states are moved at once.
package struct URLGlob: Sendable, Hashable {
    package let text: String
    private let subject: Subject
    private let automaton: GlobAutomaton

    private enum Subject: Sendable, Hashable {
        case url, place, target, authority
    }

    /// Nil when the pattern is empty or longer than a kilobyte.
    package init?(_ text: String) {
        guard let automaton = GlobAutomaton(text.utf8) else { return nil }
        self.text = text
        self.automaton = automaton
        let bytes = Array(text.utf8)
        let isWholeURL = bytes.indices.contains { bytes[$0...].starts(with: "://".utf8) }
        subject =
            isWholeURL ? .url : bytes.first == 0x2F ? .target : bytes.contains(0x2F) ? .place : .authority
    }

    package func matches(_ url: WebURL) -> Bool {
        let target = text.utf8.contains(0x3F) ? url.target : url.path
        let authority = url.host + (url.port.map { ":\($0)" } ?? "")
        return switch subject {
        case .url: automaton.matches("\(url.scheme)://\(authority)\(target)".utf8)
        case .place: url.isHTTP && automaton.matches((authority + target).utf8)
        case .target: automaton.matches(target.utf8)
        case .authority: automaton.matches(authority.utf8)
        }
    }

    package static func == (left: URLGlob, right: URLGlob) -> Bool { left.text == right.text }

    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
