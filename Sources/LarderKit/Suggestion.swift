internal import Bundles

/// What a mistyped word probably meant.
public enum Suggestion {
    /// Nil when nothing is close.
    public static func closest(to word: String, among candidates: [String]) -> String? {
        Spelling.closest(to: word, among: candidates)
    }
}
