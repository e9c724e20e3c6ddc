/// Answers requests. Each server thread has one of its own, which nobody else touches.
protocol Responder: AnyObject {
    /// The reply, or nil when a slot was taken, to which it will be given from whatever thread: for what has to be waited
    /// for, since the other clients of this thread wait as long as this call takes. The request's bytes are gone by then.
    func respond(to request: Request, orLater later: Later) -> Reply?

    /// What a browser is told that asks, by OPTIONS, whether a page of another origin may send a request. Nil leaves it
    /// to `respond`, as every other method.
    func preflight(_ request: Request) -> Reply?
}

extension Responder {
    func preflight(_ request: Request) -> Reply? { nil }
}
