internal import Web

extension CheckReport {
    /// What is not verified, as SARIF 2.1.0 (OASIS): a rule for each verdict, a result for each finding.
    var sarif: String {
        var writer = JSONWriter(.pretty)
        writer.object { log in
            log.member("$schema", "https://json.schemastore.org/sarif-2.1.0.json")
            log.member("version", "2.1.0")
            log.member("runs") { runs in
                runs.array { array in
                    array.object { run in
                        run.member("tool") { writeTool(to: &$0) }
                        run.member("columnKind", "utf16CodeUnits")
                        run.member("results") { results in results.array { writeResults(to: &$0) } }
                    }
                }
            }
        }
        return writer.text
    }

    private static let rules = Verdict.allCases.filter { $0 != .verified }

    private func writeTool(to writer: inout JSONWriter) {
        writer.object { tool in
            tool.member("driver") { driver in
                driver.object { object in
                    object.member("name", "larder")
                    object.member("version", Larder.version)
                    object.member("rules") { rules in
                        rules.array { array in
                            for rule in Self.rules {
                                array.object { object in
                                    object.member("id", rule.rawValue)
                                    object.member("shortDescription") { $0.object { $0.member("text", rule.meaning) } }
                                    object.member("defaultConfiguration") { configuration in
                                        configuration.object {
                                            $0.member("level", failsOn.contains(rule) ? "error" : rule.lowerLevel)
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    private func writeResults(to writer: inout JSONWriter) {
        for item in items {
            for (place, finding) in zip(places, item.findings) where finding.verdict != .verified {
                write(item, finding, place, to: &writer)
            }
        }
    }

    private func write(_ item: Item, _ finding: Finding, _ place: String, to writer: inout JSONWriter) {
        var message = "\(finding.url): \(finding.sentence)"
        if !item.chain.isEmpty { message += "\nby way of " + item.chain.joined(separator: " > ") }
        writer.object { result in
            result.member("ruleId", finding.verdict.rawValue)
            result.member("ruleIndex", Self.rules.firstIndex(of: finding.verdict) ?? 0)
            result.member("level", fails(finding, of: item) ? "error" : finding.verdict.lowerLevel)
            result.member("message") { $0.object { $0.member("text", message) } }
            result.member("locations") { locations in
                locations.array { array in
                    array.object { location in
                        location.member("physicalLocation") { writeLocation(of: item, finding, to: &$0) }
                    }
                }
            }
            // By which a later run knows the same result again (section 3.27.17).
            result.member("partialFingerprints") { prints in
                prints.object { $0.member("larderCheck/v1", "\(finding.verdict.rawValue) \(item.name) \(place)") }
            }
        }
    }

    /// In the manifest, where that is a file; else the resource itself.
    private func writeLocation(of item: Item, _ finding: Finding, to writer: inout JSONWriter) {
        writer.object { physical in
            physical.member("artifactLocation") { artifact in
                artifact.object { $0.member("uri", item.line == nil ? finding.url : Self.reference(name)) }
            }
            guard let line = item.line else { return }
            physical.member("region") { region in region.object { $0.member("startLine", line) } }
        }
    }

    /// A path as a URI reference has it (RFC 3986).
    private static func reference(_ path: String) -> String {
        if WebURL(path)?.isHTTP == true { return path }
        var bytes: [UInt8] = []
        for byte in path.utf8 {
            switch byte {
            case 0x2d...0x39, 0x41...0x5a, 0x5f, 0x61...0x7a, 0x7e: bytes.append(byte)
            default:
                let digits = Array("0123456789ABCDEF".utf8)
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension CheckReport.Verdict {
    fileprivate var meaning: String {
        switch self {
        case .verified: "It is what it should be"
        case .gone: "The site itself says that there is no such thing"
        case .leftOut: "A limit, robots.txt or what was taken for a trap kept it out"
        case .unverifiable: "Nothing can be said of it"
        case .skew: "It is of another release than what it belongs to"
        case .missing: "It could not be had"
        case .mismatch: "It is not what it should be"
        }
    }

    /// Of what does not fail the check.
    fileprivate var lowerLevel: String {
        switch self {
        case .verified, .gone, .leftOut: "note"
        case .unverifiable, .skew, .missing, .mismatch: "warning"
        }
    }
}
