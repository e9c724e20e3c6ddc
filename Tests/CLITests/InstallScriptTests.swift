import Glibc
import TestOrigin
import Testing

/// Tests `install.sh` with a server that has a small release.
@Suite struct InstallScriptTests {
    private static let version = "9.8.7"
    private static let archive = "larder-\(version)-linux-\(machine).tar.gz"
    private static let machine = {
        var name = utsname()
        uname(&name)
        return withUnsafeBytes(of: &name.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }()

    private let home: TemporaryFolder
    private let origin: TestOrigin
    private let bytes: [UInt8]
    private let sums: String
    private var installed: String { home.file("there/bin/larder") }

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        let files = """
            set -e; cd '\(home.path)'
            sed 's/^version=.*/version=\(Self.version)/' '\(SourceText.root)/install.sh' > install.sh
            top=larder-\(Self.version)-linux-\(Self.machine)
            mkdir -p $top/bin $top/lib/larder $top/lib/systemd/user $top/lib/systemd/system
            printf '#!/bin/sh\\necho larder \(Self.version)\\n' > $top/bin/larder
            chmod 755 $top/bin/larder
            echo library > $top/lib/larder/libcurl.so.4
            echo 'ExecStart=/usr/bin/larder serve' | tee $top/lib/systemd/user/larder.service > $top/lib/systemd/system/a.service
            tar -czf \(Self.archive) $top
            sha256sum \(Self.archive) > SHA256SUMS
            """
        _ = try Self.shell(files)
        bytes = Self.read(home.file(Self.archive))
        sums = String(decoding: Self.read(home.file("SHA256SUMS")), as: UTF8.self)
        origin.on("/SHA256SUMS", .file(sums, type: "text/plain"))
        origin.on("/" + Self.archive, .file(bytes, type: "application/gzip"))
    }

