internal import Web

extension HTTPFields {
    /// Whether the answer is for a person to read: a browser says what it wants it for, others what they would take.
    var isNavigation: Bool {
        if let destination = self["Sec-Fetch-Dest"] {
            return ["document", "iframe", "frame", "fencedframe"].contains(destination)
        }
        return self["Accept"]?.utf8.contains("text/html".utf8) ?? false
    }
}
