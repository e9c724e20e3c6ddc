internal import Web

/// What a session is told before its target goes on: the page's own, and those of its frames and workers.
enum SessionSetUp {
    /// Opens the page's own target.
    static func target(in context: String, for visit: PageVisit) -> Command {
        let size = visit.viewports.first ?? Viewport(width: 1280, height: 900)
        return Command(
            "Target.createTarget", nil,
            [
                "browserContextId": context, "url": "about:blank", "width": size.width, "height": size.height,
            ])
    }

    /// All at once; the page is let go last, for while it waits, it may answer nothing.
    static func page(_ session: String, for visit: PageVisit) -> [Command] {
        [
            Command("Inspector.enable", session), Command("Page.enable", session),
            Command("Page.setLifecycleEventsEnabled", session, ["enabled": true]),
        ] + watch(session) + (visit.viewports.first.map { show($0, session) } ?? []) + [
            colours(visit.prefersDark ? "dark" : "light", session),
            Command("Emulation.setFocusEmulationEnabled", session, ["enabled": true]),
            Command("Runtime.addBinding", session, ["name": PageScripts.binding]),
        ] + prepare(session, visit)
    }

    /// The last of them lets the target go.
    static func child(_ session: String, _ type: String, for visit: PageVisit) -> [Command] {
        var commands: [Command] = []
        if type == "iframe" {
            commands = [
                Command("Inspector.enable", session), Command("Page.enable", session),
                Command("Runtime.addBinding", session, ["name": PageScripts.binding]),
            ]
            commands += prepare(session, visit)
        }
        commands += watch(session)
        if type.hasSuffix("worker") {
            commands += visit.preludes.map { Command("Runtime.evaluate", session, ["expression": $0]) }
        }
        return commands + [Command("Runtime.runIfWaitingForDebugger", session)]
    }

    private static func prepare(_ session: String, _ visit: PageVisit) -> [Command] {
        ([PageScripts.permissionWatch] + visit.preludes).map {
            Command("Page.addScriptToEvaluateOnNewDocument", session, ["source": $0])
        }
    }

    /// Has a session tell of its requests and errors, and of the frames and workers below it. Bodies are
    /// nobody's here. Service workers are the context's.
    private static func watch(_ session: String) -> [Command] {
        let nothing: JSONMembers = ["maxTotalBufferSize": 0, "maxResourceBufferSize": 0]
        let filter: [JSONMembers] = [
            ["type": "browser", "exclude": true], ["type": "tab", "exclude": true],
            ["type": "service_worker", "exclude": true], [:],
        ]
        let targets: JSONMembers = [
            "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": filter,
        ]
        return [
            Command("Network.enable", session, nothing), Command("Runtime.enable", session),
            Command("Target.setAutoAttach", session, targets),
        ]
    }

    static func show(_ viewport: Viewport, _ session: String) -> [Command] {
        let size: JSONMembers = [
            "width": viewport.width, "height": viewport.height, "deviceScaleFactor": viewport.scale,
            "mobile": viewport.isMobile,
        ]
        return [
            Command("Emulation.setDeviceMetricsOverride", session, size),
            Command("Emulation.setTouchEmulationEnabled", session, ["enabled": viewport.isMobile]),
        ]
    }

    static func colours(_ scheme: String, _ session: String) -> Command {
        let features: [JSONMembers] = [["name": "prefers-color-scheme", "value": scheme]]
        return Command("Emulation.setEmulatedMedia", session, ["features": features])
    }
}
