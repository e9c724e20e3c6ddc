/// Where cookies come from and go to. A loop without these takes none and sends none.
package struct CookieOptions: Sendable {
    /// In the format of Netscape's file.
    package var load: [String]
    /// Replaced by `FetchLoop.saveCookies`.
    package var save: String?
    /// Cookies without a date end with the run, unless they are saved too.
    package var savesSessionCookies = false

    /// They are those of a visit that nobody gave any to: they last as long as the loop, and tell servers nothing of who asks.
    package var areNobodys = false

    package init(load: [String] = [], save: String? = nil) {
        self.load = load
        self.save = save
    }
}
