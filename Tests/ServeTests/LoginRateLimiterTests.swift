import Digest
import Glibc
import Synchronization
import Testing

@testable import Mirror
@testable import Portal

@Suite struct LoginRateLimiterTests {
    /// Attempts a login. Returns nil if it was allowed, or the number of seconds to wait.
    @discardableResult
    private func attempt(
        _ limiter: inout LoginRateLimiter, _ client: String?, isRight: Bool = false, now: Int64
    ) -> Int64? {
        switch limiter.register(from: client.flatMap { LoginClient($0) }, now: now) {
        case .tooFast(let seconds): return seconds
        case .waits(let number):
            guard limiter.turn(of: number, now: now) == .now else {
                limiter.cancel(number)
                return 1
            }
            limiter.finish(number, isRight: isRight, now: now)
            return nil
        }
    }

    @Test func `a client waits longer after each failure beyond the free attempts`() {
        var limiter = LoginRateLimiter()
        for _ in 0..<5 { #expect(attempt(&limiter, "192.0.2.1", now: 100) == nil) }
        #expect(attempt(&limiter, "192.0.2.1", now: 100) == 2)
        #expect(attempt(&limiter, "192.0.2.1", now: 102) == nil)
        #expect(attempt(&limiter, "192.0.2.1", now: 102) == 4)
        var longest: Int64 = 0
        for number in 0..<30 {
            let wait = attempt(&limiter, "192.0.2.1", now: 10_000 + Int64(number) * 400)
            #expect(wait == nil)
            longest = max(longest, attempt(&limiter, "192.0.2.1", now: 10_000 + Int64(number) * 400) ?? 0)
        }
        #expect(longest == 300)
        #expect(attempt(&limiter, "192.0.2.1", isRight: true, now: 30_000) == nil)
        for _ in 0..<4 { #expect(attempt(&limiter, "192.0.2.1", now: 30_000) == nil) }
    }

    @Test func `failures of one client do not delay another`() {
        var limiter = LoginRateLimiter()
        for _ in 0..<40 { attempt(&limiter, "192.0.2.1", now: 0) }
        #expect(attempt(&limiter, "192.0.2.1", isRight: true, now: 0) != nil)
        #expect(attempt(&limiter, "192.0.2.2", isRight: true, now: 0) == nil)
        #expect(attempt(&limiter, "127.0.0.1", isRight: true, now: 0) == nil)
        #expect(attempt(&limiter, nil, isRight: true, now: 0) == nil)
    }

    @Test(
        arguments: [
            ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
            ("2001:db8::1", "2001:db8::ffff:2", true), ("2001:db8::1", "2001:db8:0:1::1", false),
            ("127.0.0.1", "::1", false),
        ])
    func `addresses of one network of IPv6 are one client`(one: String, other: String, isSame: Bool) throws {
        #expect((try #require(LoginClient(one)) == (try #require(LoginClient(other)))) == isSame)
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("127.9.9.9", true), ("::1", true), ("192.0.2.1", false), ("fe80::1", false),
        ("::2", false),
    ])
    func `this machine is recognised by its loopback addresses`(address: String, isHere: Bool) throws {
        #expect(try #require(LoginClient(address)).isHere == isHere)
    }

    @Test func `one attempt runs at a time, and each client may have one waiting`() throws {
        var limiter = LoginRateLimiter()
        let (first, second) = (LoginClient("192.0.2.1"), LoginClient("192.0.2.2"))
        #expect(limiter.register(from: first, now: 0) == .waits(number: 1))
        #expect(limiter.turn(of: 1, now: 0) == .now)
        #expect(limiter.register(from: first, now: 0) == .tooFast(seconds: 1))
        #expect(limiter.register(from: second, now: 0) == .waits(number: 2))
        #expect(limiter.register(from: second, now: 0) == .tooFast(seconds: 1))
        #expect(limiter.turn(of: 2, now: 0) == .later)
        limiter.finish(1, isRight: false, now: 0)
        #expect(limiter.turn(of: 2, now: 0) == .now)
    }

    @Test func `after many failures attempts run once a second, local and known clients first`()
        throws
    {
        var limiter = LoginRateLimiter()
        attempt(&limiter, "192.0.2.200", isRight: true, now: 0)
        // Each client has five free attempts.
        for machine in 1...10 {
            for _ in 0..<5 { attempt(&limiter, "198.51.100.\(machine)", now: 0) }
        }
        #expect(attempt(&limiter, "203.0.113.1", now: 0) == 1)
        #expect(attempt(&limiter, "203.0.113.1", now: 1) == nil)
        #expect(attempt(&limiter, "203.0.113.2", now: 1) == 1)
        // The queue is full of attempts of unknown clients. Local and known clients go first.
        for machine in 0..<LoginRateLimiter.maxWaitingAttempts {
            let arrival = limiter.register(from: LoginClient("203.0.113.\(100 + machine)"), now: 1)
            guard case .waits = arrival else {
                Issue.record("\(machine): \(arrival)")
                continue
            }
        }
        #expect(limiter.register(from: LoginClient("203.0.113.99"), now: 1) == .tooFast(seconds: 2))
        #expect(attempt(&limiter, "127.0.0.1", isRight: true, now: 1) == nil)
        #expect(attempt(&limiter, "192.0.2.200", isRight: true, now: 1) == nil)
        // Later the limit on failures has expired.
        #expect(attempt(&limiter, "127.0.0.1", now: 1000) == nil)
    }

    @Test func `a displaced attempt learns that it will never run`() throws {
        var limiter = LoginRateLimiter()
        guard case .waits(let busy) = limiter.register(from: LoginClient("::1"), now: 0) else { return }
        #expect(limiter.turn(of: busy, now: 0) == .now)
        var numbers: [Int] = []
        for machine in 0..<LoginRateLimiter.maxWaitingAttempts {
            if case .waits(let number) = limiter.register(from: LoginClient("203.0.113.\(machine)"), now: 0) {
                numbers.append(number)
            }
        }
        guard case .waits(let local) = limiter.register(from: LoginClient("127.0.0.1"), now: 0) else {
            Issue.record("this machine finds no place")
            return
        }
        let last = try #require(numbers.last)
        #expect(limiter.turn(of: last, now: 0) == .never)
        limiter.finish(busy, isRight: false, now: 0)
        #expect(limiter.turn(of: numbers[0], now: 0) == .later)
        #expect(limiter.turn(of: local, now: 0) == .now)
    }

    @Test func `the number of remembered clients is limited, and waiting clients are kept`() {
        var limiter = LoginRateLimiter()
        for _ in 0..<12 { attempt(&limiter, "192.0.2.1", now: 0) }
        for number in 0..<3000 {
            attempt(&limiter, "198.\(51 + number / 65_536).\(number / 256 % 256).\(number % 256)", now: 2)
        }
        for number in 0..<3000 {
            attempt(&limiter, "10.1.\(number / 256).\(number % 256)", now: 3 + Int64(number))
        }
        #expect(limiter.recordCount <= LoginRateLimiter.maxRecords)
        var locked = LoginRateLimiter()
        for _ in 0..<200 {
            var now: Int64 = 0
            while attempt(&locked, "192.0.2.1", now: now) != nil { now += 1 }
        }
        for number in 0..<2000 {
            attempt(&locked, "10.1.\(number / 256).\(number % 256)", now: 1_000_000 + Int64(number))
        }
        #expect(locked.recordCount <= LoginRateLimiter.maxRecords)
    }

    @Test func `a flood of attempts by others does not prevent a login with the right password`() throws {
        let hash = try #require(PasswordHash("correct horse"))
        let gate = PortalGuard(.init(isExposed: true, password: { hash }))
        let flooder = try #require(LoginClient("192.0.2.1"))
        var waits = 0
        for _ in 0..<20 {
            if case .tooFast = gate.logIn("wrong", from: flooder, clock: { 0 }) { waits += 1 }
        }
        #expect(waits == 15)
        guard case .success = gate.logIn("correct horse", from: LoginClient("192.0.2.2"), clock: { 0 }) else {
            Issue.record("locked out by another machine")
            return
        }
        guard case .tooFast = gate.logIn("correct horse", from: flooder, clock: { 0 }) else {
            Issue.record("the flooder goes on")
            return
        }
    }
}
