internal import Glibc
internal import System
package import Web

/// Sites to which the larder is signed in: cookies in Netscape's format, a file for each site, and the profile of the
/// browser in which they came to be. They are as secret as passwords.
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
        guard stat(path, &status) == 0, let text = try? WholeFile.read(path, atMost: Self.mostBytes) else { return nil }
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
            guard unlink(file) == 0 || errno == ENOENT else { throw SystemError(errno, doing: "remove", file) }
        }
        if logins.isEmpty { Folder.remove(loginFolder) }
    }

    /// A host has no slash, and an IPv6 address colons, which files may have.
    private func loginFile(of site: String) -> String { loginFolder + "/" + site + Self.suffix }
}
