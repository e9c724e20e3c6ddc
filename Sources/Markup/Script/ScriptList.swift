/// A list of literals whose first element stood behind something that says what it lists.
struct ScriptList {
    enum Meaning {
        /// Addresses relative to the script.
        case own
        /// Files of a bundler's output, from its folder, unless a dot or a slash says otherwise.
        case build
        /// What a service worker stores before it is needed.
        case precached
    }

    var meaning: Meaning
    /// Where the last element starts.
    var last: Int
}
