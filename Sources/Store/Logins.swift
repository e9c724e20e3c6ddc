package import Database
internal import Glibc
internal import System
package import Web

/// The logins of sites: cookies in Netscape's format, in one file per site, and the browser profile in which
/// the user signed in. They are as secret as passwords.
extension StoreFolder {
    /// The stored login of a site.
    package struct Login: Sendable, Equatable {
        /// The registrable domain, or the host if there is none.
        package let site: String
        package let path: String
        package let cookieCount: Int
        /// The time when it was stored, in seconds since 1970.
        package let stored: Int64
    }

    var loginFolder: String { path + "/logins" }
    private var loginProfile: String { loginFolder + "/profile" }
    private static let suffix = ".cookies"
    /// A larger cookie file counts as missing.
    private static let maxLoginBytes = 4 * 1024 * 1024

    /// The name of the login whose cookies are sent to a URL: its registrable domain, or its host if there is
    /// none.
    package static func loginName(of url: WebURL) -> String {
        PublicSuffixes.system.registrableDomain(of: url.host) ?? url.host
    }

    /// All logins, sorted by name.
    package var logins: [Login] {
        Self.names(in: loginFolder).filter { $0.hasSuffix(Self.suffix) }.sorted().compactMap {
            login(of: String($0.dropLast(Self.suffix.count)))
        }
    }

    /// The login of a site, or nil if there is none.
    package func login(of site: String) -> Login? {
        let path = loginFile(of: site)
        var status = stat()
        guard stat(path, &status) == 0, let text = try? WholeFile.read(path, atMost: Self.maxLoginBytes)
        else {
            return nil
        }
        let lines = text.split(separator: 0x0A).filter { $0.count { $0 == 0x09 } >= 5 }
        return Login(site: site, path: path, cookieCount: lines.count, stored: Int64(status.st_mtim.tv_sec))
    }

    /// The login whose cookies are sent to a URL, or nil if there is none.
    package func login(for url: WebURL) -> Login? {
        // Without any login, the public suffix list is not needed. Loading it takes some milliseconds.
        Folder.exists(loginFolder) ? login(of: Self.loginName(of: url)) : nil
    }

    /// Stores the cookies of a site, in place of earlier ones.
    ///
    /// - Parameter lines: the cookies in the format of a Netscape cookie file.
    package func storeLogin(of site: String, _ lines: [String]) throws(StoreError) {
        try Self.makeFolders(loginFolder)
        let text = "# Netscape HTTP Cookie File\n\n" + lines.sorted().map { $0 + "\n" }.joined()
        try StoreError.wrapping { () throws(SystemError) in
            try WholeFile.replace(loginFile(of: site), with: text)
        }
    }

    /// Creates the folder of the browser profile for logins, and returns its path.
    package func makeLoginProfile() throws(StoreError) -> String {
        try Self.makeFolders(loginProfile)
        return loginProfile
    }

    /// Removes the login of a site. The browser profile contains all logins, so it is removed with the last
    /// one.
    package func removeLogin(of site: String) throws(StoreError) {
        try StoreError.wrapping { () throws(SystemError) in
            let file = loginFile(of: site)
            guard unlink(file) == 0 || errno == ENOENT else {
                throw SystemError(errno, doing: "remove", file)
            }
        }
        if logins.isEmpty { Folder.remove(loginFolder) }
    }

    /// The file name needs no escaping: a host has no slash, and the colons of an IPv6 address are allowed in
    /// file names.
    private func loginFile(of site: String) -> String { loginFolder + "/" + site + Self.suffix }
}

/// The stored password of the portal, in a file that only this user may read.
extension StoreFolder {
    var passwordFile: String { path + "/password" }

