// `import CoreLocation` on Linux: what CumulusFoundation has of it.
//
// Apps that keep places in records import it beside CloudKit.

@_exported public import CumulusFoundation
