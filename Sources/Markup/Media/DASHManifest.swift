internal import Web

/// Reads the renditions of a DASH presentation (ISO/IEC 23009-1) and the URLs of their segments.
///
/// References are relative to the `BaseURL` of the whole presentation, which is the base of the document. Only
/// presentations with an end (`type="static"`) have references.
struct DASHManifest {
    private(set) var list = RenditionList()
    /// The references made from templates, which the document does not contain.
    private(set) var expanded: [String] = []
    private let bytes: Bytes
    private var elements: [Element] = []
    private var ignoredDepth = 0
    private var periods: [(start: Double?, seconds: Double?)] = []
    private var totalSeconds: Double?
    private var periodCount = 0
    private var setCount = 0
    private var referenceCount = 0

    /// The maximum nesting. Deeper elements are ignored.
    private static let maxDepth = 16
    private static let maxPeriods = 1000
    /// The maximum number of segments of a rendition. It is above the number of assets of a document that a crawl
    /// fetches, so that the crawl reports that there are more.
    static let maxSegments = 25_000
    /// The maximum number of references of all renditions together.
    static let maxReferences = 100_000
    /// The maximum number of repetitions that a timeline may describe.
    private static let maxTimelineEntries = 25_000

    /// An open element, with what applies to the elements inside it.
    private struct Element {
        var name: String
        var start: Int
        var firstRendition: Int
        var folder = ""
        var file: String?
        var hasOwnFolder = false
        var template = SegmentTemplate()
        var segments: [String] = []
        var id = ""
        var bandwidth = 0
        var sides: (Int, Int) = (0, 0)
        var mediaType = ""
        var codecs = ""
        var isPreview = false
        var isMain = false
        var content = ""
    }

    init(_ bytes: Bytes) {
        self.bytes = bytes
        readPeriods()
        guard !list.isLive else { return }
        var lexer = XMLLexer(bytes)
        while let token = lexer.next() {
            switch token {
            case .start(let tag):
                guard ignoredDepth == 0, elements.count < Self.maxDepth else {
                    if !tag.isEmpty { ignoredDepth += 1 }
                    continue
                }
                open(tag)
                if tag.isEmpty { close(at: lexer.index) }
            case .end(let name):
                if ignoredDepth > 0 {
                    ignoredDepth -= 1
                } else if let open = elements.lastIndex(where: { $0.name == localName(name) }) {
                    while elements.count > open { close(at: lexer.index) }
                }
            case .text(let range), .section(let range):
                guard elements.last?.name == "baseurl" else { continue }
                let text = bytes.trimmed(range)
                guard text.count <= XMLScanner.maxURLBytes else { continue }
                elements[elements.count - 1].content += decoded(text)
            case .instruction: break
            }
        }
    }

    /// Reads the durations of all periods, which may depend on the start of the next one.
    private mutating func readPeriods() {
        var lexer = XMLLexer(bytes)
        var hasRoot = false
        while let token = lexer.next() {
            guard case .start(let tag) = token else { continue }
            let name = localName(tag.name)
            if name == "mpd", !hasRoot {
                hasRoot = true
                list.isLive = text("type", tag) == "dynamic"
                totalSeconds = text("mediapresentationduration", tag).flatMap(ISODuration.seconds)
            } else if name == "period", periods.count < Self.maxPeriods {
                periods.append(
                    (
                        text("start", tag).flatMap(ISODuration.seconds),
                        text("duration", tag).flatMap(ISODuration.seconds)
                    ))
            }
        }
    }

    /// The length of a period in seconds; nil if the presentation does not say it.
    private func seconds(ofPeriod number: Int) -> Double? {
        guard periods.indices.contains(number) else { return nil }
        if let seconds = periods[number].seconds { return seconds }
        let start = periods[number].start ?? periods[..<number].reduce(0) { $0 + ($1.seconds ?? 0) }
        let end = number + 1 < periods.count ? periods[number + 1].start : totalSeconds
        return end.map { max(0, $0 - start) }
    }

    // MARK: - Elements

