/// The layout of a treemap: a box is divided into boxes with areas in proportion to numbers, as square as possible
/// (Bruls, Huizing, van Wijk: Squarified Treemaps, 2000).
enum Treemap {
    /// A rectangle.
    struct Box: Equatable {
        var x, y, width, height: Double

        /// The box without an edge on each side. Its size is never negative.
        func inset(_ edge: Double) -> Box {
            Box(x: x + edge, y: y + edge, width: max(0, width - 2 * edge), height: max(0, height - 2 * edge))
        }
    }

    /// Returns one box for each number, in the same order.
    ///
    /// The boxes are the most square if the numbers are sorted in descending order. Numbers from the first that is not
    /// positive on get empty boxes.
    ///
    /// The boxes are placed in rows along the shorter side of the free part of `whole`. A row takes further boxes as long
    /// as its worst aspect ratio does not grow.
    static func boxes(_ numbers: [Double], in whole: Box) -> [Box] {
        let numbers = numbers.map { $0.isFinite && $0 > 0 ? $0 : 0 }
        let sum = numbers.reduce(0, +)
        var boxes = numbers.map { _ in Box(x: whole.x, y: whole.y, width: 0, height: 0) }
        guard sum > 0, whole.width > 0, whole.height > 0 else { return boxes }
        let scale = whole.width * whole.height / sum
        let areas = numbers.map { $0 * scale }
        var (rest, start) = (whole, 0)
        while start < areas.count, areas[start] > 0 {
            let side = min(rest.width, rest.height)
            var end = start + 1
            while end < areas.count, areas[end] > 0,
                worstRatio(areas[start...end], side) <= worstRatio(areas[start..<end], side)
            {
                end += 1
            }
            let row = areas[start..<end].reduce(0, +)
            // A column at the left edge of a wide rest, or a row at the top edge of a high one.
            let isBeside = rest.width >= rest.height
            let thickness = side > 0 ? row / side : 0
            var place = isBeside ? rest.y : rest.x
            for index in start..<end {
                let length = thickness > 0 ? areas[index] / thickness : 0
                boxes[index] =
                    isBeside
                    ? Box(x: rest.x, y: place, width: thickness, height: length)
                    : Box(x: place, y: rest.y, width: length, height: thickness)
                place += length
            }
            if isBeside {
                rest.x += thickness
                rest.width = max(0, rest.width - thickness)
            } else {
                rest.y += thickness
                rest.height = max(0, rest.height - thickness)
            }
            start = end
        }
        return boxes
    }

    /// The worst aspect ratio of the boxes in a row with these areas and this length.
    private static func worstRatio(_ row: ArraySlice<Double>, _ side: Double) -> Double {
        let sum = row.reduce(0, +)
        guard let smallest = row.min(), let largest = row.max(), sum > 0, smallest > 0, side > 0 else {
            return .infinity
        }
        return max(side * side * largest / (sum * sum), sum * sum / (side * side * smallest))
    }

    /// Formats a coordinate for SVG, with at most one decimal.
    static func text(_ number: Double) -> String {
        let tenths = Int((number * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
    }
}
