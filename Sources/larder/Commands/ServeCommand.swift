internal import LarderKit

/// `larder serve`
enum ServeCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let port = try arguments.number(.port, in: 0...65535)
            let service = try arguments.larder.serve(port: UInt16(port), options: options(arguments))
            let mark = ServerMark(port: UInt16(service.port))
            let stop = Signals.shared.first()
            terminal.say("The larder is at \(service.address) (Ctrl-C stops)")
            if service.isExposed { terminal.say(exposure(of: service)) }
            await stop.arrival()
            withExtendedLifetime(mark) { service.stop() }
            return .done
        }
    }

    private static func options(_ arguments: Arguments) -> ServeOptions {
        var options = ServeOptions()
        options.root = arguments.text(.atRoot)
        options.address = arguments.text(.listen)
        options.policy = arguments.text(.policy) ?? options.policy
        options.verification = arguments.text(.verify) ?? options.verification
        options.hasShim = !arguments.has(.noShim)
        options.allowsNetwork = arguments.has(.allowNetwork)
        options.showsPrivate = arguments.has(.showPrivate)
        return options
    }

    private static func exposure(of service: MirrorService) -> String {
        let places = service.reachable.map { "http://\($0):\(service.port)/" }.joined(separator: " and ")
        return "Everybody who reaches this machine can read what is held, without a password: at \(places)"
    }
}
