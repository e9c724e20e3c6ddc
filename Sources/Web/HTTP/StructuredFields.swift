/// A structured dictionary (RFC 9651, section 3.2), such as `max-age=60, must-revalidate`.
package struct StructuredDictionary: Sendable, Equatable {
    /// A bare item (RFC 9651, section 3.3).
    package enum Item: Sendable, Equatable {
        case integer(Int)
        /// A decimal as written, with one to three digits after the point.
        case decimal(String)
        case string(String)
        case token(String)
        case bytes([UInt8])
        case boolean(Bool)
        /// In seconds since 1970.
        case date(Int)
        case displayString(String)
    }

    /// The value of a member: an item or an inner list.
    package enum Value: Sendable, Equatable {
        case item(Item)
        case list([Item])
    }

    /// A parameter of an item or of an inner list (RFC 9651, section 3.1.2).
    package struct Parameter: Sendable, Equatable {
        package let key: String
        package var value: Item
    }

    /// A key with its value.
    package struct Member: Sendable, Equatable {
        package let key: String
        package let value: Value
        /// The parameters of the item or the whole inner list, in order. If a key is repeated, its last value is
        /// at the position of the first.
        package let parameters: [Parameter]
        /// For an inner list, the parameters of each of its items. Empty for an item.
        package let listParameters: [[Parameter]]
    }

    /// The members. If a key is repeated, its last value is at the position of the first.
    package let members: [Member]

    /// Returns nil if any part of the text is malformed, as the standard requires. If the field occurs
    /// several times, join the values first.
    package init?(_ text: String) {
        var parser = StructuredFieldParser(text)
        guard let members = parser.parseDictionary() else { return nil }
        self.members = members
    }

    package subscript(key: String) -> Value? {
        members.first { $0.key == key }?.value
    }
}

// MARK: - StructuredFieldParser

/// A parser for structured fields (RFC 9651, section 4.2). Each function returns nil, or false, if the field
/// is malformed.
struct StructuredFieldParser {
    private var scanner: FieldScanner

    init(_ text: String) { scanner = FieldScanner(text) }

    private typealias Item = StructuredDictionary.Item
    private typealias Parameter = StructuredDictionary.Parameter

    /// RFC 9651 requires support for at least 1024 members. A field with more counts as malformed.
    private static let maxMembers = 1024
    /// The standard requires support for at least 256 items of an inner list, and 256 parameters of an item or list. A
    /// field with more than these counts as malformed.
    private static let (maxListItems, maxParameters) = (1024, 256)

    mutating func parseDictionary() -> [StructuredDictionary.Member]? {
        var members: [StructuredDictionary.Member] = []
        var indices: [String: Int] = [:]
        scanner.skip { $0 == 0x20 }
        while !scanner.isAtEnd {
            guard let key = parseKey(), let member = parseMember(key) else { return nil }
            if let index = indices[key] {
                members[index] = member
            } else {
                guard members.count < Self.maxMembers else { return nil }
                indices[key] = members.count
                members.append(member)
            }
            scanner.skipSpace()
            if scanner.isAtEnd { break }
            guard scanner.consume(0x2C) else { return nil }
            scanner.skipSpace()
            if scanner.isAtEnd { return nil }
        }
        return members
    }

    /// Parses the value of a member and its parameters. A member without `=` is true.
    private mutating func parseMember(_ key: String) -> StructuredDictionary.Member? {
        var item = Item.boolean(true)
        if scanner.consume(0x3D) {
            if scanner.consume(0x28) { return parseInnerList(key) }
            guard let parsed = parseItem() else { return nil }
            item = parsed
        }
        guard let parameters = parseParameters() else { return nil }
        return StructuredDictionary.Member(
            key: key, value: .item(item), parameters: parameters, listParameters: [])
    }

    private mutating func parseInnerList(_ key: String) -> StructuredDictionary.Member? {
        var items: [Item] = []
        var listParameters: [[Parameter]] = []
        while !scanner.isAtEnd {
            scanner.skip { $0 == 0x20 }
            if scanner.consume(0x29) {
                guard let parameters = parseParameters() else { return nil }
                return StructuredDictionary.Member(
                    key: key, value: .list(items), parameters: parameters, listParameters: listParameters)
            }
            guard items.count < Self.maxListItems, let item = parseItem(), let parameters = parseParameters()
            else { return nil }
            items.append(item)
            listParameters.append(parameters)
            guard scanner.next == 0x20 || scanner.next == 0x29 else { return nil }
        }
        return nil
    }