    private mutating func open(_ tag: XMLTag) {
        var element = elements.last ?? Element(name: "", start: 0, firstRendition: 0)
        element.name = localName(tag.name)
        element.start = tag.name.lowerBound - 1
        element.firstRendition = list.renditions.count
        element.hasOwnFolder = false
        element.content = ""
        switch element.name {
        case "period": periodCount += 1
        case "adaptationset", "representation":
            if element.name == "adaptationset" { setCount += 1 }
            let mediaType = text("mimetype", tag) ?? text("contenttype", tag)
            element.mediaType = mediaType ?? element.mediaType
            element.codecs = text("codecs", tag) ?? element.codecs
            element.sides = (
                text("width", tag).flatMap { Int($0) } ?? element.sides.0,
                text("height", tag).flatMap { Int($0) } ?? element.sides.1
            )
            element.id = text("id", tag) ?? ""
            element.bandwidth = text("bandwidth", tag).flatMap { Int($0) } ?? 0
        case "role": if text("value", tag) == "main" { changeParent { $0.isMain = true } }
        case "essentialproperty":
            if text("schemeiduri", tag)?.hasSuffix("trickmode") ?? false {
                changeParent { $0.isPreview = true }
            }
        case "segmenttemplate":
            element.template.read { text($0, tag) }
            let template = element.template
            changeParent { $0.template = template }
        case "segmenttimeline": changeTemplate { $0.timeline = [] }
        case "s":
            let entry = SegmentTemplate.Entry(
                time: text("t", tag).flatMap { Int($0) }, duration: text("d", tag).flatMap { Int($0) } ?? 0,
                repeats: text("r", tag).flatMap { Int($0) } ?? 0)
            changeTemplate { template in
                if template.timeline?.count ?? 0 < Self.maxTimelineEntries {
                    template.timeline?.append(entry)
                }
            }
        case "segmentlist": changeParent { $0.segments = [] }
        case "initialization", "representationindex": addSegment(text("sourceurl", tag))
        case "segmenturl":
            addSegment(text("media", tag))
            addSegment(text("index", tag))
        default: break
        }
        elements.append(element)
    }

    private mutating func changeParent(_ change: (inout Element) -> Void) {
        if !elements.isEmpty { change(&elements[elements.count - 1]) }
    }

    /// Changes the template of the element that contains the innermost `SegmentTemplate`.
    private mutating func changeTemplate(_ change: (inout SegmentTemplate) -> Void) {
        guard let open = elements.lastIndex(where: { $0.name == "segmenttemplate" }), open > 0 else { return }
        change(&elements[open - 1].template)
    }

    /// Adds a segment to the element that contains the innermost `SegmentList` or `SegmentBase`.
    private mutating func addSegment(_ reference: String?) {
        guard let reference,
            let open = elements.lastIndex(where: { $0.name == "segmentlist" || $0.name == "segmentbase" }),
            open > 0,
            elements[open - 1].segments.count < Self.maxSegments
        else { return }
        elements[open - 1].segments.append(reference)
    }

    private mutating func close(at end: Int) {
        guard let element = elements.popLast() else { return }
        switch element.name {
        case "baseurl": setBase(element.content)
        case "representation": addRendition(element, end)
        case "adaptationset" where element.firstRendition < list.renditions.count:
            list.containers.append(
                (element.start..<end, element.firstRendition..<list.renditions.count))
        default: break
        }
    }

    /// Several base URLs of one element are alternatives, so only the first one counts.
    private mutating func setBase(_ address: String) {
        guard let parent = elements.last, parent.name != "mpd", !parent.hasOwnFolder else { return }
        let joined = DASHVocabulary.join(parent.folder, address)
        guard joined.utf8.count <= XMLScanner.maxURLBytes else { return }
        changeParent { parent in
            parent.hasOwnFolder = true
            if address.hasSuffix("/") { parent.folder = joined } else { parent.file = joined }
        }
    }

    // MARK: - Renditions

