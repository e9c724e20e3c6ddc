/// Values kept ready in memory, the least recently used out first, never more than the limit. Any thread may use it.
///
/// No thread waits for another to ask or to keep: a shard that is busy answers as one that holds nothing, and what was
/// to be kept in it is not. With one shard the order of use is exact. With several each shard's is, and what has to go
/// is the oldest of the new entry's shard, then of the next one, and so on around: about the oldest of all.
///
/// What it holds was made from a look at something that changes. Who makes a value notes `generation` before the look, and
/// gives it to `keep`. Who sees a change calls `advance`: from then on nobody is given what an earlier look led to, and
/// what is still being made from one is not kept.
package struct MemoryTier<Value: AnyObject & Sendable>: Sendable {
    private let untyped: UntypedMemoryTier

    /// A limit of 0 turns it off.
    ///
    /// - Parameter shardCount: a power of two.
    package init(byteLimit: Int, shardCount: Int = 16) {
        untyped = UntypedMemoryTier(byteLimit: byteLimit, shardCount: shardCount)
    }

    /// What the entries count for by now; never more than the limit.
    package var byteCount: Int { untyped.byteCount }

    /// To be noted before a look at what a value is made from.
    package var generation: TierGeneration { untyped.generation }

    /// Forgets everything, what others are making at the moment included. Returns the generation that begins.
    @discardableResult package func advance() -> TierGeneration {
        untyped.advance()
    }

    /// The value under the key, which becomes the most recently used. A key has two parts, so that nobody has to join them.
    ///
    /// - Parameter now: seconds of a clock that the caller chooses, the same for all calls.
    package func value(for first: Span<UInt8>, _ second: Span<UInt8> = Span(), now: Int64) -> Value? {
        guard let value = untyped.value(for: first, second, now: now) else { return nil }
        // Only `keep` puts values in.
        return unsafeDowncast(value, to: Value.self)
    }

    /// Keeps the value, in place of what was under the key. False when it is not kept: because it counts for more than a
    /// quarter of the limit, was made in an earlier generation, or met another thread where it was to go.
    ///
    /// - Parameters:
    ///   - byteCount: what the value takes; the key and the entry itself are added.
    ///   - id: what `uses` tells of it.
    @discardableResult package func keep(
        _ value: Value, byteCount: Int, id: Int64, for first: Span<UInt8>, _ second: Span<UInt8> = Span(),
        madeIn generation: TierGeneration, now: Int64
    ) -> Bool {
        untyped.keep(value, byteCount: byteCount, id: id, for: first, second, madeIn: generation, now: now)
    }

    /// Forgets what is under the key.
    package func remove(_ first: Span<UInt8>, _ second: Span<UInt8> = Span()) {
        untyped.remove(first, second)
    }

    /// Gives back memory, the oldest first, until no more than so much is held. It grows again by use.
    package func shrink(to byteCount: Int) {
        untyped.shrink(to: byteCount)
    }

    /// What was used at `time` or later, in no order. What has gone meanwhile is not told.
    package func uses(since time: Int64) -> [TierUse] {
        untyped.uses(since: time)
    }
}

/// Which look at the store values were made from.
package struct TierGeneration: Sendable, Equatable {
    let number: Int
}

/// When something was last used, by the clock that the tier's users chose.
package struct TierUse: Sendable, Equatable {
    package let id: Int64
    package let lastUse: Int64
}
