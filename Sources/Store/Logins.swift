internal import Glibc
internal import System
package import Web

/// Sites to which the larder is signed in: cookies in Netscape's format, a file for each site, and the
/// profile of the browser in which they came to be. They are as secret as passwords.
extension StoreFolder {
    package struct Login: Sendable, Equatable {
        /// The registrable domain; the host where there is none.
        package let site: String
        package let path: String
        package let cookieCount: Int
        /// In seconds since 1970.
        package let kept: Int64
    }

    var loginFolder: String { path + "/logins" }
    private var loginProfile: String { loginFolder + "/profile" }
    private static let suffix = ".cookies"
    private static let mostBytes = 4 * 1024 * 1024

    /// Whose cookies an address gets.
    package static func loginName(of url: WebURL) -> String {
        PublicSuffixes.system.registrableDomain(of: url.host) ?? url.host
    }

    /// In the order of their names.
    package var logins: [Login] {
        Self.names(in: loginFolder).filter { $0.hasSuffix(Self.suffix) }.sorted().compactMap {
            login(of: String($0.dropLast(Self.suffix.count)))
        }
    }

    /// Nil where nobody has signed in.
    package func login(of site: String) -> Login? {
        let path = loginFile(of: site)
        var status = stat()
        guard stat(path, &status) == 0, let text = try? WholeFile.read(path, atMost: Self.mostBytes) else {
            return nil
        }
        let lines = text.split(separator: 0x0A).filter { $0.count { $0 == 0x09 } >= 5 }
        return Login(site: site, path: path, cookieCount: lines.count, kept: Int64(status.st_mtim.tv_sec))
    }

    package func keepLogin(of site: String, _ lines: [String]) throws(StoreError) {
        try Self.makeFolders(loginFolder)
        let text = "# Netscape HTTP Cookie File\n\n" + lines.sorted().map { $0 + "\n" }.joined()
        try StoreError.wrapping { () throws(SystemError) in
            try WholeFile.replace(loginFile(of: site), with: text)
        }
    }

    /// Where the browser keeps who is signed in.
    package func makeLoginProfile() throws(StoreError) -> String {
        try Self.makeFolders(loginProfile)
        return loginProfile
    }

    /// With the last one the profile goes too, which has them all.
    package func forgetLogin(of site: String) throws(StoreError) {
        try StoreError.wrapping { () throws(SystemError) in
            let file = loginFile(of: site)
            guard unlink(file) == 0 || errno == ENOENT else {
                throw SystemError(errno, doing: "remove", file)
            }
        }
        if logins.isEmpty { Folder.remove(loginFolder) }
    }

    /// A host has no slash, and an IPv6 address colons, which files may have.
    private func loginFile(of site: String) -> String { loginFolder + "/" + site + Self.suffix }
}

/// What is kept of the portal's password, beside the store, where nobody else may read it.
extension StoreFolder {
    var passwordFile: String { path + "/password" }

    /// The line that was kept; nil where no password is set.
    package var portalPassword: String? {
        (try? WholeFile.read(passwordFile, atMost: 1024)).map { String(decoding: $0, as: UTF8.self) }
    }

    package func keep(portalPassword line: String) throws(StoreError) {
        try Self.makeFolders(path)
        try StoreError.wrapping { () throws(SystemError) in
            try WholeFile.replace(passwordFile, with: line + "\n")
        }
    }

    /// Gives whether there was one.
    package func forgetPortalPassword() throws(StoreError) -> Bool {
        try StoreError.wrapping { () throws(SystemError) in
            if unlink(passwordFile) == 0 { return true }
            guard errno == ENOENT else { throw SystemError(errno, doing: "remove", passwordFile) }
            return false
        }
    }
}

/// What was done by way of the portal, for its next run.
extension StoreFolder {
    var portalFile: String { path + "/portal.json" }
    var portalLock: String { path + "/portal.lock" }
    /// What people hand in on the portal, and what is made for them to take away.
    package var portalFiles: String { path + "/portal" }
    private static let mostPortalBytes = 8 * 1024 * 1024

    var portalBar: String { path + "/portal.bar" }

    /// Whether the bar on pages was switched on last.
    package var hasPortalBar: Bool { access(portalBar, F_OK) == 0 }

    package func keep(portalBar isOn: Bool) throws(StoreError) {
        try StoreError.wrapping { () throws(SystemError) in
            if isOn { try WholeFile.replace(portalBar, with: "") } else { Folder.remove(portalBar) }
        }
    }

    var rootFile: String { path + "/roots" }
    private static let maxRootFileBytes = 64 * 1024

    /// The origin of the site that each name and port of this machine served at the root last, by `name:port`.
    package var servedRoots: [String: String] {
        let bytes = (try? WholeFile.read(rootFile, atMost: Self.maxRootFileBytes)) ?? []
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        let pairs = lines.map { $0.split(separator: " ", maxSplits: 1).map(String.init) }
        return Dictionary(
            pairs.filter { $0.count == 2 }.map { ($0[0], $0[1]) }, uniquingKeysWith: { _, last in last })
    }

    package func keep(servedRoots: [String: String]) throws(StoreError) {
        let lines = servedRoots.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }
        try StoreError.wrapping { () throws(SystemError) in
            try WholeFile.replace(rootFile, with: lines.joined())
        }
    }

    /// Nil where nothing was kept, or it cannot be read.
    package var portalJobs: [UInt8]? { try? WholeFile.read(portalFile, atMost: Self.mostPortalBytes) }

    package func keep(portalJobs text: String) throws(StoreError) {
        try StoreError.wrapping { () throws(SystemError) in try WholeFile.replace(portalFile, with: text) }
    }

    /// To be held by the one server of several that keeps what is done by its portal. Nil where another one
    /// does. The kernel lets go of it when the server ends, however it ends.
    package func lockPortal() -> PortalLock? { PortalLock(portalLock) }
}

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
