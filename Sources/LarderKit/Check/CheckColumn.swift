internal import Store
internal import Web

/// A place to look at, with one of the bases: a column of the report.
struct CheckColumn: Sendable {
    let name: String
    /// The place of the base among those of the targets.
    let base: Int
    let root: WebURL?
    /// Nil for what is fetched.
    let local: LocalPlace?

    static func all(
        of source: ManifestSource, _ folder: StoreFolder
    ) throws(LarderError) -> [CheckColumn] {
        var columns: [CheckColumn] = []
        for place in source.places {
            for (number, base) in source.bases.enumerated() {
                let suffix = source.bases.count > 1 ? base.root?.href : nil
                let column: CheckColumn
                switch place {
                case .live:
                    column = CheckColumn(name: suffix ?? "live", base: number, root: base.root, local: nil)
                case .held:
                    let name = suffix.map { "held of \($0)" } ?? "held"
                    column = CheckColumn(name: name, base: number, root: base.root, local: .held(folder))
                case .folder(let path):
                    // The same files, whatever the base.
                    guard number == 0 else { continue }
                    let files = try SiteFolder(path)
                    column = CheckColumn(name: path, base: number, root: base.root, local: .folder(files))
                }
                columns.append(column)
            }
        }
        return columns
    }

    /// How reports call what is looked for.
    func name(of url: WebURL) -> String {
        guard case .folder(let folder) = local else { return url.href }
        return folder.path + "/" + folder.relativePath(of: url, base: root)
    }
}
