internal import Bundles
internal import Fetch
internal import Store
internal import Synchronization
internal import System
internal import Web

/// A place on this machine: bodies can be looked at again.
enum LocalPlace: Sendable {
    case held(StoreFolder)
    case folder(SiteFolder)

    /// Hashes on all cores; nil for what an interruption left undone.
    func examine(
        _ targets: [CheckTarget], _ column: CheckColumn, _ evidence: Evidence, _ interruption: Interruption
    ) throws(StoreError) -> [Examination?] {
        switch self {
        case .held(let folder):
            let keeping = Mutex(())
            // Fails at once where there is no larder.
            _ = try StoreReader(folder)
            return try WorkTeam.share(targets.count, named: "larder-held", interruption) {
                (next, give) throws(StoreError) in
                var bundles = HeldBundles(try StoreReader(folder), evidence)
                while let number = next() {
                    let target = targets[number]
                    give(number, try bundles.examination(of: target.bundle, at: target.urls[column.base]))
                }
                // One after the other: each is a writer of the store.
                let kept = keeping.withLock { _ in Result { () throws(StoreError) in try bundles.keep(in: folder) } }
                try kept.get()
            }
        case .folder(let folder):
            return WorkTeam.share(targets.count, named: "larder-files", interruption) { next, give in
                while let number = next() {
                    let path = folder.relativePath(of: targets[number].urls[column.base], base: column.root)
                    let found =
                        switch folder.answer(for: path) {
                        case .file(let file): Examination(of: .file(path: file), as: targets[number].bundle)
                        case .nothing: Examination.missing("there is no such file")
                        case .refused(let reason): Examination.missing(reason)
                        }
                    give(number, found)
                }
            }
        }
    }

    /// What the place has for an URL; nil when that is nothing.
    func content(of url: WebURL, _ column: CheckColumn) -> BodyContent? {
        switch self {
        case .held(let folder):
            guard let reader = try? StoreReader(folder), let body = try? reader.body(at: url) else { return nil }
            return try? reader.content(of: body)
        case .folder(let folder):
            guard case .file(let file) = folder.answer(for: folder.relativePath(of: url, base: column.root)) else {
                return nil
            }
            return .file(path: file)
        }
    }
}
