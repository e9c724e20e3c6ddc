internal import Digest
internal import Glibc
internal import Store
internal import System
internal import Web

/// Writes one page of a site into one file. It belongs to one thread.
final class PageExport {
    private let plan: ExportPlan
    private let copies: ShownCopies
    private let interruption: Interruption
    private var report: ExportReport

    init(_ plan: ExportPlan, _ reader: StoreReader, _ interruption: Interruption) {
        (self.plan, self.interruption) = (plan, interruption)
        copies = ShownCopies(plan, reader)
        report = ExportReport(site: plan.site.name, visit: plan.visit, form: plan.form)
    }

    /// Blocks. When it throws, nothing stands under the name of the file.
    func run() throws(ArchiveError) -> ExportReport {
        let page = try page()
        let writer = SinglePage(
            copies, plan.pageLimits, keepsScripts: plan.keepsScripts, interruption)
        let bytes = try writer.document(page)
        let output = try ArchiveOutput(plan.path)
        try output.write(bytes)
        let file = try output.finish()
        report.files = [ExportReport.File(path: file.path, byteCount: file.byteCount)]
        tell(writer.told, page)
        if plan.isVerified { report.isVerified = try Self.digest(of: file.path) == DigestStream.digest(.sha256, of: bytes.span) }
        return report
    }

    /// The one that is wanted, else the one that the site begins with.
    private func page() throws(ArchiveError) -> ShownCopies.Copy {
        guard let url = plan.page ?? WebURL(plan.site.start.first ?? plan.site.name), url.isHTTP else {
            throw ArchiveError(.input, "\(plan.site.name) has no page to begin at: name the URL of one")
        }
        if let copy = try copies.copy(at: url) { return copy }
        let isPrivate = !copies.leftOutPrivate.isEmpty
        throw ArchiveError(
            .input,
            isPrivate
                ? "cannot export \(url.href): it was fetched with credentials; have it exported all the same"
                : "cannot export \(url.href): the larder does not hold it; prefetch it",
            remedy: isPrivate ? .privateToo : nil)
    }

    private func tell(_ needs: PageNeeds, _ page: ShownCopies.Copy) {
        var parts = needs
        parts.add(page)
        report.responses = parts.parts.count
        report.pages = 1
        report.byteCount = parts.byteCount
        report.missing = ExportReport.missing(parts.missing)
        report.tooLarge = parts.tooLarge.sorted { $0.key < $1.key }.map {
            ExportReport.Large(url: $0.key, byteCount: Int64($0.value))
        }
        report.damaged = copies.damaged.sorted()
        report.leftOutPrivate = copies.leftOutPrivate.count
        report.leftOutByPattern = copies.leftOutByPattern.count
    }

    private static func digest(of path: String) throws(ArchiveError) -> Digest {
        var stream = DigestStream(.sha256)
        _ = try ArchiveError.wrapping { () throws(SystemError) in
            try File(path, O_RDONLY).eachPiece { piece in
                stream.update(piece)
                return true
            }
        }
        return stream.finish()
    }
}