    private mutating func parseParameters() -> [Parameter]? {
        var parameters: [Parameter] = []
        while scanner.consume(0x3B) {
            scanner.skip { $0 == 0x20 }
            guard let key = parseKey() else { return nil }
            var value = Item.boolean(true)
            if scanner.consume(0x3D) {
                guard let parsed = parseItem() else { return nil }
                value = parsed
            }
            if let index = parameters.firstIndex(where: { $0.key == key }) {
                parameters[index].value = value
            } else {
                guard parameters.count < Self.maxParameters else { return nil }
                parameters.append(Parameter(key: key, value: value))
            }
        }
        return parameters
    }

    private mutating func parseKey() -> String? {
        guard let first = scanner.next, first == 0x2A || (0x61...0x7A).contains(first) else { return nil }
        return HTTPGrammar.text(
            scanner.take {
                (0x61...0x7A).contains($0) || $0.isASCIIDigit || [0x5F, 0x2D, 0x2E, 0x2A].contains($0)
            })
    }

    private mutating func parseItem() -> Item? {
        guard let first = scanner.next else { return nil }
        switch first {
        case 0x2D, 0x30...0x39: return parseNumber()
        case 0x22: return parseString().map { .string($0) }
        case 0x3A: return parseBytes().map { .bytes($0) }
        case 0x3F: return parseBoolean().map { .boolean($0) }
        case 0x40:
            scanner.advance(1)
            guard case .integer(let seconds) = parseNumber() else { return nil }
            return .date(seconds)
        case 0x25: return parseDisplayString().map { .displayString($0) }
        case 0x2A, 0x41...0x5A, 0x61...0x7A:
            return .token(
                HTTPGrammar.text(scanner.take { HTTPGrammar.isToken($0) || $0 == 0x3A || $0 == 0x2F }))
        default: return nil
        }
    }

    private mutating func parseNumber() -> Item? {
        let start = scanner.position
        let sign = scanner.consume(0x2D) ? -1 : 1
        let digits = scanner.take(while: \.isASCIIDigit)
        guard !digits.isEmpty else { return nil }
        guard scanner.consume(0x2E) else {
            guard digits.count <= 15 else { return nil }
            return .integer(sign * digits.reduce(0) { $0 * 10 + Int($1 - 0x30) })
        }
        let fraction = scanner.take(while: \.isASCIIDigit)
        guard digits.count <= 12, (1...3).contains(fraction.count) else { return nil }
        return .decimal(HTTPGrammar.text(scanner.bytes[start..<scanner.position]))
    }

    private mutating func parseString() -> String? {
        scanner.advance(1)
        var value: [UInt8] = []
        while let byte = scanner.next {
            scanner.advance(1)
            switch byte {
            case 0x22: return HTTPGrammar.text(value)
            case 0x5C:
                guard let escaped = scanner.next, escaped == 0x22 || escaped == 0x5C else { return nil }
                scanner.advance(1)
                value.append(escaped)
            case 0x20...0x7E: value.append(byte)
            default: return nil
            }
        }
        return nil
    }

    private mutating func parseBytes() -> [UInt8]? {
        scanner.advance(1)
        let text = scanner.take { $0 != 0x3A }
        guard scanner.consume(0x3A) else { return nil }
        return Base64.decodeForgiving(text, skippingSpace: false)
    }

    private mutating func parseBoolean() -> Bool? {
        scanner.advance(1)
        if scanner.consume(0x31) { return true }
        return scanner.consume(0x30) ? false : nil
    }

    private mutating func parseDisplayString() -> String? {
        scanner.advance(1)
        guard scanner.consume(0x22) else { return nil }
        var value: [UInt8] = []
        while let byte = scanner.next {
            scanner.advance(1)
            switch byte {
            case 0x22: return String(validating: value, as: UTF8.self)
            case 0x25:
                guard let high = Self.lowercaseHexDigitValue(scanner.next),
                    let low = Self.lowercaseHexDigitValue(scanner.following)
                else {
                    return nil
                }
                scanner.advance(2)
                value.append(high << 4 | low)
            case 0x20...0x7E: value.append(byte)
            default: return nil
            }
        }
        return nil
    }

    private static func lowercaseHexDigitValue(_ byte: UInt8?) -> UInt8? {
        guard let byte, !(0x41...0x46).contains(byte) else { return nil }
        return byte.hexDigitValue
    }
}
