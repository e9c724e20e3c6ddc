internal import Markup
package import Store
package import Web

/// The differences between the texts of two bodies, line by line. A line is a paragraph, a heading or a table cell.
public struct TextDifference: Sendable, Equatable {
    public enum Line: Sendable, Equatable {
        case same(String)
        case removed(String)
        case added(String)
        /// This number of equal lines is left out.
        case gap(Int)
    }

    /// The lines that differ, each with a few equal ones before and after it.
    public let lines: [Line]

    /// Larger bodies, and texts with more different lines, are not compared.
    package static let maxBodyBytes = 4 * 1024 * 1024
    package static let maxComparedLines = 3_000
    /// The number of equal lines that are shown before and after a difference.
    private static let contextLines = 2

    /// Whether the texts are equal.
    public var isEmpty: Bool { lines.isEmpty }

    /// Compares the texts of two stored bodies. Nil if one of them is too large or damaged, or has no text.
    package static func between(
        _ old: StoredBody, _ new: StoredBody, _ reader: StoreReader
    ) throws(StoreError) -> TextDifference? {
        guard let old = try textLines(of: old, reader), let new = try textLines(of: new, reader) else {
            return nil
        }
        return TextDifference(from: old, to: new)
    }

    private static func textLines(
        of body: StoredBody, _ reader: StoreReader
    ) throws(StoreError) -> [String]? {
        guard body.byteCount <= maxBodyBytes, let bytes = try reader.content(of: body)?.load() else {
            return nil
        }
        let text = DocumentText(bytes.span, form: body.form)
        let lines = (text.body + [UInt8(ascii: "\n")] + text.aside).split(separator: UInt8(ascii: "\n"))
        return lines.isEmpty ? nil : lines.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Compares two lists of lines. Nil if too many lines differ.
    package init?(from old: [String], to new: [String]) {
        // Most pages change in one place, so that only the lines between the equal ends are compared.
        let start = zip(old, new).prefix { $0 == $1 }.count
        let (oldRest, newRest) = (old.dropFirst(start), new.dropFirst(start))
        let end = zip(oldRest.reversed(), newRest.reversed()).prefix { $0 == $1 }.count
        let (oldPart, newPart) = (Array(oldRest.dropLast(end)), Array(newRest.dropLast(end)))
        guard oldPart.count <= Self.maxComparedLines, newPart.count <= Self.maxComparedLines else {
            return nil
        }
        var (removed, added): (Set<Int>, Set<Int>) = ([], [])
        for change in newPart.difference(from: oldPart) {
            switch change {
            case .remove(let offset, _, _): removed.insert(offset)
            case .insert(let offset, _, _): added.insert(offset)
            }
        }
        var all = old.prefix(start).map { Line.same($0) }
        var (oldIndex, newIndex) = (0, 0)
        while oldIndex < oldPart.count || newIndex < newPart.count {
            if removed.contains(oldIndex) {
                all.append(.removed(oldPart[oldIndex]))
                oldIndex += 1
            } else if added.contains(newIndex) {
                all.append(.added(newPart[newIndex]))
                newIndex += 1
            } else {
                all.append(.same(newPart[newIndex]))
                (oldIndex, newIndex) = (oldIndex + 1, newIndex + 1)
            }
        }
        all += old.suffix(end).map { Line.same($0) }
        lines = Self.withoutDistantLines(all)
    }

    /// Replaces equal lines that are far from any difference by gaps. Returns no lines if all are equal.
    private static func withoutDistantLines(_ lines: [Line]) -> [Line] {
        func isSame(_ line: Line) -> Bool { if case .same = line { true } else { false } }
        var isNear = Array(repeating: false, count: lines.count)
        for index in lines.indices where !isSame(lines[index]) {
            for near in max(0, index - contextLines)...min(lines.count - 1, index + contextLines) {
                isNear[near] = true
            }
        }
        guard isNear.contains(true) else { return [] }
        var (shown, left): ([Line], Int) = ([], 0)
        for (line, isNear) in zip(lines, isNear) {
            guard isNear else {
                left += 1
                continue
            }
            if left > 0 { shown.append(.gap(left)) }
            left = 0
            shown.append(line)
        }
        if left > 0 { shown.append(.gap(left)) }
        return shown
    }
}

extension TextDifference.Line: JSONObject {
    package var members: JSONMembers {
        switch self {
        case .same(let text): ["kind": "same", "text": text, "count": 1]
        case .removed(let text): ["kind": "removed", "text": text, "count": 1]
        case .added(let text): ["kind": "added", "text": text, "count": 1]
        case .gap(let count): ["kind": "same", "text": nil as String?, "count": count]
        }
    }
}
