extension Span<UInt8> {
    /// Whether the bytes of `prefix` stand at `start`.
    @inline(__always)
    package func starts(with prefix: StaticString, at start: Int = 0) -> Bool {
        guard count - start >= prefix.utf8CodeUnitCount else { return false }
        return prefix.withUTF8Buffer { prefix in
            prefix.indices.allSatisfy { self[start + $0] == prefix[$0] }
        }
    }

    /// Whether these are the bytes of `name`, which is in lower case, but for the case of ASCII letters.
    @inline(__always)
    package func equalsIgnoringASCIICase(_ name: StaticString) -> Bool {
        guard count == name.utf8CodeUnitCount else { return false }
        return name.withUTF8Buffer { name in
            name.indices.allSatisfy { self[$0].lowercasedASCII == name[$0] }
        }
    }
}
