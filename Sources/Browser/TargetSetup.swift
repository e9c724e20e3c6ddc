internal import Web

/// The commands that prepare a new target before it runs: a page, a frame or a worker.
enum TargetSetup {
    /// The command that opens a tab of the size of the first viewport.
    static func target(in context: String, for visit: PageVisit) -> Command {
        let size = visit.viewports.first ?? Viewport(width: 1280, height: 900)
        return Command(
            "Target.createTarget", nil,
            [
                "browserContextId": context, "url": "about:blank", "width": size.width, "height": size.height,
            ])
    }

    /// The commands for a page. They are sent without waiting for replies, because a paused page may not
    /// reply. The caller must resume the page afterwards.
    static func page(_ session: String, for visit: PageVisit) -> [Command] {
        [
            Command("Inspector.enable", session), Command("Page.enable", session),
            Command("Page.setLifecycleEventsEnabled", session, ["enabled": true]),
        ] + watch(session, visit) + (visit.viewports.first.map { show($0, session) } ?? []) + [
            colours(visit.prefersDark ? "dark" : "light", session),
            Command("Emulation.setFocusEmulationEnabled", session, ["enabled": true]),
            Command("Runtime.addBinding", session, ["name": PageScripts.permissionBinding]),
        ] + prepare(session, visit)
    }

    /// The commands for a frame, a worker or another child target. The last one resumes it.
    static func child(_ session: String, _ type: String, for visit: PageVisit) -> [Command] {
        var commands: [Command] = []
        if type == "iframe" {
            commands = [
                Command("Inspector.enable", session), Command("Page.enable", session),
                Command("Runtime.addBinding", session, ["name": PageScripts.permissionBinding]),
            ]
            commands += prepare(session, visit)
        }
        commands += watch(session, visit)
        if type.hasSuffix("worker") {
            commands += visit.preludes.map { Command("Runtime.evaluate", session, ["expression": $0]) }
        }
        return commands + [Command("Runtime.runIfWaitingForDebugger", session)]
    }

    /// Installs the permission watch and the preludes in each new document.
    private static func prepare(_ session: String, _ visit: PageVisit) -> [Command] {
        ([PageScripts.permissionWatch] + visit.preludes).map {
            Command("Page.addScriptToEvaluateOnNewDocument", session, ["source": $0])
        }
    }

    /// Enables network and error events, without storing bodies, and attaches to child frames and workers.
    /// Service workers are excluded, because they are attached through the browser context. Sets the user agent as well.
    private static func watch(_ session: String, _ visit: PageVisit) -> [Command] {
        let nothing: JSONMembers = ["maxTotalBufferSize": 0, "maxResourceBufferSize": 0]
        let filter: [JSONMembers] = [
            ["type": "browser", "exclude": true], ["type": "tab", "exclude": true],
            ["type": "service_worker", "exclude": true], [:],
        ]
        let targets: JSONMembers = [
            "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": filter,
        ]
        let userAgent = visit.userAgent.map {
            Command("Network.setUserAgentOverride", session, ["userAgent": $0])
        }
        return [
            Command("Network.enable", session, nothing), Command("Runtime.enable", session),
            Command("Target.setAutoAttach", session, targets),
        ] + (userAgent.map { [$0] } ?? [])
    }

    /// Sets the size, the scale and the touch support of the screen.
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

    /// Sets the preferred colour scheme, `light` or `dark`.
    static func colours(_ scheme: String, _ session: String) -> Command {
        let features: [JSONMembers] = [["name": "prefers-color-scheme", "value": scheme]]
        return Command("Emulation.setEmulatedMedia", session, ["features": features])
    }
}
