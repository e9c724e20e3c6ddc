// Errors of the database are errors of the store for the modules above, which need not know the database.
@_exported public import enum Database.PinKind
@_exported public import enum Database.Remedy
@_exported public import struct Database.StoreError