    private static func read(_ path: String) -> [UInt8] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = fgetc(file), byte != EOF { bytes.append(UInt8(byte)) }
        return bytes
    }

    /// Runs a shell script with the system's programs.
    private static func shell(_ text: String, environment: [String: String] = [:]) throws
        -> ChildProcess.Ending
    {
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        return try ChildProcess(
            "/bin/sh", ["-c", text], environment: environment.merging(["PATH": path]) { own, _ in own }
        ).wait()
    }

    /// Runs `install.sh` with the test server as its source, and the prefix `there`.
    private func install(_ options: String = "", base: String? = nil) throws -> ChildProcess.Ending {
        try Self.shell(
            "cd \"$HOME\" && exec sh install.sh --prefix there --base '\(base ?? origin.base)' \(options)",
            environment: ["HOME": home.path, "TMPDIR": home.path])
    }

    /// Expects that the script failed for a reason and installed nothing.
    private func expectFailure(_ ending: ChildProcess.Ending, status: Int32, _ reason: String) {
        #expect(ending.status == status, "\(ending)")
        #expect(ending.errors.contains(reason), "\(ending)")
        #expect(access(home.file("there"), F_OK) != 0)
        let left = try? Self.shell("ls -d '\(home.path)'/larder-install.* 2>/dev/null")
        #expect(left?.output == "")
    }

    @Test func `an archive is installed, and removed with everything but other files`() throws {
        let ending = try install()
        #expect(ending.status == 0, "\(ending)")
        #expect(ending.errors.hasSuffix("installed larder \(Self.version): \(installed)\n"))
        #expect(access(installed, X_OK) == 0)
        let unit = SourceText.read(home.file("there/share/systemd/user/larder.service"))
        #expect(unit == "ExecStart=\(installed) serve\n")
        #expect(access(home.file("there/lib/systemd"), F_OK) != 0)
        try home.write("mine", to: "there/bin/other")
        #expect(try install("--uninstall").status == 0)
        #expect(try Self.shell("cd '\(home.path)/there' && find . -type f").output == "./bin/other\n")
        #expect(unlink(home.file("there/bin/other")) == 0)
        #expect(try install("--uninstall").status == 3)
    }

    @Test func `a removal keeps folders that were there before and folders with other files`() throws {
        _ = try Self.shell("mkdir -p '\(home.path)/there/bin' '\(home.path)/there/lib'")
        #expect(try install().status == 0)
        try home.write("mine", to: "there/lib/larder/mine")
        #expect(try install().status == 0)
        #expect(try install("--uninstall").status == 0)
        let left = try Self.shell("cd '\(home.path)/there' && find . -mindepth 1 | sort").output
        #expect(left == "./bin\n./lib\n./lib/larder\n./lib/larder/mine\n")
    }

    @Test(arguments: ["--prefix there --uninstall", "--user --uninstall"])
    func `a removal without an installation never removes the package of the system`(options: String) throws {
        let ending = try Self.shell(
            """
            cd "$HOME" && mkdir fake
            for name in dpkg dpkg-query rpm sudo; do
                printf '#!/bin/sh\\necho "$0 $*" >> "$HOME/run"\\n' > fake/$name && chmod 755 fake/$name
            done
            PATH=$HOME/fake:$PATH exec sh install.sh \(options)
            """, environment: ["HOME": home.path, "TMPDIR": home.path])
        expectFailure(ending, status: 3, "found no installation")
        #expect(access(home.file("run"), F_OK) != 0)
    }

    @Test func `a partial installation can be removed`() throws {
        let ending = try Self.shell(
            """
            cd "$HOME" && mkdir fake && real=$(command -v cp)
            cat > fake/cp <<TEXT
            #!/bin/sh
            case "\\$*" in
                *--remove-destination*) mkdir -p there/bin && echo half > there/bin/larder && kill -HUP \\$PPID && exit 1 ;;
            esac
            exec $real "\\$@"
            TEXT
            chmod 755 fake/cp
            PATH=$HOME/fake:$PATH exec sh install.sh --prefix there --base '\(origin.base)'
            """, environment: ["HOME": home.path, "TMPDIR": home.path])
        #expect(ending.status == 129, "\(ending)")
        #expect(try Self.shell("ls -d '\(home.path)'/larder-install.* 2>/dev/null").output == "")
        #expect(try install("--uninstall").status == 0)
        #expect(try Self.shell("cd '\(home.path)/there' && find . -mindepth 1").output == "")
    }

    @Test func `an installation by root is usable by all users with any umask`() throws {
        let ending = try Self.shell(
            "cd \"$HOME\" && umask 077 && exec sh install.sh --system --prefix there --base '\(origin.base)'",
            environment: ["HOME": home.path, "TMPDIR": home.path])
        #expect(ending.status == 0, "\(ending)")
        let modes = try Self.shell(
            "cd '\(home.path)/there' && stat -c %a . bin bin/larder share/larder/installed-files")
        #expect(modes.output == "755\n755\n755\n644\n")
    }

    @Test func `the help is printed by a copy from a pipe`() throws {
        let ending = try Self.shell("sh -s -- --help < '\(SourceText.root)/install.sh'")
        #expect(ending.status == 0 && ending.output.contains("--require-signature"), "\(ending)")
    }

    @Test func `a truncated script runs nothing`() throws {
        let size = Self.read(home.file("install.sh")).count
        for missing in [2, 3, 8, 10, 15, 20, 25, 40, 200, 1000, size - 200] {
            let ending = try Self.shell(
                "cd \"$HOME\" && head -c \(size - missing) install.sh > part.sh && exec sh part.sh --prefix there --base '\(origin.base)'",
                environment: ["HOME": home.path, "TMPDIR": home.path])
            #expect(access(home.file("there"), F_OK) != 0, "\(missing): \(ending)")
        }
    }

    @Test func `a prefix with spaces and percent signs is quoted in the unit`() throws {
        let ending = try Self.shell(
            "cd \"$HOME\" && exec sh install.sh --prefix 'a b&|50%' --base '\(origin.base)'",
            environment: ["HOME": home.path, "TMPDIR": home.path])
        #expect(ending.status == 0, "\(ending)")
        let unit = SourceText.read(home.file("a b&|50%/share/systemd/user/larder.service"))
        #expect(unit == "ExecStart=\"\(home.path)/a b&|50%%/bin/larder\" serve\n")
        let quote = try Self.shell(
            "cd \"$HOME\" && exec sh install.sh --prefix \"it's\" --base '\(origin.base)'",
            environment: ["HOME": home.path, "TMPDIR": home.path])
        #expect(quote.status == 2 && quote.errors.contains("--prefix has a quote"), "\(quote)")
    }

    @Test func `a local folder can be the source`() throws {
        #expect(try install(base: home.path).status == 0)
        #expect(try install(base: "file://" + home.path).status == 0)
    }

    @Test func `an update removes the files that the new version lacks`() throws {
        #expect(try install().status == 0)
        let list = home.file("there/share/larder/installed-files")
        try home.write("old", to: "there/lib/larder/libold.so.1")
        _ = try Self.shell("echo lib/larder/libold.so.1 >> '\(list)'")
        #expect(try install().status == 0)
        #expect(access(home.file("there/lib/larder/libold.so.1"), F_OK) != 0)
        #expect(access(home.file("there/lib/larder/libcurl.so.4"), F_OK) == 0)
    }

    @Test func `a file with the wrong checksum is not installed`() throws {
        var changed = bytes
        changed[changed.count / 2] ^= 1
        origin.on("/" + Self.archive, .file(changed, type: "application/gzip"))
        try expectFailure(install(), status: 1, "is not the file of the release")
    }

    @Test func `a file without a checksum in the list is not installed`() throws {
        for text in ["", "<html>", sums.replacing(".tar.gz", with: ".tar.gz.old"), String(sums.dropFirst())] {
            origin.on("/SHA256SUMS", .file(text, type: "text/plain"))
            try expectFailure(install(), status: 1, "does not list \(Self.archive)")
        }
    }

    @Test func `an interrupted download installs nothing`() throws {
        origin.on(
            "/" + Self.archive, .file(bytes, type: "application/gzip").truncated(after: bytes.count / 2))
        try expectFailure(install(), status: 3, "cannot download")
        origin.on("/" + Self.archive, .file(Array(bytes.prefix(bytes.count / 2)), type: "application/gzip"))
        try expectFailure(install(), status: 1, "is not the file of the release")
    }

    @Test func `a missing file or server installs nothing`() throws {
        origin.on("/" + Self.archive, .page("not found", status: 404))
        try expectFailure(install(), status: 3, "cannot download \(origin.base)/\(Self.archive)")
        // Nothing listens on port 1.
        try expectFailure(
            install(base: "http://127.0.0.1:1"), status: 3, "cannot download http://127.0.0.1:1/SHA256SUMS")
    }

    @Test func `a pinned checksum replaces the server's list`() throws {
        origin.on("/SHA256SUMS", .failure(500))
        let sum = String(sums.prefix(64))
        try expectFailure(
            install("--sha256 " + sum.map { $0 == "0" ? "1" : "0" }), status: 1,
            "is not the file of the release")
        try expectFailure(install("--sha256 ''"), status: 2, "--sha256 needs a value")
        try expectFailure(install("--sha256 abc"), status: 2, "--sha256 needs 64 hexadecimal digits")
        #expect(try install("--sha256 \(sum)").status == 0)
        #expect(try install("--sha256 \(sum.uppercased())").status == 0)
    }

    @Test(arguments: [
        "http://192.0.2.1", "http://localhost@192.0.2.1", "http://127.0.0.1.example", "ftp://127.0.0.1",
        "127.0.0.1",
    ])
    func `an address without encryption needs a signature or a checksum`(base: String) throws {
        // A fake curl that downloads empty files.
        let ending = try Self.shell(
            """
            cd "$HOME" && mkdir fake
            printf '#!/bin/sh\\nwhile [ $# -gt 1 ]; do [ "$1" != -o ] || : > "$2"; shift; done\\n' > fake/curl
            chmod 755 fake/curl
            PATH=$HOME/fake:$PATH exec sh install.sh --prefix there --base '\(base)'
            """, environment: ["HOME": home.path, "TMPDIR": home.path])
        expectFailure(ending, status: 3, "is not encrypted")
    }

    @Test func `a signature that cannot be verified is reported, and fails if it is required`() throws {
        try expectFailure(install("--require-signature"), status: 3, "cannot verify the signature")
        let ending = try install()
        #expect(ending.status == 0 && ending.errors.contains("the signature was not verified"), "\(ending)")
    }

    private static let hasMinisign = (try? shell("command -v minisign").status) == 0

    @Test(.enabled(if: hasMinisign, "minisign is not installed (apt install minisign)"))
    func `a list of checksums is used only if its signature is valid`() throws {
        let signed = try Self.shell(
            """
            set -e; cd '\(home.path)'
            minisign -G -W -f -s own.key -p own.pub > /dev/null
            sed -i "s|^public_key=.*|public_key=$(tail -n 1 own.pub)|" install.sh
            minisign -S -s own.key -m SHA256SUMS > /dev/null
            """, environment: ["HOME": home.path])
        #expect(signed.status == 0, "\(signed)")
        let signature = Self.read(home.file("SHA256SUMS.minisig"))
        origin.on("/SHA256SUMS.minisig", .file(signature, type: "text/plain"))
        // The server changes the archive and the list.
        origin.on("/SHA256SUMS", .file(sums.replacing(sums.prefix(8), with: "00000000"), type: "text/plain"))
        try expectFailure(install(), status: 1, "the signature of SHA256SUMS is wrong")
        origin.on("/SHA256SUMS", .file(sums, type: "text/plain"))
        let ending = try install()
        #expect(ending.status == 0 && ending.errors.contains("the signature is right"), "\(ending)")
        #expect(try install("--require-signature").status == 0)
        let key = String(SourceText.read(home.file("own.pub")).split(separator: "\n").last ?? "")
        #expect(try install("--public-key '\(key)'").status == 0)
    }

    @Test func `a copy without a version says where to find one`() throws {
        let ending = try Self.shell(
            "cd '\(home.path)' && sh '\(SourceText.root)/install.sh' --prefix there",
            environment: ["HOME": home.path])
        expectFailure(ending, status: 2, "take install.sh from a release")
    }
}
