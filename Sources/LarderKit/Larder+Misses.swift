internal import Check
internal import Store
internal import Web

extension Larder {
    /// What was asked of the server and is not held. The next prefetch of its site fetches it.
    ///
    /// A running server writes down what it noted every two seconds, and when it ends.
    ///
    /// - Throws: `LarderError` of kind `.machine` when there is no larder.
    public func misses() async throws(LarderError) -> MissesReport {
        let folder = folder
        return try await Self.onThread("larder-misses") { () throws(LarderError) in
            do throws(StoreError) {
                let reader = try StoreReader(folder)
                var (missing, held): ([Miss], [String]) = ([], [])
                for miss in try NoteBook.misses(in: folder) {
                    let url = miss.method == "GET" ? WebURL(miss.href) : nil
                    let found = try url.map { (url) throws(StoreError) in try reader.find(url) } ?? nil
                    if found != nil { held.append(miss.href) } else { missing.append(miss) }
                }
                // Whoever may not write to the larder sees what is missed all the same.
                if !held.isEmpty, folder.isWritable { try NoteBook.ifAny(folder)?.forget(misses: held) }
                return MissesReport(misses: missing.map(MissedURL.init))
            } catch {
                throw LarderError(error)
            }
        }
    }

    /// Forgets them all, so that no prefetch fetches them.
    ///
    /// - Throws: `LarderError` of kind `.machine` when there is no larder, or it cannot be written to.
    public func forgetMisses() async throws(LarderError) {
        let folder = folder
        try await Self.onThread("larder-misses") { () throws(LarderError) in
            do throws(StoreError) {
                _ = try StoreReader(folder)
                try NoteBook.ifAny(folder)?.forgetAllMisses()
            } catch {
                throw LarderError(error)
            }
        }
    }
}

/// What was asked for and is not held.
public struct MissesReport: Sendable, Equatable {
    /// By address.
    public let misses: [MissedURL]

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.array { array in
            for miss in misses {
                array.object { object in
                    object.member("url", miss.url)
                    object.member("method", miss.method)
                    object.member("role", miss.isPage ? "page" : "requisite")
                    object.member("referrer", miss.referrer)
                    object.member("count", miss.count)
                    object.member("first", miss.first)
                    object.member("last", miss.last)
                }
            }
        }
        return writer.text
    }
}

public struct MissedURL: Sendable, Equatable {
    public let url: String
    /// What was asked for by another method than GET is told, and never fetched.
    public let method: String
    /// Whether a person went there; else a page needs it.
    public let isPage: Bool
    /// The page that asked for it, as far as the browser said.
    public let referrer: String?
    public let count: Int
    /// Seconds since 1970.
    public let first: Int64
    public let last: Int64

    init(_ miss: Miss) {
        url = miss.href
        method = miss.method
        isPage = miss.isPage
        referrer = miss.referrer
        count = miss.count
        first = miss.first
        last = miss.last
    }
}
