// An app that imports CloudKit has Foundation and Core Location too.

#if !canImport(ObjectiveC)

    @_exported public import CumulusFoundation
    @_exported public import Foundation

#endif
