internal import Glibc

/// What this machine has.
enum Machine {
    /// The cores that are switched on; at least 1.
    static var coreCount: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
}
