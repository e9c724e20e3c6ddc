internal import LarderKit
internal import Reports

/// `larder login [URL]`: opens a browser window for logging in, and stores the cookies of the site when it
/// is closed. Without a URL, lists the stored logins; with `--forget`, deletes one.
///
/// Exit status 0: stored or listed. 2: a wrong URL, no display, or the site set no cookie. 3: the browser
/// failed. 130: interrupted.
enum LoginCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        if arguments.has(.forgetLogin) { return await LogoutCommand.run(arguments, terminal) }
        return await terminal.attempt {
            let larder = try arguments.larder
            guard let address = arguments.operands.first else {
                let report = larder.logins()
                terminal.report(arguments.has(.json) ? report.json : text(of: report))
                return .done
            }
            var options = LoginOptions()
            options.browser = arguments.text(.browser)
            options.network = try arguments.networkOptions()
            options.didOpenWindow = {
                terminal.remark(
                    "log in in the browser window, then close it or press Ctrl-C here")
            }
            let report = try await Signals.shared.runCancellable { [options] in
                try await larder.login(address, options: options)
            }
            terminal.report(
                arguments.has(.json)
                    ? report.json
                    : "\(report.site): \(Wording.count(report.cookies, "cookie")) stored; "
                        + "larder prefetch and larder update send them from now on")
            return .done
        }
    }

    /// The report as text: a line for each stored login. Cookies themselves are never printed.
    private static func text(of report: LoginsReport) -> String {
        guard !report.logins.isEmpty else { return "no logins are stored" }
        return report.logins.map {
            "\($0.site): \(Wording.count($0.cookies, "cookie")), stored \($0.storedAt)"
        }
        .joined(separator: "\n")
    }
}

/// `larder logout SITE` and `larder login --forget SITE`: deletes the stored login. Exit status 0: deleted.
/// 2: no login of this site is stored.
enum LogoutCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            guard let site = arguments.operands.first else {
                throw UsageError("--forget needs a site, for example: larder login --forget wiki.example.com")
            }
            let report = try arguments.larder.forgetLogin(site)
            terminal.report(
                arguments.has(.json)
                    ? report.json : "\(report.site): \(Wording.count(report.cookies, "cookie")) deleted")
            return .done
        }
    }
}