    /// The stored line, or nil if no password is set.
    package var portalPassword: String? {
        (try? WholeFile.read(passwordFile, atMost: 1024)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Stores the line with the password, in place of an earlier one.
    package func storePortalPassword(_ line: String) throws(StoreError) {
        try Self.makeFolders(path)
        try StoreError.wrapping { () throws(SystemError) in
            try WholeFile.replace(passwordFile, with: line + "\n")
        }
    }

    /// Removes the password, and returns whether there was one.
    package func removePortalPassword() throws(StoreError) -> Bool {
        try StoreError.wrapping { () throws(SystemError) in
            if unlink(passwordFile) == 0 { return true }
            guard errno == ENOENT else { throw SystemError(errno, doing: "remove", passwordFile) }
            return false
        }
    }
}

/// The state of the portal that is kept between runs.
extension StoreFolder {
    var portalFile: String { path + "/portal.json" }
    var portalLock: String { path + "/portal.lock" }
    /// The folder for files that users upload to the portal and that it creates for download.
    package var portalFiles: String { path + "/portal" }
    /// A larger file of jobs counts as missing.
    private static let maxPortalBytes = 8 * 1024 * 1024

    var portalBar: String { path + "/portal.bar" }

    /// Whether the bar on mirrored pages was last switched on or off; nil if it never was. An empty file means on.
    package var showsPortalBar: Bool? {
        (try? WholeFile.read(portalBar, atMost: 16)).map { !$0.elementsEqual("off".utf8) }
    }

    /// Stores whether the bar on mirrored pages is switched on.
    package func storePortalBar(_ isOn: Bool) throws(StoreError) {
        try StoreError.wrapping { () throws(SystemError) in
            try WholeFile.replace(portalBar, with: isOn ? "" : "off")
        }
    }

    var portalLanguageFile: String { path + "/portal.language" }

    /// The code of the language that the user chose last in the portal; nil if there is none.
    package var portalLanguage: String? {
        (try? WholeFile.read(portalLanguageFile, atMost: 16)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Stores the code of the language that the user chose in the portal.
    package func storePortalLanguage(_ code: String) throws(StoreError) {
        try StoreError.wrapping { () throws(SystemError) in
            try WholeFile.replace(portalLanguageFile, with: code)
        }
    }

    var extensionFile: String { path + "/extensions.json" }
    private static let maxExtensionFileBytes = 64 * 1024

    /// The browser extensions that may save pages as JSON, or nil if there are none.
    package var portalExtensions: [UInt8]? {
        try? WholeFile.read(extensionFile, atMost: Self.maxExtensionFileBytes)
    }

    /// Stores the browser extensions that may save pages as JSON.
    package func storePortalExtensions(_ text: String) throws(StoreError) {
        try StoreError.wrapping { () throws(SystemError) in try WholeFile.replace(extensionFile, with: text) }
    }

    var rootFile: String { path + "/roots" }
    private static let maxRootFileBytes = 64 * 1024

    /// The origin of the site that was last served at the root, for each name and port of this machine. The
    /// keys have the form `name:port`.
    package var servedRoots: [String: String] {
        let bytes = (try? WholeFile.read(rootFile, atMost: Self.maxRootFileBytes)) ?? []
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        let pairs = lines.map { $0.split(separator: " ", maxSplits: 1).map(String.init) }
        return Dictionary(
            pairs.filter { $0.count == 2 }.map { ($0[0], $0[1]) }, uniquingKeysWith: { _, last in last })
    }

    /// Stores the origins that are served at the root, in the form of `servedRoots`.
    package func storeServedRoots(_ servedRoots: [String: String]) throws(StoreError) {
        let lines = servedRoots.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }
        try StoreError.wrapping { () throws(SystemError) in
            try WholeFile.replace(rootFile, with: lines.joined())
        }
    }

    /// The stored jobs of the portal as JSON, or nil if there are none or they cannot be read.
    package var portalJobs: [UInt8]? { try? WholeFile.read(portalFile, atMost: Self.maxPortalBytes) }

    /// Stores the jobs of the portal as JSON.
    package func storePortalJobs(_ text: String) throws(StoreError) {
        try StoreError.wrapping { () throws(SystemError) in try WholeFile.replace(portalFile, with: text) }
    }

    /// Takes the lock of the server that stores the portal's jobs. Returns nil if another server has it. The
    /// kernel releases it when the process ends.
    package func lockPortal() -> PortalLock? { PortalLock(portalLock) }
}

/// A lock on a file, which is released when the object is freed.
package final class PortalLock: Sendable {
    private let file: Int32

    fileprivate init?(_ path: String) {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return nil }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            close(file)
            return nil
        }
        self.file = file
    }

    deinit { close(file) }
}
