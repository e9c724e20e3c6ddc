internal import LarderKit

/// `larder serve`
enum ServeCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let port = try arguments.number(.port, in: 0...65535)
            let service = try arguments.larder.serve(port: UInt16(port))
            let stop = Signals.shared.first()
            terminal.say("The larder is at \(service.address) (Ctrl-C stops)")
            await stop.arrival()
            service.stop()
            return .done
        }
    }
}
