// Errors of the database are errors of the store for the modules above, which need not know the database. Nor need
// they import System to name the remedy of an error.
@_exported public import struct Database.StoreError
@_exported public import enum System.PinKind
@_exported public import enum System.Remedy
