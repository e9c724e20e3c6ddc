/// Removes parts of an input as long as the fault still occurs.
enum Minimizer {
    static func minimized(_ input: [UInt8], _ isFaulty: ([UInt8]) -> Bool) -> [UInt8] {
        var input = input
        var length = max(input.count / 2, 1)
        while true {
            var place = 0
            var isSmaller = false
            while place < input.count {
                var candidate = input
                candidate.removeSubrange(place..<min(place + length, input.count))
                if isFaulty(candidate) {
                    input = candidate
                    isSmaller = true
                } else {
                    place += length
                }
            }
            if length > 1 {
                length /= 2
            } else if !isSmaller {
                return input
            }
        }
    }
}
