internal import Web

/// A page of gitweb, which shows all pages of its repositories at one path: `?p=beans.git;a=blob;f=README;h=…;hb=HEAD`.
///
/// The query says what the page shows. Without this, files would be taken for views of each other (`QueryViews`): all have
/// the same path and the same parameters, and the first ones that are compared may be copies in several branches.
struct RepositoryPage: Sendable {
    /// The meaning of a query.
    enum Kind: Sendable, Equatable {
        /// The summary, a list of commits, branches or tags, a commit, or a tag.
        case content
        /// A file or folder of a branch; `HEAD` stands for the default branch.
        case file(branch: String)
        /// A list of commits that is part of another one, an old version of a file or folder, or a second URL of a commit.
        case copy
        /// A page that has to be compared with others.
        case other
    }

    /// The name of the default branch in links to its files.
    static let defaultBranch = "HEAD"

    /// The URL of the repository: origin, path and the parameter `p`.
    let repository: String
    let kind: Kind

    /// Whether the page need not be compared with others.
    var isContent: Bool {
        switch kind {
        case .content, .file: true
        case .copy, .other: false
        }
    }

    /// Reads a URL; nil if it is not one of gitweb.
    init?(_ url: WebURL) {
        guard let query = url.query else { return nil }
        var parameters = Parameters()
        var project: Substring?
        for item in query.utf8.split(whereSeparator: \.separatesQueryItems) {
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            let value = Substring(item.dropFirst(name.count + 1))
            switch String(Substring(name)) {
            case "p": project = value
            case "a": parameters.action = value
            case "f": parameters.file = value
            case "h": parameters.hash = value
            case "hb": parameters.revision = value
            case "pg": parameters.isFirstPage = false
            default: parameters.hasOthers = true
            }
        }
        guard let project, !project.isEmpty, !parameters.action.isEmpty else { return nil }
        repository = "\(url.origin)\(url.path)?p=\(project)"
        kind = parameters.kind
    }

    /// The parameters of a query, with the names that gitweb's manual gives to them.
    private struct Parameters {
        var action: Substring = ""
        var file: Substring?
        /// The object that is shown.
        var hash: Substring?
        /// The revision to which the object belongs (`hash_base`).
        var revision: Substring?
        /// Whether it is the first page of a list.
        var isFirstPage = true
        var hasOthers = false

        var kind: Kind {
            guard !hasOthers else { return .other }
            return switch action {
            case "summary", "heads", "tags", "remotes", "forks": .content
            case "shortlog", "log": kindOfList
            case "commit":
                if let hash, hash != defaultBranch, !isHash(hash) {
                    hash.hasPrefix("refs/") ? .copy : .other
                } else {
                    .content
                }
            case "tag": hash.map(isHash) ?? false ? .content : .other
            case "tree": kindOfFolder
            case "blob": kindOfFile
            default: .other
            }
        }

        /// The list of all commits of the default branch has no revision. The one of another branch shows its own commits.
        private var kindOfList: Kind {
            guard file == nil, revision == nil else { return .other }
            guard let hash else { return .content }
            if hash == defaultBranch { return isFirstPage ? .content : .other }
            if isVersion(hash) { return .copy }
            guard hash.hasPrefix("refs/heads/") else { return .other }
            if action == "log" { return .copy }
            return isFirstPage ? .content : .other
        }

        private var kindOfFolder: Kind {
            guard let revision = revision ?? hash else { return .file(branch: defaultBranch) }
            if isVersion(revision) { return self.revision == nil && isHash(revision) ? .other : .copy }
            return .file(branch: String(revision))
        }

        /// The page of a file without the file's hash repeats the one with it, to which its folder links.
        private var kindOfFile: Kind {
            guard let revision, file != nil else { return .other }
            if isVersion(revision) { return .copy }
            return hash.map(isHash) ?? false || revision != defaultBranch
                ? .file(branch: String(revision)) : .other
        }
    }

    /// Whether a revision is one version, and not the latest one of a branch.
    private static func isVersion(_ revision: Substring) -> Bool {
        isHash(revision) || revision.hasPrefix("refs/tags/")
    }

    /// Whether the text is a complete hash: of SHA-1 or SHA-256.
    private static func isHash(_ text: Substring) -> Bool {
        let bytes = text.utf8
        return (bytes.count == 40 || bytes.count == 64)
            && bytes.allSatisfy { $0.isASCIIDigit || 0x61...0x66 ~= $0 }
    }
}

