internal import LarderKit
internal import Reports

/// `larder export SITE FILE|DIR/`
enum ExportCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            var options = ExportOptions()
            options.visit = try arguments.numberIfGiven(.visit, in: 1...Int(Int32.max)).map { Int64($0) }
            options.form = try arguments.choice(.archiveFormat)
            options.hasPrivate = arguments.has(.privateToo)
            options.split = try arguments.size(.split)
            if let split = options.split, split.byteCount < 1_000_000 {
                throw UsageError(
                    "--split wants at least 1M: each file repeats what all of them need to be read")
            }
            // What a file says of all exports is not meant for each form.
            func isMeant(_ option: Option, _ forms: ArchiveForm...) -> Bool {
                let form = options.form ?? ArchiveForm(path: arguments.operands[1])
                return form.map(forms.contains) ?? true || arguments.source(of: option) == .commandLine
            }
            let isChosen = { (option: Option) in
                isMeant(option, .warc, .wacz, .har, .folder, .zip, .tar, .zim, .html, .mhtml)
            }
            options.include = isChosen(.include) ? arguments.texts(.include) : []
            options.exclude = isChosen(.exclude) ? arguments.texts(.exclude) : []
            options.language = isMeant(.language, .zim) ? arguments.text(.language) : nil
            options.keepsScripts = !(isMeant(.noScripts, .html) && arguments.has(.noScripts))
            options.largestPart = try arguments.size(.maxBody)
            options.browser = arguments.text(.browser)
            options.viewport = isMeant(.oneViewport, .pdf, .png) ? arguments.text(.oneViewport) : nil
            options.prefersDark = isMeant(.dark, .pdf, .png) && arguments.has(.dark)
            options.isVerified = arguments.has(.readBack)
            options.isSigned = arguments.has(.sign)
            let larder = try arguments.larder
            let watch = try Watch(arguments, terminal)
            options.progress = watch.progress("Exporting")
            let (wanted, site, path) = (options, arguments.operands[0], arguments.operands[1])
            let report = try await watch.during(again: arguments.again) {
                try await larder.export(site, to: path, options: wanted)
            }
            terminal.report(arguments.has(.json) ? report.json : text(of: report))
            return report.isComplete ? .done : .incomplete
        }
    }

    private static let mostShown = 5

    private static func text(of report: ExportReport) -> String {
        let visit = report.visit.map { ", visit \($0)" } ?? ""
        var lines = [
            "\(report.site)\(visit): \(Wording.count(report.responses, "response")) "
                + "(\(Wording.count(report.pages, "page"))), \(Wording.bytes(report.byteCount))"
        ]
        for file in report.files { lines.append("  \(file.path): \(Wording.bytes(file.byteCount))") }
        if let first = report.removed.first {
            let count = Wording.count(report.removed.count, "further part")
            lines.append("  \(count) of an earlier export removed, beginning with \(first)")
        }
        if report.leftOutPrivate > 0 {
            lines.append(
                "  \(Wording.count(report.leftOutPrivate, "response")) left out that came by a login or cookies; "
                    + "to export them too: \(Option.privateToo.name)")
        }
        if report.leftOutCookies > 0 {
            lines.append(
                "  \(Wording.count(report.leftOutCookies, "field")) left out that set cookies; "
                    + "to export them too: \(Option.privateToo.name)")
        }
        if report.leftOutByPattern > 0 {
            lines.append("  \(Wording.count(report.leftOutByPattern, "response")) left out by a pattern")
        }
        if report.leftOutByForm > 0 {
            lines.append(
                "  \(Wording.count(report.leftOutByForm, "response")) left out for which the form has no place: redirects, "
                    + "what is gone, answers to POST")
        }
        for url in report.damaged.prefix(mostShown) { lines.append("  damaged, and left out: \(url)") }
        let more = report.damaged.count - mostShown
        if more > 0 { lines.append("  and \(Wording.grouped(more)) more damaged (--json lists them)") }
        if let signer = report.signer { lines.append("Signed by the key \(signer)") }
        for part in report.tooLarge.prefix(mostShown) {
            lines.append(
                "  \(Wording.bytes(part.byteCount)), and left out (\(Option.maxBody.name) says what is): \(part.url)"
            )
        }
        for miss in report.missing.prefix(mostShown) {
            lines.append("  not held: \(miss.url) (needed by \(miss.neededBy))")
        }
        let others = max(0, report.missing.count - mostShown) + max(0, report.tooLarge.count - mostShown)
        if others > 0 {
            lines.append("  and \(Wording.grouped(others)) more that are not in it (--json lists them)")
        }
        if report.isCut {
            lines.append("  The picture is as high as one can be; what is below is in a PDF: name a .pdf")
        }
        if let first = report.wantServer.first {
            let count = Wording.count(report.wantServer.count, "file")
            lines.append(
                "  \(count) with modules, workers or models, which browsers load from servers alone; the first: \(first)"
            )
        }
        switch report.isVerified {
        case true?: lines.append("Read back: it has what is held")
        case false? where report.form == .zim:
            lines.append("zimcheck finds faults in it; to see them: zimcheck FILE")
        case false?: lines.append("Read back: it is not what is held; export it again, to another disk")
        case nil: break
        }
        return lines.joined(separator: "\n")
    }
}

