/// Tracks which part of a document is SVG or MathML ("foreign content" in the HTML standard), as far as the tokenizer
/// needs it for CDATA and for the meaning of `<style>` and `<a>`.
///
/// It keeps a stack of the open elements in foreign content, and counts the open HTML elements around it,
/// because the end tag of one of those closes an SVG that was left open.
struct ForeignContent {
    /// An open element in foreign content.
    private struct Frame {
        var name: UInt8
        /// The namespace of the element's content.
        var namespace: MarkupNamespace
    }

    /// Deeper elements are not tracked. Browsers have a limit, too, and it keeps ``leave(_:_:)`` fast.
    private static let maxDepth = 512

    private var frames: [Frame] = []
    /// The number of open HTML elements, by the number of their name in ``HTMLVocabulary``.
    private var openHTMLElements = [Int32](repeating: 0, count: 256)
    private(set) var namespace = MarkupNamespace.html

    /// Ends foreign content before an element that is not allowed in it, up to the innermost HTML content.
    @inline(__always)
    mutating func breakOut(_ traits: ElementTraits) {
        if namespace != .html, traits.breaksOut { returnToHTML() }
    }

    private mutating func returnToHTML() {
        while let last = frames.last, last.namespace != .html { frames.removeLast() }
        namespace = frames.last?.namespace ?? .html
    }

    /// Handles a start tag of a known name that is not self-closing. `isHTMLInside` tells whether the content
    /// of an `annotation-xml` is HTML.
    @inline(__always)
    mutating func enter(_ name: UInt8, _ traits: ElementTraits, isHTMLInside: Bool) {
        if namespace == .html, traits.namespaceChange == .none {
            if name != 0, !traits.isVoid { openHTMLElements[Int(name)] &+= 1 }
        } else {
            enterForeign(name, traits, isHTMLInside)
        }
    }

    private mutating func enterForeign(_ name: UInt8, _ traits: ElementTraits, _ isHTMLInside: Bool) {
        guard name != 0 else { return }
        let inside: MarkupNamespace =
            switch (traits.namespaceChange, namespace) {
            case (.svg, .html), (.svg, .svg): .svg
            case (.mathML, .html), (.mathML, .mathML): .mathML
            case (.htmlInSVG, .svg), (.htmlInMathML, .mathML): .html
            case (.annotation, .mathML): isHTMLInside ? .html : .mathML
            // The only element of MathML that can contain SVG.
            case (.svg, .mathML) where frames.last?.name == HTMLVocabulary.shared.element.annotation: .svg
            case (.none, _), (.svg, _), (.mathML, _), (.htmlInSVG, _), (.htmlInMathML, _), (.annotation, _):
                namespace
            }
        if namespace == .html, inside == .html {
            openHTMLElements[Int(name)] &+= 1
        } else if frames.count < Self.maxDepth {
            frames.append(Frame(name: name, namespace: inside))
            namespace = inside
        }
    }

    /// Handles an end tag. It closes the innermost element with that name, but not across HTML content inside
    /// foreign content.
    @inline(__always)
    mutating func leave(_ name: UInt8, _ traits: ElementTraits) {
        if name == 0 { return }
        if frames.isEmpty {
            if openHTMLElements[Int(name)] > 0 { openHTMLElements[Int(name)] &-= 1 }
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
            guard openHTMLElements[Int(name)] > 0 || traits.breaksOutAtEnd else { return }
            returnToHTML()
        } else if let htmlContent = frames.last, htmlContent.name == name {
            frames.removeLast()
            namespace = frames.last?.namespace ?? .html
            return
        }
        if openHTMLElements[Int(name)] > 0 { openHTMLElements[Int(name)] &-= 1 }
    }
}
