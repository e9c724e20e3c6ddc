internal import Glibc

/// Passes randomly changed files to the parsers of outside input. `scripts/fuzz` builds and runs it.
///
///     Fuzz TARGET --corpus FOLDER [--more FOLDER]… [--seconds N] [--seed N] [--keep FILE]
///     Fuzz TARGET --replay FILE
///
/// The same seed gives the same inputs in the same order. Each input is written to the file that `--keep` names before it
/// is tried, so that it is available after a crash. An input that takes a second of CPU time ends the process with SIGPROF.
@main enum Fuzz {
    static func main() {
        do throws(FuzzError) {
            let options = try Options(CommandLine.arguments.dropFirst())
            guard let target = Targets.all.first(where: { $0.name == options.target }) else {
                throw FuzzError(
                    "no target \(options.target); there are \(Targets.all.map(\.name).joined(separator: " "))"
                )
            }
            if let file = options.replay {
                try replay(file, target)
            } else {
                try Session(target: target, options: options).run()
            }
        } catch {
            print("fuzz:", error)
            exit(1)
        }
    }

    private static func replay(_ file: String, _ target: any Target) throws(FuzzError) {
        let input = try InputFile.read(file)
        if let fault = target.fault(input) { throw FuzzError("\(target.name): \(fault)") }
        print("\(target.name): nothing is wrong with \(file)")
    }
}
