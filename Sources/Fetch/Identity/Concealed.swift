/// A value whose parts no interpolation, dump or debugger's print may show: only its description.
package protocol Concealed: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Concealed {
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
