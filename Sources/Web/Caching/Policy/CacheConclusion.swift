/// The head of what a server answered.
package struct CacheAnswer: Sendable, Equatable {
    package let status: Int
    /// With a `Date` in any case: a response that came without one is dated by its arrival (RFC 9110, section 6.6.1).
    package let fields: HTTPFields
    package let requestTime: HTTPDate
    package let responseTime: HTTPDate

    package init(status: Int, fields: HTTPFields, requestTime: HTTPDate, responseTime: HTTPDate) {
        self.status = status
        var dated = fields
        if !fields.contains("Date") { dated.append("Date", responseTime.text) }
        self.fields = dated
        self.requestTime = requestTime
        self.responseTime = responseTime
    }
}

/// What came of asking a server.
package enum CacheOutcome: Sendable, Equatable {
    case answered(CacheAnswer)
    /// Nothing whole came: no route, no connection, a time limit, a broken message.
    case unreachable
}

/// What to answer the client and what to change in the store, now that the server has been asked.
package struct CacheConclusion: Sendable, Equatable {
    package enum Reply: Sendable, Equatable {
        /// What the server answered.
        case received
        /// The body that is stored, with this head.
        case stored(CacheEntry, CacheHit)
        /// The server confirmed a version that is not the stored one: load it again without conditions.
        case loadAgain
        /// 504
        case gatewayTimeout
    }

    package enum Change: Sendable, Equatable {
        case none
        /// The answer takes the place of what is stored, with these fields. The user's inspection may still refuse its body.
        case store(CacheEntry, StoragePolicy)
        /// The stored body gets this head.
        case update(CacheEntry)
        /// The part that came joins the parts that are stored, which get this head (`HeldParts`, `CacheEntry.completed`).
        case extend(CacheEntry)
    }

    package var reply: Reply
    package var change: Change
    /// URLs whose stored responses, in all their variants, must be validated before they are used again.
    package var invalidated: [WebURL]

    init(_ reply: Reply, _ change: Change = .none, invalidated: [WebURL] = []) {
        self.reply = reply
        self.change = change
        self.invalidated = invalidated
    }
}
