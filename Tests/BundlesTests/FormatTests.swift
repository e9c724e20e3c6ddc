import Bundles
import TestOrigin
import Testing
import Web

/// Every format with correct, altered and truncated manifests. `MalformedFormatTests` has the malformed ones.
@Suite struct FormatTests {
    @Test func `every format has a sample`() {
        #expect(Set(FormatSample.all.map(\.format)) == Set(ManifestFormat.allCases))
    }

    @Test(arguments: FormatSample.all)
    func `a format is detected, and gives the same manifest if it is named`(sample: FormatSample) throws {
        let manifest = try Sample.manifest(sample.text)
        #expect(manifest.format == sample.format)
        #expect(manifest.bundles.count == sample.count, "\(manifest.bundles.map(\.reference))")
        #expect(try Sample.manifest(sample.text, sample.format) == manifest)
        #expect(try Sample.manifest("\u{FEFF}" + sample.text) == manifest)
    }

    @Test(arguments: FormatSample.all)
    func `the correct body is verified, and an altered one is a mismatch`(sample: FormatSample) throws {
        let bundle = try #require(
            Sample.manifest(sample.text).bundles.first { $0.reference == sample.reference })
        #expect(BundleMeter.verdict(on: bundle, bytes: Sample.body).name == sample.good)
        #expect(BundleMeter.verdict(on: bundle, bytes: Sample.altered).name == sample.altered)
        #expect(bundle.canBeVerified == (sample.good == "verified"))
    }

    /// A truncated manifest may be read or rejected, but never crashes the parser or adds a bundle.
    @Test(arguments: FormatSample.all)
    func `a manifest truncated anywhere is rejected, or is a part of the whole`(sample: FormatSample) throws {
        let bytes = Array(sample.text.utf8)
        let references = Set(try Sample.manifest(sample.text).bundles.map(\.reference))
        for count in bytes.indices {
            for format in [nil, sample.format] {
                guard let cut = try? Manifest(Array(bytes[..<count]), file: "m", format: format) else {
                    continue
                }
                if sample.format == .checksums { continue }
                #expect(references.isSuperset(of: cut.bundles.map(\.reference)), "\(count)")
            }
        }
    }

    @Test(arguments: FormatSample.all, ManifestFormat.allCases)
    func `a sample read in another format is rejected or read without a crash`(
        sample: FormatSample, format: ManifestFormat
    ) {
        guard let manifest = try? Sample.manifest(sample.text, format) else { return }
        #expect(manifest.format == format)
    }

    @Test(arguments: FormatSample.all)
    func `random changes of a manifest never crash the parser`(sample: FormatSample) {
        var dice = Dice(seed: 7)
        let pieces = [
            "{", "}", "[", "]", "\"", "\\", "\\u", ",", ":", "null", "0", "-1", "1e999", "\0", "\n", "é", "=",
            "(",
        ]
        for _ in 0..<300 {
            var bytes = Array(sample.text.utf8)
            for _ in 0...dice.roll(4) {
                let place = dice.roll(bytes.count)
                if dice.roll(2) == 0 {
                    bytes[place] = UInt8(truncatingIfNeeded: dice.roll(256))
                } else {
                    bytes.insert(contentsOf: Array(pieces[dice.roll(pieces.count)].utf8), at: place)
                }
            }
            for format in [nil, sample.format] {
                do throws(ManifestError) {
                    let manifest = try Manifest(bytes, file: "m", format: format)
                    #expect(manifest.bundles.allSatisfy { !$0.reference.isEmpty })
                } catch {
                    #expect(error.position.line > 0 && !error.detail.isEmpty)
                }
            }
        }
    }

    @Test func `a mistyped format name gets a suggestion`() {
        #expect(ManifestFormat.suggestion(for: "workbx") == "workbox")
        #expect(ManifestFormat.suggestion(for: "import_map") == "import-map")
        #expect(ManifestFormat.suggestion(for: "something else") == nil)
    }
}

/// The same random numbers in each run.
struct Dice {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func roll(_ sides: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return sides > 0 ? Int((state >> 33) % UInt64(sides)) : 0
    }
}

@Suite struct WorkboxConformanceTests {
    @Test(
        .enabled(if: ConformanceData.isThere, "no conformance data"),
        arguments: ConformanceData.cases("bundles/workbox-precache-examples.json", "examples"))
    func `precache lists are found in Workbox's examples`(row: JSONValue) throws {
        let manifest = try Sample.manifest(try #require(row["text"]?.string))
        #expect(manifest.format == .workbox)
        #expect(manifest.bundles.map(\.reference) == row["expect_urls"]?.array?.compactMap(\.string))
    }
}
