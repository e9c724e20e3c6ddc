internal import Archives
internal import Glibc
internal import Store
internal import System

/// The site in a program that an export wrote (`ArchiveFormat.program`). It is unpacked into a temporary store, which is
/// removed with this object.
public final class EmbeddedSite: Sendable {
    /// The name of the site.
    public let name: String
    /// The URLs that the site starts with.
    public let start: [String]
    /// When the snapshot was fetched.
    public let date: Timestamp
    /// The temporary store with the site.
    public let larder: Larder
    private let folder: ScratchFolder

    private init(_ site: ProgramFile.Site, _ folder: ScratchFolder, _ larder: Larder) {
        (name, start) = (site.name, site.start)
        date = Timestamp(secondsSinceEpoch: site.date)
        (self.folder, self.larder) = (folder, larder)
    }

    /// Whether a program contains a site.
    ///
    /// - Parameter name: The path of the program for messages.
    /// - Throws: `LarderError` of kind `.machine` if the program has only a part of a site.
    public static func exists(in program: String, named name: String) throws(LarderError) -> Bool {
        guard access(program, R_OK) == 0 else { return false }
        return try mapArchiveError { () throws(ArchiveError) in try ProgramFile(program, named: name).hasSite
        }
    }

    /// Verifies the site of a program and unpacks it.
    ///
    /// - Throws: `LarderError` of kind `.machine` if the site is damaged, or there is no room for it.
    public static func open(in program: String, named name: String) async throws(LarderError) -> EmbeddedSite
    {
        let interruption = Interruption()
        return try await Larder.runOnThread("larder-import", onCancel: interruption.request) {
            () throws(LarderError) -> EmbeddedSite in
            try mapArchiveError { () throws(ArchiveError) -> EmbeddedSite in
                let folder: ScratchFolder
                do throws(SystemError) {
                    folder = try ScratchFolder(named: "larder-site")
                } catch {
                    throw ArchiveError(.machine, "\(error)")
                }
                let archive = "\(folder.path)/site.warc.gz"
                let site = try ProgramFile(program, named: name).unpack(to: archive)
                let store = StoreFolder("\(folder.path)/store")
                var plan = ImportPlan(store, paths: [archive])
                (plan.site, plan.start, plan.limits) = (site.name, site.start, .own)
                let report = try Import(plan, interruption, now: site.date).run(now: site.date)
                unlink(archive)
                guard report.isPublished, report.refusedCount == 0 else {
                    throw ArchiveError(
                        .machine, "\(name) is damaged: its site is incomplete; copy the file again")
                }
                return EmbeddedSite(site, folder, Larder(at: store.path))
            }
        }
    }
}
