internal import LarderKit

/// `larder rollback SITE [VISIT]`
enum RollbackCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let site = arguments.operands[0]
            let visit = try arguments.visit(1)
            let larder = try arguments.larder
            let served = try await larder.rollBack(site, to: visit)
            terminal.say(
                arguments.has(.json)
                    ? try await larder.visits(of: site).json : "\(site): visit \(served) is served now")
            return .done
        }
    }
}

extension Arguments {
    /// The number of a visit; nil when the operand is not given.
    func visit(_ place: Int) throws(UsageError) -> Int64? {
        guard operands.count > place else { return nil }
        guard let number = Int64(operands[place]), number > 0 else {
            throw UsageError("\"\(operands[place])\" is no visit: visits are numbers; see: \(command("visits"))")
        }
        return number
    }
}
