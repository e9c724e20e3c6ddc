import Testing

@testable import Updates

@Suite struct PredecessorsTests {
    @Test(arguments: [
        ("js/app.3f2a9c81.js", "js/app.*.js"),
        ("assets/index-BkEnr3Yp.js", "assets/index-*.js"),
        ("4121.0a7fbb4cb4ee2c44.js", "4121.*.js"),
        ("app.js", "app.js"),
        ("lib/es2015.js", "lib/es2015.js"),
        ("3f2a9c81/app.js", "3f2a9c81/app.js"),
        ("runtime", "runtime"),
        ("", ""),
    ])
    func `the stem of a name has no hash in the name of the file`(name: String, stem: String) {
        #expect(Predecessors.stem(of: name) == stem)
    }

    /// A file whose pieces are those of the words.
    private static func candidate(_ name: String, _ words: [Int], byteCount: Int = 1000)
        -> Predecessors.Candidate
    {
        var sketcher = BodySketcher()
        let bytes = Array(
            words.map { "function module\($0 &* 7919)() { return \($0 &* $0); }\n" }.joined().utf8)
        sketcher.update(bytes.span)
        return Predecessors.Candidate(name: name, byteCount: byteCount, sketch: sketcher.finish())
    }

    @Test func `a file is found under another name with a hash`() {
        let predecessors = Predecessors([
            Self.candidate("a.11aa22bb.js", Array(0..<100)),
            Self.candidate("b.11aa22bb.js", Array(100..<200)),
        ])
        #expect(predecessors.best(for: Self.candidate("a.33cc44dd.js", Array(1..<100))) == 0)
        #expect(predecessors.best(for: Self.candidate("b.33cc44dd.js", Array(101..<200))) == 1)
    }

    @Test func `equal content counts more than an equal name`() {
        let predecessors = Predecessors([
            Self.candidate("101.js", Array(0..<100)), Self.candidate("102.js", Array(100..<200)),
        ])
        // The bundler has numbered the chunks differently.
        #expect(predecessors.best(for: Self.candidate("101.js", Array(101..<200))) == 1)
        #expect(predecessors.best(for: Self.candidate("102.js", Array(1..<100))) == 0)
    }

    @Test func `small files are found by their names, and then by their sizes`() {
        let predecessors = Predecessors([
            Self.candidate("c.11aa22bb.js", [], byteCount: 10),
            Self.candidate("c.55aa66bb.js", [], byteCount: 20),
            Self.candidate("d.js", [], byteCount: 20),
        ])
        #expect(predecessors.best(for: Self.candidate("c.33cc44dd.js", [], byteCount: 19)) == 1)
        #expect(predecessors.best(for: Self.candidate("d.js", [], byteCount: 1)) == 2)
        #expect(predecessors.best(for: Self.candidate("e.js", [], byteCount: 20)) == nil)
    }

    @Test func `a file without similar ones has no predecessor`() {
        let predecessors = Predecessors([Self.candidate("a.js", Array(0..<100))])
        #expect(predecessors.best(for: Self.candidate("b.js", Array(1000..<1100))) == nil)
        #expect(Predecessors([]).best(for: Self.candidate("b.js", Array(0..<100))) == nil)
    }

    @Test(arguments: [1, 7, 63, 64, 65, 1000])
    func `a sketch does not depend on the pieces in which the body arrives`(pieceBytes: Int) {
        let bytes = Array((0..<2000).map { "\($0 &* 31) " }.joined().utf8)
        var whole = BodySketcher()
        whole.update(bytes.span)
        var parts = BodySketcher()
        for start in stride(from: 0, to: bytes.count, by: pieceBytes) {
            let piece = Array(bytes[start..<min(bytes.count, start + pieceBytes)])
            parts.update(piece.span)
        }
        let sketch = whole.finish()
        #expect(parts.finish() == sketch)
        #expect(sketch.hashes.count == BodySketch.maxHashes && sketch.hashes == sketch.hashes.sorted())
    }
}
