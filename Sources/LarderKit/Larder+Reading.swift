internal import Check
internal import Crawl
internal import Reports
internal import Serve
internal import Store
internal import Web

/// What is held, and what is not.
extension Larder {
    /// What the larder holds.
    ///
    /// - Throws: `LarderError` of kind `.machine` when there is no larder at the path, or it cannot be read.
    public func status() async throws(LarderError) -> StatusReport {
        let path = folder.name
        return try await reading("larder-status") { (reader) throws(StoreError) in
            try StatusReport(reader, path: path)
        }
    }

    /// Hands over every URL that the larder shows, in order, and takes the same memory for ten of them as for
    /// a million.
    ///
    /// - Parameter take: called on a thread of the listing's; false ends it.
    /// - Throws: `LarderError` of kind `.input` when there is no such site, `.machine` when there is no
    ///   larder, or it cannot be read.
    @discardableResult
    public func list(
        _ options: ListOptions = ListOptions(), take: @escaping @Sendable (ListedURL) -> Bool
    ) async throws(LarderError) -> ListReport {
        try await reading("larder-list") { (reader) throws(StoreError) in
            try ListReport(options, reader, take: take)
        }
    }

    /// Everything that is known of an URL: what is held under it from every visit, what it links to and what
    /// links to it.
    ///
    /// The MD5 of a body is computed when this first asks for it, and kept.
    ///
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL, `.machine` when there is no
    ///   larder, or it cannot be read. That an URL is not held is no error; the report says what is there
    ///   instead.
    public func show(_ url: String) async throws(LarderError) -> HoldingReport {
        let asked = try WebURL.start(url)
        return try await reading("larder-show") { (reader) throws(StoreError) in
            try HoldingReport(
                of: asked, shownAt: MirrorServer.address(of: asked.href, at: Self.usualPort), reader)
        }
    }

    private static let usualPort: UInt16 = 8080

    /// Says whether an URL would be fetched, by the rules with which the held sites were prefetched last, and
    /// who links to it. Asks nothing of the network.
    ///
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL.
    public func explain(_ url: String) async throws(LarderError) -> ExplainReport {
        let asked = try WebURL.start(url)
        return try await reading("larder-explain") { (reader) throws(StoreError) in
            try ExplainReport(of: asked, reader)
        }
    }

    /// What was asked of the server and is not held. The next prefetch of its site fetches it.
    ///
    /// A running server writes down what it noted every two seconds, and when it ends.
    ///
    /// - Throws: `LarderError` of kind `.machine` when there is no larder.
    public func misses() async throws(LarderError) -> MissesReport {
        try await reading("larder-misses") { (reader) throws(StoreError) in
            let (missing, held) = try MissesReport.report(on: NoteBook.misses(in: reader.folder), reader)
            // Whoever may not write to the larder sees what is missed all the same.
            if !held.isEmpty, reader.folder.isWritable {
                try NoteBook.ifAny(reader.folder)?.forget(misses: held)
            }
            return missing
        }
    }

    /// Forgets them all, so that no prefetch fetches them.
    ///
    /// - Throws: `LarderError` of kind `.machine` when there is no larder, or it cannot be written to.
    public func forgetMisses() async throws(LarderError) {
        try await reading("larder-misses") { (reader) throws(StoreError) in
            let notes = try NoteBook.ifAny(reader.folder)
            try notes?.forgetAllMisses()
        }
    }

    /// Hands over the body of an URL as it was fetched, in pieces, in constant memory.
    ///
    /// - Parameters:
    ///   - visit: as this visit shows it; nil for what the larder shows.
    ///   - take: called on a thread of the reading's; false ends it.
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL, or when there is no such
    ///   visit, `.machine` when there is no larder, or it cannot be read. That there is no body to hand over
    ///   is no error; the report says so.
    public func read(
        _ url: String, visit: Int64? = nil, take: @escaping @Sendable (Span<UInt8>) -> Bool
    ) async throws(LarderError) -> BodyReport {
        let asked = try WebURL.start(url)
        return try await reading("larder-cat") { (reader) throws(StoreError) in
            try BodyReport(of: asked, visit: visit, reader, take)
        }
    }
}
