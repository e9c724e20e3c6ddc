internal import Reports
internal import Web

/// Where what was asked for on the portal outlives the server: somebody's file, which may have become
/// anything meanwhile.
package struct JobMemory: Sendable {
    /// What was kept last; nil for nothing.
    let kept: [UInt8]?
    /// Keeps it, whole or not at all. Called on threads of the board's.
    let keep: @Sendable (String) -> Void

    package init(kept: [UInt8]?, keep: @escaping @Sendable (String) -> Void) {
        (self.kept, self.keep) = (kept, keep)
    }
}

/// The jobs of a queue as a text, and back. Orders are kept as the forms that ask for them, and are read as
/// strictly as those.
enum KeptJobs {
    private static let version = 1
    private static let mostLines = 60

    static func text(_ jobs: [PortalJob]) -> String {
        let members: JSONMembers = [
            "version": version,
            "jobs": jobs.map { job -> JSONMembers in
                let form = job.order.form
                return [
                    "job": job.number, "order": form.name, "by": job.principal.rawValue,
                    "fields": form.fields.map { [$0.name, $0.value] }, "state": job.stateName,
                    "asked": job.asked,
                    "outcome": job.outcome.prefix(mostLines).map { [$0.sentence.rawValue] + $0.parts },
                ]
            },
        ]
        return members.text(.compact) + "\n"
    }

    /// What cannot be read is left out. What had not ended is cut off.
    static func jobs(_ bytes: [UInt8]) -> [PortalJob] {
        guard let file = try? JSONValue.parse(bytes.span), file["version"]?.int == version,
            let list = file["jobs"]?.array
        else { return [] }
        var jobs: [PortalJob] = []
        for entry in list.suffix(JobQueue.mostWaiting + JobQueue.mostEnded) {
            // Numbers only grow: those of two jobs would not be told apart.
            guard let job = job(entry), job.number > jobs.last?.number ?? 0 else { continue }
            jobs.append(job)
        }
        return jobs
    }

    private static func job(_ entry: JSONValue) -> PortalJob? {
        let fields = (entry["fields"]?.array ?? []).compactMap { pair -> (name: String, value: String)? in
            guard let name = pair[0]?.string, let value = pair[1]?.string else { return nil }
            return (name, value)
        }
        guard let number = entry["job"]?.int, (1..<Int(Int32.max)).contains(number),
            let name = entry["order"]?.string, let asked = entry["asked"]?.int,
            let order = try? PortalOrder(name, PortalRequest(path: "/", fields: fields)),
            let state = entry["state"]?.string
        else { return nil }
        let outcome = (entry["outcome"]?.array ?? []).prefix(mostLines).compactMap { line -> Phrase? in
            let words = line.array?.compactMap(\.string) ?? []
            return words.first.flatMap(Sentence.init).map { Phrase($0, Array(words.dropFirst())) }
        }
        let end = JobEnd(rawValue: state) ?? (order.mayBeginAgain ? .interrupted : .undone)
        // A job of a version that did not store it may be anybody's.
        let principal = entry["by"]?.string.flatMap(Principal.init) ?? .remoteUser
        return PortalJob(
            number: number, order: order, principal: principal, end: end, outcome: outcome,
            asked: Int64(asked))
    }
}
