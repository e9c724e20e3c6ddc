/// Which part of a document is SVG or MathML, as far as the tokenizer must know: CDATA, and what `<style>` or
/// `<a>` is there.
///
/// It follows the open elements inside of foreign content, and counts those of HTML around it: the end tag of
/// one of them closes the drawing that somebody forgot to close.
struct ForeignContent {
    private struct Frame {
        var name: UInt8
        /// What the content of the element belongs to.
        var namespace: MarkupNamespace
    }

    /// Deeper nesting is not followed, as in browsers; it also keeps ``leave(_:_:)`` from becoming slow.
    private static let depthLimit = 512

    private var frames: [Frame] = []
    /// How many elements of HTML are open, by the number of their name.
    private var open = [Int32](repeating: 0, count: 256)
    private(set) var namespace = MarkupNamespace.html

    /// An element that cannot stand in foreign content ends it, down to where HTML is allowed.
    @inline(__always)
    mutating func breakOut(_ traits: ElementTraits) {
        if namespace != .html, traits.breaksOut { toHTML() }
    }

    private mutating func toHTML() {
        while let last = frames.last, last.namespace != .html { frames.removeLast() }
        namespace = frames.last?.namespace ?? .html
    }

    /// A start tag of a known name that is not self-closing. `isHTMLInside` says of an `annotation-xml` what
    /// is in it.
    @inline(__always)
    mutating func enter(_ name: UInt8, _ traits: ElementTraits, isHTMLInside: Bool) {
        if namespace == .html, traits.door == .none {
            if name != 0, !traits.isVoid { open[Int(name)] &+= 1 }
        } else {
            enterForeign(name, traits, isHTMLInside)
        }
    }

    private mutating func enterForeign(_ name: UInt8, _ traits: ElementTraits, _ isHTMLInside: Bool) {
        guard name != 0 else { return }
        let inside: MarkupNamespace =
            switch (traits.door, namespace) {
            case (.svg, .html), (.svg, .svg): .svg
            case (.mathML, .html), (.mathML, .mathML): .mathML
            case (.htmlInSVG, .svg), (.htmlInMathML, .mathML): .html
            case (.annotation, .mathML): isHTMLInside ? .html : .mathML
            // The one place in MathML where a drawing may stand.
            case (.svg, .mathML) where frames.last?.name == HTMLVocabulary.shared.element.annotation: .svg
            case (.none, _), (.svg, _), (.mathML, _), (.htmlInSVG, _), (.htmlInMathML, _), (.annotation, _):
                namespace
            }
        if namespace == .html, inside == .html {
            open[Int(name)] &+= 1
        } else if frames.count < Self.depthLimit {
            frames.append(Frame(name: name, namespace: inside))
            namespace = inside
        }
    }

    /// An end tag: leaves the innermost element of that name, but not through an island of HTML.
    @inline(__always)
    mutating func leave(_ name: UInt8, _ traits: ElementTraits) {
        if name == 0 { return }
        if frames.isEmpty {
            if open[Int(name)] > 0 { open[Int(name)] &-= 1 }
        } else {
            leaveForeign(name, traits)
        }
    }

    private mutating func leaveForeign(_ name: UInt8, _ traits: ElementTraits) {
        if namespace != .html {
            var index = frames.count - 1
            repeat {
                if frames[index].name == name {
                    frames.removeLast(frames.count - index)
                    namespace = frames.last?.namespace ?? .html
                    return
                }
                index -= 1
            } while index >= 0 && frames[index].namespace != .html
            guard open[Int(name)] > 0 || traits.breaksOutAtEnd else { return }
            toHTML()
        } else if let island = frames.last, island.name == name {
            frames.removeLast()
            namespace = frames.last?.namespace ?? .html
            return
        }
        if open[Int(name)] > 0 { open[Int(name)] &-= 1 }
    }
}