    private mutating func addRendition(_ element: Element, _ end: Int) {
        guard list.renditions.count < RenditionList.maxRenditions else { return }
        let codecs = MediaCodecs(element.codecs)
        var rendition = Rendition(Self.kind(element, codecs))
        rendition.period = max(0, periodCount - 1)
        rendition.set = setCount
        rendition.bandwidth = element.bandwidth
        rendition.isCommonFormat = codecs.areCommon
        rendition.isDefault = element.isMain
        let side = element.sides.0 > 0 ? min(element.sides.0, element.sides.1) : element.sides.1
        if side > 0 { rendition.height = side }
        rendition.ranges = [element.start..<end]
        var segments: [String] = []
        if !element.segments.isEmpty {
            segments = element.segments
        } else if element.template.hasMedia {
            segments = element.template.references(
                id: element.id, bandwidth: element.bandwidth, seconds: seconds(ofPeriod: periodCount - 1),
                atMost: min(Self.maxSegments, Self.maxReferences - referenceCount))
            expanded += element.template.onlyExpanded(of: segments).map {
                DASHVocabulary.join(element.folder, $0)
            }
        }
        rendition.references = segments.map { DASHVocabulary.join(element.folder, $0) }
        if let file = element.file, !element.template.hasMedia { rendition.references.append(file) }
        referenceCount += rendition.references.count
        list.renditions.append(rendition)
    }

    private static func kind(_ element: Element, _ codecs: MediaCodecs) -> Rendition.Kind {
        let type = element.mediaType.prefix { $0 != "/" }
        if element.isPreview || type == "image" { return .preview }
        if codecs.areSubtitles || type == "text" || element.mediaType.hasSuffix("ttml+xml") {
            return .subtitles
        }
        if type == "audio" || type != "video" && codecs.areOnlyAudio { return .audio }
        return .video
    }

    // MARK: - Texts

    /// The name of an element without its prefix, in lower case.
    private func localName(_ range: Range<Int>) -> String {
        let name = bytes.part(range)
        let local = name.part((name.lastIndex(of: UInt8(ascii: ":")) ?? -1) + 1..<name.count)
        return String(decoding: local.prefix(32).map(\.lowercased), as: UTF8.self)
    }

    private func text(_ name: StaticString, _ tag: XMLTag) -> String? {
        tag.attributes.first { bytes.part($0.name).equals(name) && $0.value.count <= XMLScanner.maxURLBytes }
            .map { decoded(bytes.trimmed($0.value)) }
    }

    private func decoded(_ range: Range<Int>) -> String {
        var value: [UInt8] = []
        CharacterReferences.decode(bytes.part(range), into: &value)
        return String(decoding: value, as: UTF8.self)
    }
}

/// The `SegmentTemplate` of a DASH rendition, with the attributes that it inherits from the elements around it.
struct SegmentTemplate {
    /// An `S` of a timeline.
    struct Entry {
        var time: Int?
        var duration: Int
        /// How often the segment is repeated; negative up to the next entry.
        var repeats: Int
    }

    private var media: String?
    private var initialization: String?
    private var index: String?
    private var startNumber = 1
    private var endNumber: Int?
    private var timescale = 1
    private var duration = 0
    var timeline: [Entry]?

    var hasMedia: Bool { media != nil }

    /// Replaces the properties that an element has.
    mutating func read(_ attribute: (StaticString) -> String?) {
        func number(_ name: StaticString) -> Int? { attribute(name).flatMap { Int($0) } }
        media = attribute("media") ?? media
        initialization = attribute("initialization") ?? initialization
        index = attribute("index") ?? index
        startNumber = number("startnumber").map { max(0, $0) } ?? startNumber
        endNumber = number("endnumber") ?? endNumber
        timescale = number("timescale").map { max(1, $0) } ?? timescale
        duration = number("duration").map { max(0, $0) } ?? duration
    }

    /// The URLs of the segments, the initialization first.
    ///
    /// - Parameter seconds: the length of the period, if it is known.
    func references(id: String, bandwidth: Int, seconds: Double?, atMost limit: Int) -> [String] {
        guard let media, limit > 0 else { return [] }
        func fill(_ text: String, number: Int, time: Int) -> String {
            TemplateText.fill(text) { name in
                switch name {
                case "RepresentationID": .text(id)
                case "Bandwidth": .number(bandwidth)
                case "Number": .number(number)
                case "Time": .number(time)
                default: nil
                }
            }
        }
        var references: [String] = []
        if let initialization { references.append(fill(initialization, number: startNumber, time: 0)) }
        for (offset, time) in times(seconds, atMost: limit).enumerated() {
            let (number, overflows) = startNumber.addingReportingOverflow(offset)
            guard !overflows, number <= endNumber ?? .max, references.count < limit else { break }
            references.append(fill(media, number: number, time: time))
            if let index { references.append(fill(index, number: number, time: time)) }
        }
        return references
    }

