// `import CoreLocation` on Linux: what CumulusFoundation has of it.
//
// Apps that keep places in records import it beside CloudKit.

#if !canImport(ObjectiveC)

    @_exported public import CumulusFoundation

#endif
