internal import Glibc
internal import Markup

/// The program behind `Benchmarks/markup`. Reads lines `NAME<tab>PATH` from standard input; all files of a name have
/// the same format.
///
/// Prints one JSON object per measurement. The argument is the number of rounds.
@main enum MarkupBenchmark {
    static func main() {
        let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 5
        var names: [String] = []
        var sets: [String: FileSet] = [:]
        while let line = readLine() {
            let fields = line.split(separator: "\t", maxSplits: 1).map(String.init)
            guard fields.count == 2, let body = FileSet.read(fields[1]) else {
                perror(line)
                exit(1)
            }
            if sets[fields[0]] == nil { names.append(fields[0]) }
            sets[fields[0], default: FileSet(name: fields[0], path: fields[1])].add(body, path: fields[1])
        }
        for set in names.compactMap({ sets[$0] }) {
            let meter = Meter(set: set, rounds: max(rounds, 1))
            MarkupCases.run(meter)
            if set.format == .html { AddressCases.run(meter) }
        }
    }
}
