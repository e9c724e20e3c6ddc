internal import System

/// A larder that is gone when it is done with.
struct TemporaryLarder {
    let larder: Larder

    /// - Throws: `LarderError` of kind `.machine` when there is no place for it.
    init() throws(LarderError) {
        do throws(SystemError) {
            larder = Larder(at: try Folder.makeTemporary(named: "larder"))
        } catch {
            throw LarderError(error)
        }
    }

    func remove() {
        Folder.remove(larder.path)
    }
}
