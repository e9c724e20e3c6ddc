internal import Reports
internal import Web

/// The file that saves the list of jobs across server runs. Its content is not trusted.
package struct JobListFile: Sendable {
    /// The saved content; nil if there is none.
    package let saved: [UInt8]?
    /// Saves the content atomically. Called on the threads of the `JobRunner`.
    package let save: @Sendable (String) -> Void

    package init(saved: [UInt8]?, save: @escaping @Sendable (String) -> Void) {
        (self.saved, self.save) = (saved, save)
    }
}

/// Encodes and decodes the jobs of a queue as JSON.
///
/// A command is saved as the fields of its form. Reading it applies the checks of a submitted form, so that a damaged or
/// forged file can contain only commands that a user of the portal can give.
enum JobListCoding {
    /// The version of the format. A file of another version is ignored.
    private static let version = 1
    /// The maximum number of lines of a saved outcome. Further ones are dropped.
    private static let maxOutcomeLines = 60

    /// Encodes jobs as JSON.
    static func encode(_ jobs: [PortalJob]) -> String {
        let members: JSONMembers = [
            "version": version,
            "jobs": jobs.map { job -> JSONMembers in
                let form = job.command.form
                return [
                    "job": job.number, "order": form.name, "by": job.principal.rawValue,
                    "fields": form.fields.map { [$0.name, $0.value] }, "state": job.stateName,
                    "asked": job.addedAt,
                    "outcome": job.outcome.prefix(maxOutcomeLines).map { [$0.sentence.rawValue] + $0.parts },
                ]
            },
        ]
        return members.text(.compact) + "\n"
    }

    /// Decodes saved jobs. Skips invalid entries; unfinished jobs become interrupted or cancelled.
    static func decode(_ bytes: [UInt8]) -> [PortalJob] {
        guard let file = try? JSONValue.parse(bytes.span), file["version"]?.int == version,
            let list = file["jobs"]?.array
        else { return [] }
        var jobs: [PortalJob] = []
        for entry in list.suffix(JobQueue.maxUnfinishedJobs + JobQueue.maxEndedJobs) {
            // Job numbers must be unique and ascending.
            guard let job = decodeJob(entry), job.number > jobs.last?.number ?? 0 else { continue }
            jobs.append(job)
        }
        return jobs
    }

    /// Decodes one job; nil if a field is missing or invalid.
    private static func decodeJob(_ entry: JSONValue) -> PortalJob? {
        let fields = (entry["fields"]?.array ?? []).compactMap { pair -> (name: String, value: String)? in
            guard let name = pair[0]?.string, let value = pair[1]?.string else { return nil }
            return (name, value)
        }
        guard let number = entry["job"]?.int, (1..<Int(Int32.max)).contains(number),
            let name = entry["order"]?.string, let addedAt = entry["asked"]?.int,
            let command = try? PortalCommand(name, PortalRequest(path: "/", fields: fields)),
            let state = entry["state"]?.string
        else { return nil }
        let outcome = (entry["outcome"]?.array ?? []).prefix(maxOutcomeLines).compactMap { line -> Phrase? in
            let words = line.array?.compactMap(\.string) ?? []
            return words.first.flatMap(Sentence.init).map { Phrase($0, Array(words.dropFirst())) }
        }
        let end = JobEnd(rawValue: state) ?? (command.canRestart ? .interrupted : .cancelled)
        // A file of an older version does not say who gave the command: assume the fewest rights.
        let principal = entry["by"]?.string.flatMap(Principal.init) ?? .remoteUser
        return PortalJob(
            number: number, command: command, principal: principal, end: end, outcome: outcome,
            addedAt: Int64(addedAt))
    }
}
