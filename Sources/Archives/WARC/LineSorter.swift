internal import Glibc
internal import System

/// Sorts any number of lines by their bytes, with an external merge sort: when the lines in memory reach a limit, they
/// are sorted and written to a file, a run. At the end all runs are merged. A sorter is used by one thread.
final class LineSorter {
    private let folder: String
    /// The lines in memory.
    private var lines: [[UInt8]] = []
    /// The approximate memory that `lines` take.
    private var byteCount = 0
    /// The paths of the sorted files.
    private var runs: [String] = []
    private let maxMemoryBytes: Int

    /// - Parameter maxMemoryBytes: The lines in memory are written to a file above this size.
    init(in folder: String, maxMemoryBytes: Int = 32 << 20) {
        self.folder = folder
        self.maxMemoryBytes = maxMemoryBytes
    }

    deinit {
        for run in runs { unlink(run) }
    }

    /// Adds a line, which must not contain a line feed.
    func add(_ line: [UInt8]) throws(ArchiveError) {
        lines.append(line)
        byteCount += line.count + 32
        if byteCount > maxMemoryBytes { try spill() }
    }

    /// Writes the lines in memory as a new run.
    private func spill() throws(ArchiveError) {
        lines.sort { $0.lexicographicallyPrecedes($1) }
        let file = try ArchiveError.wrapping { () throws(SystemError) in
            try File(temporaryIn: folder, named: "sort")
        }
        runs.append(file.path)
        var piece: [UInt8] = []
        for line in lines {
            piece += line
            piece.append(0x0A)
            guard piece.count > 256 * 1024 else { continue }
            try ArchiveError.wrapping { () throws(SystemError) in try file.write(piece) }
            piece.removeAll(keepingCapacity: true)
        }
        do throws(SystemError) {
            try file.write(piece)
            try file.close()
        } catch {
            throw ArchiveError(error)
        }
        lines.removeAll()
        byteCount = 0
    }

    /// Passes all lines to `take` in order.
    func each(_ take: ([UInt8]) throws(ArchiveError) -> Void) throws(ArchiveError) {
        lines.sort { $0.lexicographicallyPrecedes($1) }
        guard !runs.isEmpty else {
            for line in lines { try take(line) }
            return
        }
        try spill()
        var inputs: [(input: ArchiveInput, line: [UInt8])] = []
        for run in runs {
            let input = try ArchiveInput(run, part: 0..<Int64(Self.size(run)), name: run, compression: .plain)
            if case .line(let line) = try input.line(limit: .max) { inputs.append((input, line)) }
        }
        while let smallest = inputs.indices.min(by: {
            inputs[$0].line.lexicographicallyPrecedes(inputs[$1].line)
        }) {
            try take(inputs[smallest].line)
            if case .line(let line) = try inputs[smallest].input.line(limit: .max) {
                inputs[smallest].line = line
            } else {
                inputs.remove(at: smallest)
            }
        }
    }

    private static func size(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }
}
