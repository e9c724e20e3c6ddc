internal import Glibc
internal import LarderKit

extension Settings {
    /// The files that are looked for, the ones that count most first: that of the folder in which larder is run, and the
    /// user's own.
    static func paths(environment: [String: String]) -> [String] {
        var paths = ["larder.json"]
        if let named = environment["LARDER_CONFIG"], !named.isEmpty {
            paths.append(named)
        } else if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
            paths.append(folder + "/larder/config.json")
        } else if let home = environment["HOME"], !home.isEmpty {
            paths.append(home + "/.config/larder/config.json")
        }
        return paths
    }

    static func environment() -> [String: String] {
        let names = Option.all.compactMap(\.variable) + ["LARDER_CONFIG", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME"]
        return names.reduce(into: [:]) { environment, name in
            environment[name] = getenv(name).map { String(cString: $0) }
        }
    }

    /// - Throws: `UsageError` for a file that cannot be read or says what it must not.
    static func load() throws(UsageError) -> (settings: Settings, files: [ConfigReport.File]) {
        var settings = Settings(environment: environment())
        var files: [ConfigReport.File] = []
        for path in paths(environment: settings.environment) {
            let finding: ConfigFile.Finding
            do throws(LarderError) {
                finding = try ConfigFile.look(at: path)
            } catch {
                throw UsageError(error.description)
            }
            switch finding {
            case .read(let file):
                settings.files.append(file)
                files.append(ConfigReport.File(path: path, state: "read"))
            case .absent:
                files.append(ConfigReport.File(path: path, state: "not there"))
            case .foreign:
                files.append(ConfigReport.File(path: path, state: "not read: it belongs to another user"))
            }
        }
        try settings.check()
        return (settings, files)
    }
}
