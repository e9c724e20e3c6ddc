import Glibc

/// The client of python-tuf, which reads repositories from folders.
package struct PythonTUFClient: Sendable {
    /// The result of an update.
    package struct Update: Sendable {
        /// The versions of root, timestamp, snapshot and targets.
        package let versions: [Int]
        /// The targets with their contents, `PATH=CONTENT`, sorted by path. Looks for all paths that any version of any role
        /// lists.
        package let targets: [String]
        /// The class and the message of the error; nil if the update succeeded.
        package let error: String?
    }

    private let python: String

    /// The python3 that has the package `tuf`; nil if none is in the path.
    package static let installed: PythonTUFClient? = {
        let folders = getenv("PATH").map { String(cString: $0) }?.split(separator: ":") ?? []
        for folder in folders {
            let python = "\(folder)/python3"
            guard access(python, X_OK) == 0 else { continue }
            if let ending = try? ChildProcess(python, ["-c", "import tuf, securesystemslib"]).wait(),
                ending.status == 0
            {
                return PythonTUFClient(python: python)
            }
        }
        return nil
    }()

    /// Updates clients, one after the other.
    ///
    /// - Parameters:
    ///   - clients: a repository and the folder of the client's metadata each. A folder without a root gets the
    ///     first one.
    ///   - now: the time in seconds since 1970; nil for the system's clock.
    package func update(
        _ clients: [(repository: String, metadata: String)], now: Int64? = nil
    ) throws(TestError) -> [Update] {
        let words = clients.flatMap { [$0.repository, $0.metadata] }
        let ending = try ChildProcess(
            python, ["-c", Self.script, now.map { String($0) } ?? ""] + words,
            environment: ["PATH": "/usr/bin:/bin"]
        ).wait()
        guard ending.status == 0 else { throw TestError("python-tuf: \(ending.errors)") }
        return ending.output.split(separator: "\u{1}").map { record in
            let parts = record.split(separator: "\u{2}", omittingEmptySubsequences: false).map(String.init)
            return Update(
                versions: parts[0].split(separator: " ").compactMap { Int($0) },
                targets: parts.dropFirst(2).map { String($0) }, error: parts[1].isEmpty ? nil : parts[1])
        }
    }

    /// Prints a record for each client: the versions, the error and the targets.
    private static let script = """
        import datetime, glob, json, os, shutil, sys, tempfile, urllib.parse
        from tuf.api.exceptions import DownloadError, DownloadHTTPError, RepositoryError
        from tuf.ngclient import FetcherInterface, Updater

        class Folder(FetcherInterface):
            # What a web server for static files does with the path of a URL.
            def _fetch(self, url):
                path = urllib.parse.unquote(urllib.parse.urlsplit(url).path)
                if not os.path.isfile(path):
                    raise DownloadHTTPError("not found: " + path, 404)
                with open(path, "rb") as file:
                    yield file.read()

        now = sys.argv[1]
        for repository, folder in zip(sys.argv[2::2], sys.argv[3::2]):
            os.makedirs(folder, exist_ok=True)
            if not os.path.exists(folder + "/root.json"):
                shutil.copy(repository + "/metadata/1.root.json", folder + "/root.json")
            versions, error, targets = [], "", []
            try:
                with tempfile.TemporaryDirectory() as downloads:
                    url = "file://" + urllib.parse.quote(os.path.abspath(repository))
                    client = Updater(
                        folder, url + "/metadata/", downloads, url + "/targets/", Folder(), bootstrap=None)
                    if now:
                        time = datetime.datetime.fromtimestamp(int(now), datetime.timezone.utc)
                        client._trusted_set.reference_time = time
                    client.refresh()
                    trusted = client._trusted_set
                    versions = [r.version for r in (trusted.root, trusted.timestamp, trusted.snapshot, trusted.targets)]
                    paths = set()
                    for name in glob.glob(glob.escape(repository) + "/metadata/*.json"):
                        with open(name, encoding="utf-8") as role:
                            paths.update(json.load(role).get("signed", {}).get("targets", {}))
                    for path in sorted(paths):
                        target = client.get_targetinfo(path)
                        if target is None:
                            continue
                        file = client.download_target(target)
                        with open(file, encoding="utf-8") as content:
                            targets.append(path + "=" + content.read())
            except (RepositoryError, DownloadError) as failure:
                error = type(failure).__name__ + ": " + str(failure)
            print("\\2".join([" ".join(map(str, versions)), error] + targets), end="\\1")
        """
}