    /// The references without those that are in the document as they are.
    func onlyExpanded(of references: [String]) -> [String] {
        references.filter { $0 != media && $0 != initialization && $0 != index }
    }

    /// The start of each segment in units of the timescale.
    private func times(_ seconds: Double?, atMost limit: Int) -> [Int] {
        if let timeline { return times(of: timeline, seconds, atMost: limit) }
        // A single segment has no duration.
        guard duration > 0 else { return [0] }
        let scaled = seconds.map { ($0 * Double(timescale) / Double(duration)).rounded(.up) }
        let fromNumbers = endNumber.map { Double($0) - Double(startNumber) + 1 }
        guard let count = scaled ?? fromNumbers else { return [] }
        return (0..<Int(max(0, min(count, Double(limit))))).map {
            $0.multipliedReportingOverflow(by: duration).partialValue
        }
    }

    private func times(of timeline: [Entry], _ seconds: Double?, atMost limit: Int) -> [Int] {
        var times: [Int] = []
        var time = 0
        let end = seconds.map { $0 * Double(timescale) }
        for (place, entry) in timeline.enumerated() {
            time = entry.time ?? time
            guard entry.duration > 0 else { continue }
            let next =
                timeline.indices.contains(place + 1) ? timeline[place + 1].time.map { Double($0) } : nil
            let limitTime = entry.repeats < 0 ? next ?? end ?? 0 : .infinity
            var left = max(0, entry.repeats)
            repeat {
                guard times.count < limit else { return times }
                times.append(time)
                let (sum, overflows) = time.addingReportingOverflow(entry.duration)
                guard !overflows else { return times }
                time = sum
                if entry.repeats >= 0 { left -= 1 }
            } while left >= 0 && Double(time) < limitTime
        }
        return times
    }
}

/// The variables in the URLs of a DASH template: `$Number%05d$`.
enum TemplateText {
    enum Value {
        case text(String)
        case number(Int)
    }

    /// The maximum number of digits to which a number is filled up.
    private static let maxWidth = 32

    /// Replaces the variables. Text that is no variable stays unchanged; `$$` is a dollar sign.
    static func fill(_ text: String, _ value: (Substring) -> Value?) -> String {
        var filled = ""
        var rest = text[...]
        while let open = rest.firstIndex(of: "$") {
            filled += rest[..<open]
            let afterOpen = rest.index(after: open)
            guard let close = rest[afterOpen...].firstIndex(of: "$") else {
                rest = rest[open...]
                break
            }
            let variable = rest[afterOpen..<close]
            rest = rest[rest.index(after: close)...]
            let parts = variable.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
            switch value(parts.first ?? "") {
            case .text(let text): filled += text
            case .number(let number):
                let format = parts.count == 2 ? parts[1].filter(\.isNumber) : ""
                let width = min(Int(format) ?? 1, maxWidth)
                let digits = String(number)
                filled += String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
            case nil: filled += variable.isEmpty ? "$" : "$\(variable)$"
            }
        }
        return filled + rest
    }
}

/// A duration of ISO 8601 as XML documents write it: `PT1H2M3.5S`.
enum ISODuration {
    /// The maximum length in seconds: a year. Longer ones are errors.
    private static let maxSeconds = 366.0 * 86_400

    static func seconds(_ text: String) -> Double? {
        guard text.utf8.count <= 64, text.utf8.first == UInt8(ascii: "P") else { return nil }
        var (seconds, number, isTime) = (0.0, "", false)
        for character in text.dropFirst() {
            switch character {
            case "T": isTime = true
            case "0"..."9", ".": number.append(character)
            case "Y", "M", "W", "D", "H", "S":
                guard let value = Double(number), let unit = unit(character, isTime) else { return nil }
                seconds += value * unit
                number = ""
            default: return nil
            }
        }
        return number.isEmpty && seconds <= maxSeconds ? seconds : nil
    }

    private static func unit(_ letter: Character, _ isTime: Bool) -> Double? {
        switch (letter, isTime) {
        case ("Y", false): 365 * 86_400
        case ("M", false): 30 * 86_400
        case ("W", false): 7 * 86_400
        case ("D", false): 86_400
        case ("H", true): 3600
        case ("M", true): 60
        case ("S", true): 1
        default: nil
        }
    }
}