/// `larder import FILE...`
enum ImportCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        await terminal.attempt {
            let larder = try arguments.larder
            let watch = try Watch(arguments, terminal)
            let progress = watch.progress("Importing")
            let (paths, site, base) = (
                arguments.operands, arguments.text(.intoSite), arguments.text(.folderAddress)
            )
            let growth = try arguments.size(.growth)
            let report = try await watch.during(again: arguments.again) {
                try await larder.takeIn(paths, into: site, at: base, growth: growth, progress: progress)
            }
            terminal.report(arguments.has(.json) ? report.json : text(of: report, arguments))
            if report.isPublished, !arguments.has(.noIndex) {
                let site = report.site
                let watch = try Watch(arguments, terminal)
                let progress = watch.progress("Reading pages")
                let found = try await watch.during(again: arguments.command("index")) {
                    try await larder.index(site, progress: progress)
                }
                terminal.note(IndexCommand.text(of: found))
            }
            return report.isComplete ? .done : .incomplete
        }
    }

    private static let mostShown = 5

    private static func text(of report: ImportReport, _ arguments: Arguments) -> String {
        var lines = [
            "\(report.site), visit \(report.visit): \(Wording.count(report.responses, "response")) "
                + "(\(Wording.count(report.pages, "page"))), \(Wording.bytes(report.byteCount))"
        ]
        if report.superseded > 0 {
            lines.append(
                "  \(Wording.count(report.superseded, "answer")) older than another at the same address")
        }
        for (status, count) in report.unkept.sorted(by: { $0.key < $1.key }) {
            lines.append("  \(Wording.count(count, "answer")) with status \(status), which are not kept")
        }
        lines += told(report.refused, report.refusedCount, "refused")
        if report.hasGrownTooMuch {
            lines.append(
                "  What grows so much was most likely made to fill disks; if you know better: \(Option.growth.name) SIZE"
            )
        }
        lines += told(report.doubtful, report.doubtfulCount, "doubtful, and taken")
        lines += told(report.leftOut, report.leftOutCount, "left out")
        if let site = report.leftOut.lazy.compactMap(\.site).first {
            lines.append("  To take it as that site's: \(arguments.again(with: [Option.site.name: site]))")
        }
        for signer in report.signers { lines.append("Signed by the key \(signer), and the signature holds") }
        lines.append(
            report.isPublished
                ? "To look at it: \(arguments.command("serve"))"
                : "Nothing of it is kept: what the larder held is as it was")
        return lines.joined(separator: "\n")
    }

    private static func told(_ faults: [ImportReport.Fault], _ count: Int, _ word: String) -> [String] {
        var lines = faults.prefix(mostShown).map { fault in
            "  \(word): \(fault.url.map { "\($0): " } ?? "")\(fault.reason) (\(fault.place))"
        }
        let more = count - mostShown
        if more > 0 { lines.append("  and \(Wording.grouped(more)) more \(word) (--json lists them)") }
        return lines
    }
}