/// The branches of each repository whose files are fetched.
///
/// Files of the default branch are always fetched. Most files of other branches are copies of these: they wait until nothing
/// else is left to fetch, and are then left out as old versions, unless a start URL names their branch. If the default branch
/// does not exist, so that none of its files could be fetched, another branch takes its place. It is chosen by its name,
/// because the order of responses differs from run to run, and is stored for the next run (`record`).
struct RepositoryBranches: Sendable {
    /// The decision about a new page.
    enum Decision: Sendable, Equatable {
        case fetch, wait, leaveOut
    }

    private struct Repository: Sendable {
        /// The branches whose files are fetched besides those of the default branch.
        var branches: Set<String> = []
        /// The first files and folders of the default branch.
        var defaultPages: [UInt32] = []
        var waiting: [(number: UInt32, branch: String)] = []
        var isDecided = false
    }

    private var repositories: [String: Repository] = [:]
    /// The repositories with waiting pages.
    private var undecided: Set<String> = []
    private var hasLeftOut = false
    /// The record of an earlier run.
    private let known: [String: [String]]

    /// How many files and folders of the default branch are noted, to know whether one could be fetched.
    private static let maxDefaultPages = 8
    /// The maximum number of repositories in the record.
    private static let maxRecorded = 5000
    /// Names of branches that take the place of the default branch, in this order.
    private static let usualNames = ["main", "master", "trunk", "default", "develop"].map {
        "refs/heads/\($0)"
    }

    init(known: [String: [String]] = [:]) { self.known = known }

    /// Whether pages wait for `decide`.
    var isWaiting: Bool { !undecided.isEmpty }

    /// Notes the branch that a start URL names.
    mutating func noteStart(_ url: WebURL) {
        guard let page = RepositoryPage(url), case .file(let branch) = page.kind,
            branch != RepositoryPage.defaultBranch
        else { return }
        repositories[page.repository, default: Repository()].branches.insert(branch)
        repositories[page.repository]?.isDecided = true
    }

    /// Decides about a file or folder.
    mutating func admit(_ number: UInt32, _ repository: String, branch: String) -> Decision {
        var state = repositories.removeValue(forKey: repository) ?? Repository()
        defer { repositories[repository] = state }
        if branch == RepositoryPage.defaultBranch {
            if state.defaultPages.count < Self.maxDefaultPages { state.defaultPages.append(number) }
            return .fetch
        }
        if state.branches.contains(branch) { return .fetch }
        if state.isDecided {
            hasLeftOut = true
            return .leaveOut
        }
        state.waiting.append((number, branch))
        undecided.insert(repository)
        return .wait
    }

    /// Decides about the waiting pages, when nothing else is left to fetch.
    ///
    /// - Parameter isFetched: whether a page could be fetched.
    mutating func decide(_ isFetched: (UInt32) -> Bool) -> (fetched: [UInt32], leftOut: [UInt32]) {
        var (fetched, leftOut): ([UInt32], [UInt32]) = ([], [])
        for repository in undecided.sorted() {
            guard var state = repositories[repository] else { continue }
            if !state.defaultPages.contains(where: isFetched),
                let branch = Self.substitute(among: Set(state.waiting.map(\.branch)), known[repository] ?? [])
            {
                state.branches.insert(branch)
            }
            for page in state.waiting {
                if state.branches.contains(page.branch) {
                    fetched.append(page.number)
                } else {
                    leftOut.append(page.number)
                }
            }
            state.waiting = []
            state.isDecided = true
            repositories[repository] = state
        }
        undecided = []
        hasLeftOut = hasLeftOut || !leftOut.isEmpty
        return (fetched, leftOut)
    }

    /// The branch that takes the place of the default branch.
    private static func substitute(among branches: Set<String>, _ known: [String]) -> String? {
        (known + usualNames).first(where: branches.contains) ?? branches.min()
    }

    // MARK: - Record

    /// The branches whose files were fetched, by repository; `*` stands for all others, of which only the default branch was
    /// fetched. Empty if no file was left out.
    var record: [String: [String]] {
        guard hasLeftOut else { return [:] }
        var record = [Self.allOthers: [String]()]
        for (repository, state) in repositories.sorted(by: { $0.key < $1.key })
        where !state.branches.isEmpty && record.count < Self.maxRecorded {
            record[repository] = state.branches.sorted()
        }
        return record
    }

    private static let allOthers = "*"

    /// Whether a run with this record left out a file because of its branch.
    static func leftOut(_ url: WebURL, _ record: [String: [String]]) -> Bool {
        guard !record.isEmpty, let page = RepositoryPage(url), case .file(let branch) = page.kind,
            branch != RepositoryPage.defaultBranch,
            let branches = record[page.repository] ?? record[allOthers]
        else { return false }
        return !branches.contains(branch)
    }
}
